#include "trace/sink.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sonde {
namespace {

constexpr int64_t kMinReserve = 16 << 10;

}  // namespace

Result<std::unique_ptr<FileSink>> FileSink::Create(const std::string& path,
                                                   bool replace,
                                                   int64_t reserve_bytes,
                                                   int64_t ahead_bytes) {
  if (replace && ::unlink(path.c_str()) != 0 && errno != ENOENT)
    return ErrnoError(path, errno);
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
               0600));
  if (!fd.valid()) {
    Error error = ErrnoError(path, errno);
    if (errno == EEXIST) error.hint = "choose another name with -o";
    return error;
  }
  // Who finds it locked knows that it is still being written. Where the file
  // system has no locks nobody knows.
  (void)::flock(fd.get(), LOCK_EX | LOCK_NB);
  // A umask like 0777 must not lock us out of our own trace.
  if (::fchmod(fd.get(), 0600) != 0) return ErrnoError(path, errno);
  // On a small disk the reserve must not be all there is.
  struct statvfs disk;
  if (::fstatvfs(fd.get(), &disk) == 0)
    reserve_bytes = std::min<int64_t>(
        reserve_bytes, static_cast<int64_t>(disk.f_bavail * disk.f_frsize / 4));
  while (reserve_bytes >= kMinReserve &&
         ::fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, 0, reserve_bytes) != 0) {
    if (errno != ENOSPC) reserve_bytes = 0;  // not supported here
    reserve_bytes /= 4;
  }
  if (reserve_bytes < kMinReserve) reserve_bytes = 0;
  auto sink = std::unique_ptr<FileSink>(
      new FileSink(path, std::move(fd), reserve_bytes));
  sink->allocated_ = reserve_bytes;
  sink->ahead_ = ahead_bytes;
  return sink;
}

FileSink::~FileSink() {
  // Gives back what was allocated and not used.
  if (fd_.valid() && reserve_ > 0)
    if (::ftruncate(fd_.get(), size_) != 0) return;
}

Status FileSink::Append(std::string_view bytes) {
  const int64_t end = size_ + static_cast<int64_t>(bytes.size());
  if (reserve_ > 0 && !reserve_open_ && end + reserve_ > allocated_) {
    for (int64_t ahead : {ahead_, int64_t{0}}) {
      const int64_t want = end + reserve_ + ahead;
      if (::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, size_, want - size_) ==
          0) {
        allocated_ = want;
        break;
      }
      // The second time, without anything ahead, is the last.
      if (ahead == 0) return ErrnoError(path_, errno);
    }
  }
  TRY_OK(WriteAt(size_, bytes));
  size_ = end;
  return Ok();
}

Status FileSink::WriteAt(int64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_.get(), bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError(path_, errno);
    offset += n;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return Ok();
}

Result<std::string> FileSink::ReadAt(int64_t offset, size_t size) {
  std::string bytes(size, '\0');
  size_t got = 0;
  while (got < size) {
    const ssize_t n = ::pread(fd_.get(), bytes.data() + got, size - got,
                              offset + static_cast<int64_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError(path_, errno);
    if (n == 0)
      return Error{Error::Kind::kIo, path_ + ": shorter than it was written"};
    got += static_cast<size_t>(n);
  }
  return bytes;
}

Status FileSink::Truncate(int64_t size) {
  if (::ftruncate(fd_.get(), size) != 0) return ErrnoError(path_, errno);
  size_ = size;
  allocated_ = size;
  return Ok();
}

Status MemorySink::Append(std::string_view bytes) {
  bytes_->append(bytes);
  return Ok();
}

Status MemorySink::WriteAt(int64_t offset, std::string_view bytes) {
  bytes_->replace(static_cast<size_t>(offset), bytes.size(), bytes);
  return Ok();
}

Result<std::string> MemorySink::ReadAt(int64_t offset, size_t size) {
  return bytes_->substr(static_cast<size_t>(offset), size);
}

Status MemorySink::Truncate(int64_t size) {
  bytes_->resize(static_cast<size_t>(size));
  return Ok();
}

}  // namespace sonde

#include "trace/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sonde {

Result<std::shared_ptr<Source>> Source::OpenFile(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for somebody to write to it.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd.valid()) {
    if (errno == ENOENT)
      return Error{Error::Kind::kNotFound, path + ": no such trace",
                   "`sonde run -o " + path + " -- <command>` makes one"};
    return ErrnoError(path, errno);
  }
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return ErrnoError(path, errno);
  if (!S_ISREG(info.st_mode))
    return Error{Error::Kind::kUnsupported, path + ": not a file",
                 "a trace is an ordinary file"};
  auto source = std::make_shared<Source>();
  source->fd_ = std::move(fd);
  source->size_ = info.st_size;
  return source;
}

std::shared_ptr<Source> Source::OfBytes(std::shared_ptr<std::string> bytes) {
  auto source = std::make_shared<Source>();
  source->size_ = static_cast<int64_t>(bytes->size());
  source->bytes_ = std::move(bytes);
  return source;
}

void Source::Read(int64_t offset, size_t size, std::string& out) const {
  out.clear();
  if (offset < 0 || offset >= size_) return;
  size = std::min<size_t>(size, static_cast<size_t>(size_ - offset));
  if (bytes_) {
    out.assign(*bytes_, static_cast<size_t>(offset), size);
    return;
  }
  out.resize(size);
  size_t got = 0;
  while (got < size) {
    const ssize_t n = ::pread(fd_.get(), out.data() + got, size - got,
                              offset + static_cast<int64_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<size_t>(n);
  }
  out.resize(got);
}

}  // namespace sonde

#include "export/output.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "trace/frame.h"
#include "trace/source.h"

namespace sonde {

namespace {

// Or its journal: what was recorded cannot be made again.
bool IsTrace(const std::string& path) {
  const auto file = Source::OpenFile(path);
  if (!file.ok()) return false;
  std::string head;
  file.value()->Read(0, kFileHeaderSize, head);
  return FileHeader::Decode(head).has_value();
}

}  // namespace

std::string PartialName(const std::string& path) {
  return path + ".partial-" + std::to_string(::getpid());
}

Status CheckReplace(const std::string& path, bool force) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return Ok();
  if (S_ISDIR(info.st_mode))
    return Error{Error::Kind::kUsage, path + ": is a directory",
                 "name a file with -o"};
  if (!force)
    return Error{Error::Kind::kUsage, path + ": exists already",
                 "--force replaces it, -o names another"};
  if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode))
    return Error{Error::Kind::kUsage, path + ": is not a file",
                 "name one with -o"};
  if (IsTrace(path))
    return Error{Error::Kind::kUsage, path + ": is a trace, and stays one",
                 "name another file with -o"};
  return Ok();
}

Status CheckDirectory(const std::string& path, bool force,
                      const std::string& format) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return Ok();
  if (!S_ISDIR(info.st_mode))
    return Error{Error::Kind::kUsage, path + ": is not a directory",
                 format + " writes a directory; -o names one"};
  if (!force)
    return Error{Error::Kind::kUsage, path + ": exists already",
                 "--force replaces the files in it, -o names another"};
  return Ok();
}

Status MoveInPlace(const std::string& partial, const std::string& path,
                   bool force) {
  if (force) {
    if (::rename(partial.c_str(), path.c_str()) != 0)
      return ErrnoError(path, errno);
    return Ok();
  }
  if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, path.c_str(),
                  RENAME_NOREPLACE) == 0)
    return Ok();
  if (errno == EEXIST) return CheckReplace(path, false);
  // Some file systems do not know RENAME_NOREPLACE.
  TRY_OK(CheckReplace(path, false));
  if (::rename(partial.c_str(), path.c_str()) != 0)
    return ErrnoError(path, errno);
  return Ok();
}

Output::Output(Fd fd, std::string path, std::string partial,
               const ExportOptions& options)
    : fd_(std::move(fd)),
      path_(std::move(path)),
      partial_(std::move(partial)),
      force_(options.force),
      cancelled_(options.cancelled),
      buffer_(new char[kBufferBytes]) {}

Output::~Output() {
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

Result<std::unique_ptr<Output>> Output::Create(const std::string& path,
                                               const ExportOptions& options) {
  const auto make = [&](int fd, std::string name, std::string partial) {
    return std::unique_ptr<Output>(
        new Output(Fd(fd), std::move(name), std::move(partial), options));
  };
  if (path == "-") {
    const int fd = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd < 0) return ErrnoError("standard output", errno);
    return make(fd, "standard output", "");
  }
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) &&
      !S_ISDIR(info.st_mode)) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return ErrnoError(path, errno);
    return make(fd, path, "");
  }
  TRY_OK(CheckReplace(path, options.force));
  std::string partial = PartialName(path);
  const int fd =
      ::open(partial.c_str(),
             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoError(path, errno);
  return make(fd, path, std::move(partial));
}

void Output::Flush() {
  const size_t size = std::exchange(used_, 0);
  if (failed_) return;
  if (cancelled_ && cancelled_->load(std::memory_order_relaxed)) {
    failed_ = true;
    error_ = {Error::Kind::kIo, path_ + ": interrupted, nothing was kept"};
    return;
  }
  const int failure = WriteAll(fd_.get(), buffer_.get(), size);
  if (failure != 0) {
    failed_ = true;
    error_ = ErrnoError(path_, failure);
    if (failure == ENOSPC || failure == EDQUOT)
      error_.hint = "make room, or name another place with -o";
  }
  written_ += size;
}

void Output::TextLong(std::string_view text) {
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, kBufferBytes);
    Text(piece);
    text.remove_prefix(piece.size());
  }
}

Status Output::Commit() {
  Flush();
  if (failed_) return error_;
  // Where writes are delayed (NFS), a full disk shows up here.
  if (::close(fd_.Release()) != 0) return ErrnoError(path_, errno);
  if (partial_.empty()) return Ok();
  TRY_OK(MoveInPlace(partial_, path_, force_));
  partial_.clear();
  return Ok();
}

}  // namespace sonde

#ifndef SONDE_BASE_FD_H_
#define SONDE_BASE_FD_H_

#include <unistd.h>

#include <functional>
#include <string>
#include <utility>

#include "base/result.h"

namespace sonde {

// Owns one file descriptor and closes it. -1 means none. Movable, not copyable.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Fd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

// Error of the kind that fits `saved_errno`, as "thing: No such file".
Error ErrnoError(const std::string& thing, int saved_errno);

// The file `name` in the directory `at` (AT_FDCWD: a path), opened with the
// flags of open(). For places that a target can write to: follows no link,
// never waits (a FIFO has two ends), and takes nothing but a regular file.
// Otherwise none, and errno says why.
Fd OpenRegular(int at, const char* name, int flags, unsigned mode = 0);

// The whole of a small file (at most `limit` bytes; more is an error).
Result<std::string> ReadFile(const std::string& path, size_t limit = 1 << 20);
// The same of one just opened; `path` names it in errors.
Result<std::string> ReadFd(int fd, const std::string& path,
                           size_t limit = 1 << 20);

// Calls `one` for each name in the directory `path`, seen from the directory
// `at` (AT_FDCWD: a path), without "." and "..". For none if the directory
// cannot be read.
void ForEachName(int at, const std::string& path,
                 const std::function<void(const char* name)>& one);

// As many open files as this user may have, for this process and those it
// starts from now on.
void RaiseFileLimit();

// Writes all of `size` bytes, through short writes and EINTR. Returns 0 or the
// errno.
int WriteAll(int fd, const void* data, size_t size);

}  // namespace sonde

#endif  // SONDE_BASE_FD_H_

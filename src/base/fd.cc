#include "base/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <string_view>
#include <system_error>

namespace sonde {

Error ErrnoError(const std::string& thing, int saved_errno) {
  Error::Kind kind = Error::Kind::kIo;
  if (saved_errno == ENOENT || saved_errno == ENOTDIR)
    kind = Error::Kind::kNotFound;
  if (saved_errno == EACCES || saved_errno == EPERM)
    kind = Error::Kind::kDenied;
  return {kind, thing + ": " + std::generic_category().message(saved_errno)};
}

Fd OpenRegular(int at, const char* name, int flags, unsigned mode) {
  Fd fd(::openat(at, name,
                 flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode));
  struct stat st = {};
  if (!fd.valid() || (::fstat(fd.get(), &st) == 0 && S_ISREG(st.st_mode)))
    return fd;
  fd.Reset();
  errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
  return fd;
}

Result<std::string> ReadFile(const std::string& path, size_t limit) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return ErrnoError(path, errno);
  return ReadFd(fd.get(), path, limit);
}

Result<std::string> ReadFd(int fd, const std::string& path, size_t limit) {
  std::string text;
  char buffer[16384];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError(path, errno);
    if (n == 0) return text;
    if (text.size() + static_cast<size_t>(n) > limit)
      return Error{Error::Kind::kIo,
                   path + ": more than " + std::to_string(limit) + " bytes"};
    text.append(buffer, static_cast<size_t>(n));
  }
}

void ForEachName(int at, const std::string& path,
                 const std::function<void(const char* name)>& one) {
  Fd fd(::openat(at, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* const list = fd.valid() ? ::fdopendir(fd.get()) : nullptr;
  if (list == nullptr) return;
  fd.Release();  // to the list
  while (const dirent* entry = ::readdir(list))
    if (const std::string_view name = entry->d_name;
        name != "." && name != "..")
      one(entry->d_name);
  ::closedir(list);
}

void RaiseFileLimit() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int WriteAll(int fd, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::write(fd, at, size);
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    at += n;
    size -= static_cast<size_t>(n);
  }
  return 0;
}

}  // namespace sonde

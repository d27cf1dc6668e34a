#include "collect/session/standard_fds.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace sonde {

void HoldStandardFds() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1) continue;
    // The lowest free number is this one: those below are open.
    if (::open("/dev/null", O_RDWR | O_CLOEXEC) == -1)
      ::open("/", O_PATH | O_CLOEXEC);  // a root directory without /dev
  }
}

InheritedFds InheritedFds::Capture() {
  InheritedFds out;
  DIR* const directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return out;
  while (const dirent* entry = ::readdir(directory)) {
    const int fd = std::atoi(entry->d_name);
    if (fd > 2 && fd != ::dirfd(directory)) out.fds_.push_back(fd);
  }
  ::closedir(directory);
  return out;
}

void InheritedFds::Release(bool stderr_too) const {
  for (const int fd : fds_) ::close(fd);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  for (int fd = 0; fd <= (stderr_too ? 2 : 1); ++fd)
    ::dup3(null, fd, O_CLOEXEC);
  ::close(null);
}

}  // namespace sonde

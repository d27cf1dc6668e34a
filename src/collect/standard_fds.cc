#include "collect/standard_fds.h"

#include <fcntl.h>
#include <unistd.h>

namespace sonde {

void HoldStandardFds() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1) continue;
    // The lowest free number is this one: those below are open.
    if (::open("/dev/null", O_RDWR | O_CLOEXEC) == -1)
      ::open("/", O_PATH | O_CLOEXEC);  // a root directory without /dev
  }
}

}  // namespace sonde

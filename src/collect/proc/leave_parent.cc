#include "collect/proc/leave_parent.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace sonde {
namespace {

void CloseRange(unsigned first, unsigned last) {
  if (first > last || ::syscall(SYS_close_range, first, last, 0u) == 0) return;
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto most =
      static_cast<unsigned>(std::min<rlim_t>(limit.rlim_cur, 1 << 20));
  for (unsigned fd = first; fd <= last && fd < most; ++fd)
    ::close(static_cast<int>(fd));
}

}  // namespace

void LeaveParent(pid_t parent, const char* name, std::vector<int> keep) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it died before we asked
  ::prctl(PR_SET_NAME, name);
  ::prctl(PR_SET_DUMPABLE, 0);
  const rlimit none = {0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  const int null = ::open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2})
    if (null == -1)
      ::close(fd);
    else
      ::dup2(null, fd);
  std::sort(keep.begin(), keep.end());
  unsigned first = 3;
  for (const int fd : keep) {
    if (fd < static_cast<int>(first)) continue;
    CloseRange(first, static_cast<unsigned>(fd) - 1);
    first = static_cast<unsigned>(fd) + 1;
  }
  CloseRange(first, ~0u);
}

}  // namespace sonde

#include "collect/session/signals.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace sonde {

Result<Signals> Signals::Block() {
  Signals signals;
  sigset_t set;
  sigfillset(&set);
  for (int keep : {SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGSEGV, SIGBUS, SIGFPE,
                   SIGILL, SIGTRAP, SIGSYS})
    sigdelset(&set, keep);
  if (::sigprocmask(SIG_BLOCK, &set, &signals.original_) != 0)
    return ErrnoError("sigprocmask", errno);
  signals.fd_.Reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.fd_.valid()) return ErrnoError("signalfd", errno);
  return signals;
}

bool Signals::Next(signalfd_siginfo& info) const {
  for (;;) {
    const ssize_t n = ::read(fd_.get(), &info, sizeof(info));
    if (n == sizeof(info)) return true;
    if (n == -1 && errno == EINTR) continue;
    return false;
  }
}

bool MeantForTheCommand(const signalfd_siginfo& info) {
  const int number = static_cast<int>(info.ssi_signo);
  if (number == SIGCHLD) return false;
  if (info.ssi_code != SI_KERNEL) {
    // A write of our own to a pipe nobody reads, or beyond a limit on file
    // sizes: those come as if sent by ourselves.
    return info.ssi_pid != static_cast<uint32_t>(::getpid());
  }
  switch (number) {
    case SIGALRM:
    case SIGVTALRM:
    case SIGPROF:
      // A timer set before our exec lives on in this process; a fork has none.
      return true;
    case SIGHUP:
      // A terminal that hangs up tells the session's leader alone.
      return ::getsid(0) == ::getpid();
    default:
      return false;
  }
}

void KeepZombies() { ::signal(SIGCHLD, SIG_DFL); }

namespace {

volatile sig_atomic_t g_wait_status = 0;

void EndNow(int) { ::_exit(EndLike(g_wait_status)); }

}  // namespace

void EndEarlyLike(int wait_status) {
  g_wait_status = wait_status;
  struct sigaction now = {};
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction before = {};
    if (::sigaction(number, nullptr, &before) != 0 ||
        before.sa_handler == SIG_IGN)
      continue;
    now.sa_handler = &EndNow;
    ::sigaction(number, &now, nullptr);
    sigaddset(&set, number);
  }
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

int EndLike(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return WEXITSTATUS(wait_status);
  const int number = WTERMSIG(wait_status);
  const rlimit none = {0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::signal(number, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  ::kill(::getpid(), number);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  return 128 + number;
}

}  // namespace sonde

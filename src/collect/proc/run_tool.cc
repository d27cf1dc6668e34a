#include "collect/proc/run_tool.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/time.h"

namespace sonde {
namespace {

[[noreturn]] void Exec(const std::vector<std::string>& words, int output) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(null, STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& word : words)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

// Everything until the end of the output; false if it takes too long or is too
// much.
bool ReadAll(int fd, int64_t until_ns, std::string& out) {
  for (;;) {
    const int64_t left_ns = until_ns - NowNs();
    if (left_ns <= 0 || out.size() > kMostToolBytes) return false;
    pollfd wait = {fd, POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(left_ns / kNsPerMs) + 1) <= 0)
      continue;
    char buffer[4096];
    const ssize_t size = ::read(fd, buffer, sizeof(buffer));
    if (size == 0) return true;
    if (size < 0 && errno != EINTR) return false;
    if (size > 0) out.append(buffer, static_cast<size_t>(size));
  }
}

// Its status once it has ended; nothing if that takes too long. Who has closed
// the output is about to end. Of one that the kernel has waited for, because we
// ignore SIGCHLD, it is not known: what it printed counts, and its number may
// be another's by now.
std::optional<int> WaitUntil(pid_t pid, int64_t until_ns) {
  for (;;) {
    int status = 0;
    const pid_t got = ::waitpid(pid, &status, WNOHANG);
    if (got == pid || (got == -1 && errno == ECHILD)) return status;
    if ((got == -1 && errno != EINTR) || NowNs() >= until_ns)
      return std::nullopt;
    ::usleep(500);
  }
}

}  // namespace

std::optional<std::string> RunTool(const std::vector<std::string>& words,
                                   int64_t limit_ns) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const pid_t pid = ::fork();
  if (pid == 0) Exec(words, ends[1]);
  ::close(ends[1]);
  const Fd output(ends[0]);
  if (pid < 0) return std::nullopt;
  const int64_t until_ns = NowNs() + limit_ns;
  std::string text;
  std::optional<int> status;
  if (ReadAll(output.get(), until_ns, text)) status = WaitUntil(pid, until_ns);
  if (!status) {
    // With all that it has started, if it is its own group by now.
    ::kill(-pid, SIGKILL), ::kill(pid, SIGKILL);
    while (::waitpid(pid, nullptr, 0) == -1 && errno == EINTR) {
    }
    return std::nullopt;
  }
  if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) return std::nullopt;
  return text;
}

}  // namespace sonde

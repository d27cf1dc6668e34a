#include "collect/session/launcher.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace sonde {
namespace {

constexpr char kGo = 'g';
constexpr char kCancel = 'x';
constexpr std::string_view kSessionVariable = "SONDE_SESSION=";

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words)
    out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

// Runs in the forked child: nothing here may allocate or fail loudly.
[[noreturn]] void WaitAndExec(int gate, int failure, char* const* argv,
                              char* const* envp, const sigset_t& mask) {
  char word = kGo;
  // End of file: the collector was killed. The command is not to suffer.
  while (::read(gate, &word, 1) == -1 && errno == EINTR) {
  }
  if (word == kCancel) ::_exit(125);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execvpe(argv[0], argv, envp);
  const int error = errno;
  sigset_t all;
  sigfillset(&all);  // an EPIPE is not to kill us with a signal of our own
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  WriteAll(failure, &error, sizeof(error));
  ::_exit(error == ENOENT ? 127 : 126);
}

}  // namespace

Result<Launcher> Launcher::Fork(const std::vector<std::string>& command,
                                const std::string& session_dir,
                                const sigset_t& mask) {
  CHECK(!command.empty());
  int gate[2], failure[2];
  if (::pipe2(gate, O_CLOEXEC) != 0) return ErrnoError("pipe", errno);
  Fd gate_read(gate[0]), gate_write(gate[1]);
  if (::pipe2(failure, O_CLOEXEC) != 0) return ErrnoError("pipe", errno);
  Fd failure_read(failure[0]), failure_write(failure[1]);

  const std::string variable = std::string(kSessionVariable) + session_dir;
  std::vector<char*> envp;
  for (char** at = environ; at && *at; ++at)
    if (std::strncmp(*at, kSessionVariable.data(), kSessionVariable.size()) !=
        0)
      envp.push_back(*at);
  envp.push_back(const_cast<char*>(variable.c_str()));
  envp.push_back(nullptr);
  const std::vector<char*> argv = Pointers(command);

  const pid_t pid = ::fork();
  if (pid == -1) return ErrnoError("fork", errno);
  if (pid == 0) {
    ::close(gate_write.get());  // or the collector's death would go unnoticed
    ::close(failure_read.get());
    WaitAndExec(gate_read.get(), failure_write.get(), argv.data(), envp.data(),
                mask);
  }
  return Launcher(pid, std::move(gate_write), std::move(failure_read));
}

Launcher::Launcher(Launcher&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      gate_(std::move(other.gate_)),
      failure_(std::move(other.failure_)) {}

Launcher::~Launcher() {
  if (!gate_.valid()) return;
  WriteAll(gate_.get(), &kCancel, 1);
  gate_.Reset();
  while (::waitpid(pid_, nullptr, 0) == -1 && errno == EINTR) {
  }
}

int Launcher::Go() {
  WriteAll(gate_.get(), &kGo, 1);
  gate_.Reset();
  int error = 0;
  char* at = reinterpret_cast<char*>(&error);
  size_t got = 0;
  while (got < sizeof(error)) {
    const ssize_t n = ::read(failure_.get(), at + got, sizeof(error) - got);
    if (n == -1 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<size_t>(n);
  }
  failure_.Reset();
  if (got < sizeof(error)) return 0;
  while (::waitpid(pid_, nullptr, 0) == -1 && errno == EINTR) {
  }
  return error;
}

int ExecCommand(const std::vector<std::string>& command) {
  CHECK(!command.empty());
  ::execvp(command[0].c_str(), Pointers(command).data());
  return errno;
}

}  // namespace sonde

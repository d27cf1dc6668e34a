#include "cli/background.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sonde {
namespace {

// What the new process says over the pipe: its pid first, then at once or later
// kReady, or an error's kind and its two texts with a NUL behind each.
constexpr char kReady = 'r';

void OpenAs(int fd, const char* path, int flags) {
  const Fd file(::open(path, flags | O_CLOEXEC, 0600));
  if (file.valid()) ::dup2(file.get(), fd);
}

// The parent's side: waits until all is said.
std::string Listen(int fd) {
  std::string said;
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof(buffer));
    if (n == -1 && errno == EINTR) continue;
    if (n <= 0) return said;
    said.append(buffer, static_cast<size_t>(n));
  }
}

}  // namespace

Result<Background> Background::Detach(const std::string& log) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoError("pipe", errno);
  const Fd hear(ends[0]);
  Fd tell(ends[1]);
  const pid_t first = ::fork();
  if (first == -1) return ErrnoError("fork", errno);
  if (first == 0) {
    ::setsid();
    // Not the leader of its session, so that no terminal can become its own.
    if (::fork() != 0) ::_exit(0);
    OpenAs(0, "/dev/null", O_RDONLY);
    OpenAs(1, "/dev/null", O_WRONLY);
    OpenAs(2, "/dev/null", O_WRONLY);
    const pid_t pid = ::getpid();
    WriteAll(tell.get(), &pid, sizeof(pid));
    return Background(pid, std::move(tell), log);
  }
  tell.Reset();
  while (::waitpid(first, nullptr, 0) == -1 && errno == EINTR) {
  }
  const std::string said = Listen(hear.get());
  pid_t pid = 0;
  if (said.size() <= sizeof(pid))
    return Error{Error::Kind::kIo, "the recorder ended before it could start"};
  std::memcpy(&pid, said.data(), sizeof(pid));
  const char* at = said.data() + sizeof(pid);
  if (*at == kReady) return Background(pid, Fd(), log);
  Error error{static_cast<Error::Kind>(*at++), at};
  error.hint =
      at + std::min(said.size() - sizeof(pid) - 1, std::strlen(at) + 1);
  return error;
}

void Background::Ready() {
  if (!log_.empty())
    OpenAs(2, log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
  WriteAll(tell_.get(), &kReady, 1);
  tell_.Reset();
}

void Background::Failed(const Error& error) {
  std::string text(1, static_cast<char>(error.kind));
  text += error.what + '\0' + error.hint + '\0';
  WriteAll(tell_.get(), text.data(), text.size());
  tell_.Reset();
}

}  // namespace sonde

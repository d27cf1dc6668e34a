// ring_run [--base DIR] COMMAND...: runs a command in a session of its own,
// drains what it and its children record, and says at the end, on stderr,
//
//   ring_run: status S rings R records N lost L damaged B threads T
//
// S is the command's exit status, or 128 + the signal that killed it.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/time.h"
#include "tools/ring_session.h"

int main(int argc, char** argv) {
  using namespace sonde;
  std::string base = "/dev/shm";
  int first = 1;
  if (argc > 3 && std::strcmp(argv[1], "--base") == 0) {
    base = argv[2];
    first = 3;
  }
  if (argc <= first) return 2;
  RingSession session(base);
  ::setenv("SONDE_SESSION", session.path.c_str(), 1);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execvp(argv[first], argv + first);
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    session.Find();
    session.Drain();
    ::usleep(1000);
  }
  session.Finish();
  uint64_t threads = 0;
  for (const auto& [path, one] : session.rings)
    threads += one->reader.header().threads;
  std::fprintf(
      stderr,
      "ring_run: status %d rings %zu records %llu lost %llu damaged "
      "%llu threads %llu\n",
      WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
      session.rings.size(), static_cast<unsigned long long>(session.records()),
      static_cast<unsigned long long>(session.lost()),
      static_cast<unsigned long long>(session.damaged()),
      static_cast<unsigned long long>(threads));
  return 0;
}

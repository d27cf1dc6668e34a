#ifndef SONDE_COLLECT_SESSION_LAUNCHER_H_
#define SONDE_COLLECT_SESSION_LAUNCHER_H_

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// A command that has been forked and waits at a gate before its exec, so that
// its observers are in place before its first instruction.
//
//  - The command finds everything as without us: descriptors, working
//    directory, umask, limits, process group, terminal, signal mask and
//    dispositions. Its environment has SONDE_SESSION more.
//  - PATH is searched, and a file without "#!" run by the shell, as execvp
//  does.
//  - If this process is killed while the command waits, the command starts all
//    the same.
//  - A Launcher that goes away before Go() takes the command with it.
//
// One thread.
class Launcher {
 public:
  // `mask` is the signal mask the command gets.
  static Result<Launcher> Fork(const std::vector<std::string>& command,
                               const std::string& session_dir,
                               const sigset_t& mask);
  Launcher(Launcher&& other) noexcept;
  Launcher& operator=(Launcher&&) = delete;
  ~Launcher();

  pid_t pid() const { return pid_; }

  // Opens the gate and waits for the exec. 0: the command runs, and is now the
  // caller's to wait for. Else the errno of the exec; it has been waited for.
  int Go();

 private:
  Launcher(pid_t pid, Fd gate, Fd failure)
      : pid_(pid), gate_(std::move(gate)), failure_(std::move(failure)) {}

  pid_t pid_;
  Fd gate_;     // write: one byte lets the command go, or sends it away
  Fd failure_;  // read: the errno of a failed exec, nothing after a good one
};

// Replaces this process by the command. Returns the errno if it could not.
int ExecCommand(const std::vector<std::string>& command);

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_LAUNCHER_H_

#ifndef SONDE_COLLECT_SESSION_SIGNALS_H_
#define SONDE_COLLECT_SESSION_SIGNALS_H_

#include <signal.h>
#include <sys/signalfd.h>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// Signals as this process wants them while it stands in front of a command:
// read from a descriptor, none of them deadly. Left as they were: SIGTSTP,
// SIGTTIN, SIGTTOU and SIGCONT, so that a job stops and goes on as a whole, and
// those that mean a fault of our own.
//
// Blocks, never sets dispositions: a command forked meanwhile inherits them
// untouched and needs only original_mask() back.
class Signals {
 public:
  static Result<Signals> Block();

  int fd() const { return fd_.get(); }
  const sigset_t& original_mask() const { return original_; }

  // The next signal that has arrived. False: none.
  bool Next(signalfd_siginfo& info) const;

 private:
  Fd fd_;
  sigset_t original_ = {};
};

// True if a command in our process group did not get this signal itself, and
// would have got it had it stood in our place. What the terminal sends reaches
// the whole group.
bool MeantForTheCommand(const signalfd_siginfo& info);

// After the fork: the parent must be able to wait for the child even if it was
// started with SIGCHLD ignored.
void KeepZombies();

// The command ended with this `wait_status` and only its summary is left to
// make: from here on SIGINT, SIGTERM, SIGHUP and SIGQUIT end the process at
// once as the command did, unless they were ignored before.
void EndEarlyLike(int wait_status);

// The exit status for a process that is to end as the command with this
// `wait_status` did. If the command died of a signal this does not return: the
// process dies of the same one, without a core file of its own.
int EndLike(int wait_status);

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_SIGNALS_H_

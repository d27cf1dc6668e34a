#ifndef SONDE_CLI_BACKGROUND_H_
#define SONDE_CLI_BACKGROUND_H_

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// A process that goes on without the terminal and the shell it came from.
//
// Detach() returns in both: in the old one once the new one has said Ready() or
// Failed(), with its pid or its Error; in the new one at once, with `child`.
// The new one is in a session of its own, keeps the working directory, reads
// and writes nothing, and has `log` as its standard error unless that is empty.
// The log is made when it says Ready(), so that nothing is left of one that
// Failed().
class Background {
 public:
  static Result<Background> Detach(const std::string& log);

  bool child() const { return tell_.valid(); }
  pid_t pid() const { return pid_; }  // of the new one

  // In the child, one of them once.
  void Ready();
  void Failed(const Error& error);

 private:
  Background(pid_t pid, Fd tell, std::string log)
      : pid_(pid), tell_(std::move(tell)), log_(std::move(log)) {}

  pid_t pid_;
  Fd tell_;
  std::string log_;
};

}  // namespace sonde

#endif  // SONDE_CLI_BACKGROUND_H_

#ifndef SONDE_COLLECT_SESSION_STANDARD_FDS_H_
#define SONDE_COLLECT_SESSION_STANDARD_FDS_H_

#include <vector>

namespace sonde {

// Fills each of the descriptors 0, 1 and 2 that is closed with /dev/null, so
// that no file of ours lands there and gets somebody's output. The placeholders
// close at exec: a command started without a stdin still has none.
//
// Call it before anything is opened.
void HoldStandardFds();

// The descriptors this process was given. Once the command has its copies, ours
// must go: a pipe whose other end waits for the last writer to close it would
// otherwise wait for us.
class InheritedFds {
 public:
  // Call it before anything is opened.
  static InheritedFds Capture();
  // Closes them; 0 and 1 become /dev/null, and so does 2 if `stderr_too`.
  void Release(bool stderr_too) const;

 private:
  std::vector<int> fds_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_STANDARD_FDS_H_

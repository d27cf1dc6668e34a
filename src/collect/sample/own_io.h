#ifndef SONDE_COLLECT_SAMPLE_OWN_IO_H_
#define SONDE_COLLECT_SAMPLE_OWN_IO_H_

#include "collect/proc/process_files.h"

namespace sonde {

// What a process read and wrote itself. The kernel adds to its /proc/PID/io
// what its children did, as soon as it has waited for them; those that were
// sampled have told it already.
//
//  - own() never falls. Until a child is waited for it may stand still.
//  - What a child did after its last sample becomes its parent's, so that the
//    sum is right.
//  - A parent that lets the kernel reap its children (SIGCHLD ignored) inherits
//    nothing, and as much of its own is missing.
class OwnIo {
 public:
  void Update(const ProcessIo& told);
  void ChildEnded(const OwnIo& child);

  const ProcessIo& own() const { return own_; }

 private:
  ProcessIo told_, own_;
  ProcessIo inherited_;  // of children that have ended
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_OWN_IO_H_

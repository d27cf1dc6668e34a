#ifndef SONDE_COLLECT_STACKS_MAPPED_FILE_H_
#define SONDE_COLLECT_STACKS_MAPPED_FILE_H_

#include <sys/types.h>

#include "base/fd.h"
#include "collect/proc/process_files.h"

namespace sonde {

// The very file that a process has mapped, to be read: under its name where the
// process is, or where another file has that name by now, as only root can.
// None if neither works. Takes nothing but a regular file and never waits.
Fd OpenMapped(pid_t pid, const Mapping& mapping);

}  // namespace sonde

#endif  // SONDE_COLLECT_STACKS_MAPPED_FILE_H_

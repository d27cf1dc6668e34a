#ifndef SONDE_COLLECT_SESSION_IDENTITY_H_
#define SONDE_COLLECT_SESSION_IDENTITY_H_

#include <sys/types.h>

#include <string>

#include "trace/writer.h"

namespace sonde {

// Writes what machine, limits and versions a recording was made with, as meta
// rows. `pid` is a process of what is recorded (0: this one), `cgroup` its
// /proc/PID/cgroup. Names of environment
// variables are recorded, their values only if `environment_values`.
void WriteIdentity(TraceWriter& out, pid_t pid, const std::string& cgroup,
                   bool environment_values);

// /proc/self/cgroup.
std::string OwnCgroup();

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_IDENTITY_H_

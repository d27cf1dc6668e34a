#ifndef SONDE_COLLECT_PROC_PIDS_H_
#define SONDE_COLLECT_PROC_PIDS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace sonde {

// Names in a folder of /proc that are numbers: processes, or threads. Empty if
// it cannot be read.
std::vector<pid_t> NumbersIn(const std::string& path);

}  // namespace sonde

#endif  // SONDE_COLLECT_PROC_PIDS_H_

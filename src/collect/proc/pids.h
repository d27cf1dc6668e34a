#ifndef SONDE_COLLECT_PROC_PIDS_H_
#define SONDE_COLLECT_PROC_PIDS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace sonde {

// Names in a folder of /proc that are numbers: processes, or threads. Empty if
// it cannot be read.
std::vector<pid_t> NumbersIn(const std::string& path);

// `root` and the processes that descend from it, as of now, parents before
// their children.
std::vector<pid_t> TreeOf(pid_t root);

}  // namespace sonde

#endif  // SONDE_COLLECT_PROC_PIDS_H_

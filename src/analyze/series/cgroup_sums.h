// What is read of the cgroups of a run, which lie in each other: the sampler
// writes the counters of the processes' own cgroups and of each above them that
// has a limit.

#ifndef SONDE_ANALYZE_SERIES_CGROUP_SUMS_H_
#define SONDE_ANALYZE_SERIES_CGROUP_SUMS_H_

#include <string>
#include <string_view>
#include <vector>

#include "analyze/series/counter_pass.h"
#include "analyze/series/series.h"
#include "store/store.h"

namespace sonde {

// Of these cgroups, those that hold the run and do not hold each other: the
// command's own, if it is among them, and of those beside it the innermost. Who
// has processes in a cgroup above another is not recorded.
std::vector<std::string> OwnCgroups(const std::vector<std::string>& paths,
                                    std::string_view command);

// A sum for each cgroup and series, those of one name beside each other:
//
//   cgroup_throttled  of every cgroup, since a limit above holds back as well
//   cgroup_memory     of OwnCgroups(): one counts what is in those below
//   cgroup_psi_io     of OwnCgroups(): above, others wait too
//
// At most 128 cgroups of a counter are read; the command's is among them.
std::vector<CounterSum> CgroupSums(const Store& store);

}  // namespace sonde

#endif  // SONDE_ANALYZE_SERIES_CGROUP_SUMS_H_

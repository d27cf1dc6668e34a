#ifndef SONDE_COLLECT_SAMPLE_PROCESS_PLACES_H_
#define SONDE_COLLECT_SAMPLE_PROCESS_PLACES_H_

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "collect/sample/cgroup_sampler.h"
#include "collect/sample/machine_sampler.h"

namespace sonde {

// Notices that a recorded process has gone to another cgroup or network
// namespace, whenever it does, so that the counters of these are read too.
//
//  - Only a process that ran is looked at: one that sleeps does not move
//    itself, is not throttled and sends nothing. kLooks of them in a Look(), in
//    turn, so that it costs the same however many there are: about 20 us each.
//
// One thread. Does not own the samplers.
class ProcessPlaces {
 public:
  static constexpr size_t kLooks = 2;

  // `cgroup` is null if cgroups are not to be followed.
  ProcessPlaces(CgroupSampler* cgroup, MachineSampler& machine)
      : cgroup_(cgroup), machine_(machine) {}

  // By the number of a process in its tree.
  void Ran(uint32_t number, pid_t pid);
  void Ended(uint32_t number);

  // At `most` of those that ran.
  void Look(size_t most = kLooks);

 private:
  struct Place {
    pid_t pid = 0;
    ino_t network = 0;   // 0: not known
    bool waits = false;  // in the queue
  };

  void LookAt(Place& place);

  CgroupSampler* const cgroup_;
  MachineSampler& machine_;
  std::map<uint32_t, Place> places_;
  std::deque<uint32_t> queue_;   // of those that ran, ended ones among them
  bool networks_moved_ = false;  // since the machine's sampler was told
  std::vector<char> buffer_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_PROCESS_PLACES_H_

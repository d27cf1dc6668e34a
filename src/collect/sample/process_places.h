#ifndef SONDE_COLLECT_SAMPLE_PROCESS_PLACES_H_
#define SONDE_COLLECT_SAMPLE_PROCESS_PLACES_H_

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "collect/tree/process_tree.h"

namespace sonde {

// A network namespace, and a process that is in it.
struct NetworkPlace {
  ino_t network = 0;
  pid_t pid = 0;
};

// Notices that a recorded process has gone to another cgroup or network
// namespace, whenever it does, so that the counters of these are read too.
//
//  - The first Look() is at every process: where everybody is must be known
//    before the first counters are read, since the interfaces that are read
//    first keep their plain names.
//  - Later only a process that ran is looked at: one that sleeps does not move
//    itself, is not throttled and sends nothing. kLooks of them in a Look(), in
//    turn, so that it costs the same however many there are: about 20 us each.
//
// One thread. Does not own the tree.
class ProcessPlaces {
 public:
  static constexpr size_t kLooks = 2;

  // `cgroups`: whether cgroups are to be followed.
  ProcessPlaces(const ProcessTree& tree, bool cgroups)
      : tree_(tree), follow_cgroups_(cgroups) {}

  // By the number of a process in its tree.
  void Ran(uint32_t number, pid_t pid);
  void Look();

  // /proc/PID/cgroup of the processes that the last Look() was at.
  const std::vector<std::string>& cgroups() const { return cgroups_; }
  // The namespaces of all processes, each once, as of the last Look(). Empty
  // as long as none is known.
  const std::vector<NetworkPlace>& networks() const { return networks_; }

 private:
  struct Place {
    pid_t pid = 0;
    ino_t network = 0;   // 0: not known
    bool waits = false;  // in the queue
  };

  bool ForgetEnded();
  bool LookAt(Place& place);

  const ProcessTree& tree_;
  const bool follow_cgroups_;
  bool first_ = true;
  uint64_t seen_changes_ = UINT64_MAX;
  std::map<uint32_t, Place> places_;
  std::deque<uint32_t> queue_;  // of those that ran, ended ones among them
  std::vector<std::string> cgroups_;
  std::vector<NetworkPlace> networks_;
  std::vector<char> buffer_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_PROCESS_PLACES_H_

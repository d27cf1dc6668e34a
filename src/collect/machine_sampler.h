#ifndef SONDE_COLLECT_MACHINE_SAMPLER_H_
#define SONDE_COLLECT_MACHINE_SAMPLER_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "collect/proc/machine_files.h"
#include "collect/proc/proc_file.h"
#include "collect/process_tree.h"
#include "trace/writer.h"

namespace sonde {

// Reads the counters of the whole machine as one counter group. The network's
// are those of the network namespace that the recorded processes are in: a
// container, or `ip netns exec`, has interfaces of its own.
class MachineSampler {
 public:
  MachineSampler(TraceWriter& out, uint32_t group) : out_(out), group_(group) {}

  // Samples everything; the load only once a second. `target` is the oldest
  // process that is recorded, 0 if none is alive: whether it has moved to
  // another network namespace is looked up as seldom.
  void Tick(FdBudget& budget, pid_t target);

  std::vector<NotCollected> not_collected() const;

 private:
  struct Key {
    const char* name;  // one of our own literals: told apart by address
    std::string label;
    auto operator<=>(const Key&) const = default;
  };

  void Cores(std::string_view text);
  void Memory(std::string_view text);
  void Disks(std::string_view text);
  void FindNetwork(FdBudget& budget, pid_t target);
  void Network(FdBudget& budget);
  void PressureOf(std::string_view text, const char* some, const char* full);
  uint32_t Find(const char* name, std::string_view label, const char* unit,
                Series::Kind kind, Series::Type type);
  void Total(const char* name, std::string_view label, const char* unit,
             uint64_t value);
  void Gauge(const char* name, const char* unit, std::optional<uint64_t> value);

  TraceWriter& out_;
  const uint32_t group_;
  ProcFile stat_, meminfo_, diskstats_, net_, load_;
  ProcFile pressure_cpu_, pressure_io_, pressure_memory_;
  int64_t next_load_ns_ = 0;
  std::string net_path_ = "/proc/net/dev";
  std::string net_namespace_;  // empty: ours
  bool no_pressure_ = false;
  bool no_disks_ = false;
  bool no_net_ = false;
  std::map<Key, uint32_t, std::less<>> series_;
  std::vector<char> buffer_;
  MachineStat machine_;
  std::vector<std::string> core_names_;
  std::vector<std::vector<uint32_t>> core_series_;  // by core, by counter
  std::vector<DiskStat> disks_;
  std::vector<NetStat> interfaces_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_MACHINE_SAMPLER_H_

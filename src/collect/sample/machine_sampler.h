#ifndef SONDE_COLLECT_SAMPLE_MACHINE_SAMPLER_H_
#define SONDE_COLLECT_SAMPLE_MACHINE_SAMPLER_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "collect/proc/machine_files.h"
#include "collect/proc/proc_file.h"
#include "collect/tree/process_tree.h"
#include "trace/writer.h"

namespace sonde {

// A network namespace, and a process that is in it.
struct NetworkPlace {
  ino_t network = 0;
  pid_t pid = 0;
};

// Reads the counters of the whole machine as one counter group. The network's
// are those of the network namespaces that the recorded processes are in: a
// container, or `ip netns exec`, has interfaces of its own.
//
//  - Nothing is kept open of a namespace that is not ours: it would not end
//    with its processes.
//  - A series' label is the interface. If an interface of another namespace
//    had the name before, "@" and the number of its own follow.
class MachineSampler {
 public:
  static constexpr size_t kMostNetworks = 8;

  MachineSampler(TraceWriter& out, uint32_t group);

  // Samples everything; what changes slowly only once a second, unless `all`.
  void Tick(FdBudget& budget, bool all = false);

  // /dev/shm is read as this process sees it, if that can be done without
  // risk. 0: it is not read.
  void FollowShm(pid_t pid) { shm_pid_ = pid; }

  // Time that the cores have worked so far, as of the last tick.
  int64_t busy_ns() const;

  // The namespaces to read from now on, kMostNetworks of them. At first it is
  // ours.
  void FollowNetworks(const std::vector<NetworkPlace>& places);

  std::vector<NotCollected> not_collected() const;

 private:
  struct Key {
    const char* name;  // one of our own literals: told apart by address
    std::string label;
    ino_t network = 0;  // that it is of, if it is of one
    auto operator<=>(const Key&) const = default;
  };

  void Cores(std::string_view text);
  void Memory(std::string_view text);
  void Disks(std::string_view text);
  void Shm();
  void Networks(FdBudget& budget);
  void Network(ino_t network, std::string_view text);
  std::string LabelOf(ino_t network, std::string_view name);
  void PressureOf(std::string_view text, const char* some, const char* full);
  uint32_t Find(const char* name, std::string_view label, const char* unit,
                Series::Kind kind, Series::Type type, ino_t network = 0);
  void Total(const char* name, std::string_view label, const char* unit,
             uint64_t value, ino_t network = 0);
  void Gauge(const char* name, const char* unit, std::optional<uint64_t> value);

  TraceWriter& out_;
  const uint32_t group_;
  ProcFile stat_, meminfo_, diskstats_, net_, load_, vmstat_;
  ProcFile pressure_cpu_, pressure_io_, pressure_memory_;
  int64_t next_load_ns_ = 0;
  pid_t shm_pid_ = 0;
  const ino_t own_network_;
  std::vector<NetworkPlace> networks_;
  // Whose interfaces are called by their names alone.
  std::map<std::string, ino_t, std::less<>> named_;
  std::vector<uint32_t> gone_;  // series of namespaces that were left
  bool no_pressure_ = false;
  bool no_disks_ = false;
  bool no_net_ = false;
  bool more_networks_ = false;  // than are read
  std::map<Key, uint32_t, std::less<>> series_;
  std::vector<char> buffer_;
  MachineStat machine_;
  std::vector<std::string> core_names_;
  std::vector<std::vector<uint32_t>> core_series_;  // by core, by counter
  std::vector<DiskStat> disks_;
  std::vector<NetStat> interfaces_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_MACHINE_SAMPLER_H_

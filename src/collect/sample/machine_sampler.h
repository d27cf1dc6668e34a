#ifndef SONDE_COLLECT_SAMPLE_MACHINE_SAMPLER_H_
#define SONDE_COLLECT_SAMPLE_MACHINE_SAMPLER_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "collect/proc/machine_files.h"
#include "collect/proc/proc_file.h"
#include "collect/sample/sampled_run.h"
#include "trace/series_list.h"
#include "trace/writer.h"

namespace sonde {

// Reads the counters of the whole machine as one counter group. The network's
// are those of the network namespaces that the recorded processes are in: a
// container, or `ip netns exec`, has interfaces of its own.
//
//  - Nothing is kept open of a namespace that is not ours: it would not end
//    with its processes.
//  - A series' label is the interface. If an interface of another namespace
//    had the name before, "@" and the number of its own follow.
//  - /dev/shm is read as the first process of the tree sees it, if that can be
//    done without risk.
//
// What there is to read stands in machine_sources.cc.
class MachineSampler : public Gatherer {
 public:
  explicit MachineSampler(SampledRun& run);

  // Ten times a second at most; what changes slowly once a second.
  void Poll(int64_t now_ns) override;
  void Stop(int64_t now_ns) override;
  std::vector<NotCollected> not_collected() const override;

 private:
  struct Key {
    SeriesName name;
    std::string label;
    ino_t network = 0;  // namespace of a network series, else 0
    auto operator<=>(const Key&) const = default;
  };

  static constexpr size_t kMostNetworks = 8;

  void Read(bool all);
  // The namespaces to read from now on, kMostNetworks of them. At first it is
  // ours.
  void FollowNetworks(const std::vector<NetworkPlace>& places);
  // Time that the cores have worked so far.
  int64_t BusyNs() const;
  void Cores(std::string_view text);
  void Memory(std::string_view text);
  void Disks(std::string_view text);
  void Shm();
  void Networks();
  void Network(ino_t network, std::string_view text);
  std::string LabelOf(ino_t network, std::string_view name);
  void PressureOf(std::string_view text, SeriesName some,
                  std::optional<SeriesName> full);
  uint32_t Find(SeriesName name, std::string_view label, ino_t network = 0);
  void Put(SeriesName name, std::string_view label,
           std::optional<uint64_t> value, ino_t network = 0);

  SampledRun& run_;
  TraceWriter& out_;
  const uint32_t group_;
  ProcFile stat_, meminfo_, diskstats_, net_, load_, vmstat_;
  ProcFile pressure_cpu_, pressure_io_, pressure_memory_;
  int64_t next_load_ns_ = 0;
  pid_t shm_pid_ = 0;  // whose /dev/shm is read; 0: nobody's
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
  std::vector<std::vector<uint32_t>> core_series_;  // by core, by counter
  std::vector<DiskStat> disks_;
  std::vector<NetStat> interfaces_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_MACHINE_SAMPLER_H_

#include "collect/sample/machine_sampler.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/time.h"
#include "trace/sources.h"

namespace sonde {
namespace {

int64_t NsPerTick() {
  static const int64_t ns = kNsPerSec / std::max(1L, ::sysconf(_SC_CLK_TCK));
  return ns;
}

constexpr SeriesName kCoreCounters[] = {
    "cpu_user_ns",   "cpu_nice_ns", "cpu_system_ns", "cpu_idle_ns",
    "cpu_iowait_ns", "cpu_irq_ns",  "cpu_steal_ns"};

ino_t OwnNetwork() {
  struct stat found = {};
  return ::stat("/proc/self/ns/net", &found) == 0 ? found.st_ino : 0;
}

}  // namespace

MachineSampler::MachineSampler(SampledRun& run)
    : run_(run),
      out_(run.out),
      group_(run.out.AddGroup()),
      own_network_(OwnNetwork()),
      networks_{{own_network_, 0}} {}

uint32_t MachineSampler::Find(SeriesName name, std::string_view label,
                              ino_t network) {
  const auto [at, fresh] =
      series_.try_emplace(Key{name, std::string(label), network}, 0u);
  if (fresh) {
    Series row = SampledSeries(name, source::kMachine, group_, out_);
    row.label = out_.Intern(label);
    at->second = out_.AddSeries(row);
  }
  return at->second;
}

void MachineSampler::Put(SeriesName name, std::string_view label,
                         std::optional<uint64_t> value, ino_t network) {
  if (value) out_.Set(Find(name, label, network), static_cast<int64_t>(*value));
}

void MachineSampler::Poll(int64_t) {
  if (!run_.machine_due) return;
  if (!run_.places.networks().empty()) FollowNetworks(run_.places.networks());
  const auto& live = run_.tree.live();
  shm_pid_ = live.empty() ? 0 : live.begin()->second.pid;
  Read(/*all=*/false);
}

void MachineSampler::Stop(int64_t) {
  if (!run_.paused) Read(/*all=*/true);
}

void MachineSampler::Read(bool all) {
  FdBudget& budget = run_.budget;
  // A group exists once it has a series.
  if (series_.empty()) Find("procs_running", "");
  const int64_t now_ns = NowNs();
  const bool seldom = all || now_ns >= next_load_ns_;
  if (seldom) next_load_ns_ = now_ns + kNsPerSec - 50 * kNsPerMs;
  out_.BeginTick(group_, now_ns);
  Cores(stat_.Read("/proc/stat", budget, buffer_));
  Memory(meminfo_.Read("/proc/meminfo", budget, buffer_));
  if (!no_disks_) Disks(diskstats_.Read("/proc/diskstats", budget, buffer_));
  Networks();
  if (!no_pressure_) {
    const std::string_view cpu =
        pressure_cpu_.Read("/proc/pressure/cpu", budget, buffer_);
    no_pressure_ = cpu.empty();
    // The whole machine never waits for its CPUs as a whole: no "full".
    PressureOf(cpu, "psi_cpu_some_ns", std::nullopt);
    if (!no_pressure_) {
      PressureOf(pressure_io_.Read("/proc/pressure/io", budget, buffer_),
                 "psi_io_some_ns", SeriesName("psi_io_full_ns"));
      PressureOf(
          pressure_memory_.Read("/proc/pressure/memory", budget, buffer_),
          "psi_memory_some_ns", SeriesName("psi_memory_full_ns"));
    }
  }
  if (seldom) {
    if (const auto load =
            ParseLoad1(load_.Read("/proc/loadavg", budget, buffer_)))
      out_.SetDouble(Find("load1", ""), *load);
    Put("oom_kills", "",
        ParseOomKills(vmstat_.Read("/proc/vmstat", budget, buffer_)));
    Shm();
  }
  out_.EndTick();
  run_.machine_busy_ns = BusyNs();
}

void MachineSampler::Cores(std::string_view text) {
  ParseMachineStat(text, machine_);
  for (const MachineStat::Core& core : machine_.cores) {
    if (core_series_.size() <= core.number)
      core_series_.resize(core.number + 1);
    auto& ids = core_series_[core.number];
    if (ids.empty())
      for (const SeriesName name : kCoreCounters)
        ids.push_back(Find(name, std::to_string(core.number)));
    const uint64_t values[] = {core.user,   core.nice, core.system, core.idle,
                               core.iowait, core.irq,  core.steal};
    for (size_t i = 0; i < std::size(values); ++i)
      out_.Set(ids[i], static_cast<int64_t>(
                           values[i] * static_cast<uint64_t>(NsPerTick())));
  }
  Put("context_switches", "", machine_.context_switches);
  Put("procs_running", "", machine_.running);
  Put("procs_blocked", "", machine_.blocked);
}

int64_t MachineSampler::BusyNs() const {
  uint64_t ticks = 0;
  for (const MachineStat::Core& core : machine_.cores)
    ticks += core.user + core.nice + core.system + core.irq;
  return static_cast<int64_t>(ticks * static_cast<uint64_t>(NsPerTick()));
}

void MachineSampler::Memory(std::string_view text) {
  const MemInfo memory = ParseMemInfo(text);
  Put("mem_total_bytes", "", memory.total);
  Put("mem_free_bytes", "", memory.free);
  Put("mem_available_bytes", "", memory.available);
  Put("mem_cached_bytes", "", memory.cached);
  Put("swap_total_bytes", "", memory.swap_total);
  Put("swap_free_bytes", "", memory.swap_free);
}

void MachineSampler::Shm() {
  if (shm_pid_ == 0) return;
  // Asked each time: a file system of a program's own, put there meanwhile,
  // need never answer.
  if (!ShmIsMemory(ReadOnce(fmt::format("/proc/{}/mountinfo", shm_pid_).c_str(),
                            buffer_)))
    return;
  struct statvfs room = {};
  // Without a limit it has no blocks.
  if (::statvfs(fmt::format("/proc/{}/root/dev/shm", shm_pid_).c_str(),
                &room) != 0 ||
      room.f_blocks == 0)
    return;
  const uint64_t free = std::min(room.f_bfree, room.f_blocks);
  Put("shm_used_bytes", "", (room.f_blocks - free) * room.f_frsize);
  Put("shm_total_bytes", "", room.f_blocks * room.f_frsize);
}

void MachineSampler::Disks(std::string_view text) {
  no_disks_ = text.empty();
  ParseDiskStats(text, disks_);
  for (const DiskStat& disk : disks_) {
    Put("disk_read_bytes", disk.name, disk.read_bytes);
    Put("disk_write_bytes", disk.name, disk.write_bytes);
    Put("disk_reads", disk.name, disk.reads);
    Put("disk_writes", disk.name, disk.writes);
    Put("disk_busy_ns", disk.name, disk.busy_ns);
  }
}

void MachineSampler::FollowNetworks(const std::vector<NetworkPlace>& places) {
  const std::vector<NetworkPlace> now(
      places.begin(), places.begin() + static_cast<ptrdiff_t>(std::min(
                                           places.size(), kMostNetworks)));
  for (const NetworkPlace& left : networks_) {
    if (std::any_of(now.begin(), now.end(), [&](const NetworkPlace& one) {
          return one.network == left.network;
        }))
      continue;
    std::erase_if(series_, [&](const auto& one) {
      const bool gone = one.first.network == left.network;
      if (gone) gone_.push_back(one.second);
      return gone;
    });
  }
  networks_ = now;
  more_networks_ |= places.size() > kMostNetworks;
}

void MachineSampler::Networks() {
  for (const uint32_t series : gone_) out_.Gone(series);
  gone_.clear();
  for (const NetworkPlace& place : networks_) {
    if (place.network != own_network_) {
      // Nothing to read if its process has just ended: another will be found.
      const std::string path = fmt::format("/proc/{}/net/dev", place.pid);
      Network(place.network, ReadOnce(path.c_str(), buffer_));
    } else if (!no_net_) {
      const std::string_view text =
          net_.Read("/proc/net/dev", run_.budget, buffer_);
      no_net_ = text.empty();
      Network(place.network, text);
    }
  }
}

std::string MachineSampler::LabelOf(ino_t network, std::string_view name) {
  const auto first = named_.try_emplace(std::string(name), network).first;
  return first->second == network ? std::string(name)
                                  : fmt::format("{}@{}", name, network);
}

void MachineSampler::Network(ino_t network, std::string_view text) {
  ParseNetDev(text, interfaces_);
  for (const NetStat& net : interfaces_) {
    const std::string label = LabelOf(network, net.name);
    Put("net_rx_bytes", label, net.rx_bytes, network);
    Put("net_tx_bytes", label, net.tx_bytes, network);
    Put("net_rx_packets", label, net.rx_packets, network);
    Put("net_tx_packets", label, net.tx_packets, network);
  }
}

void MachineSampler::PressureOf(std::string_view text, SeriesName some,
                                std::optional<SeriesName> full) {
  const Pressure pressure = ParsePressure(text);
  Put(some, "", pressure.some_ns);
  if (full) Put(*full, "", pressure.full_ns);
}

}  // namespace sonde

#include "collect/machine_sampler.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/time.h"

namespace sonde {
namespace {

int64_t NsPerTick() {
  static const int64_t ns = kNsPerSec / std::max(1L, ::sysconf(_SC_CLK_TCK));
  return ns;
}

constexpr const char* kCoreCounters[] = {
    "cpu_user_ns",   "cpu_nice_ns", "cpu_system_ns", "cpu_idle_ns",
    "cpu_iowait_ns", "cpu_irq_ns",  "cpu_steal_ns"};

// "net:[4026531840]"; empty if it cannot be read.
std::string NetNamespace(const std::string& process) {
  char name[64];
  const ssize_t length =
      ::readlink(("/proc/" + process + "/ns/net").c_str(), name, sizeof(name));
  return length > 0 ? std::string(name, static_cast<size_t>(length)) : "";
}

}  // namespace

uint32_t MachineSampler::Find(const char* name, std::string_view label,
                              const char* unit, Series::Kind kind,
                              Series::Type type) {
  const auto [at, fresh] =
      series_.try_emplace(Key{name, std::string(label)}, 0u);
  if (fresh) {
    Series row;
    row.group = group_;
    row.scope = Series::Scope::kMachine;
    row.name = out_.Intern(name);
    row.label = out_.Intern(label);
    row.unit = out_.Intern(unit);
    row.kind = kind;
    row.type = type;
    at->second = out_.AddSeries(row);
  }
  return at->second;
}

void MachineSampler::Total(const char* name, std::string_view label,
                           const char* unit, uint64_t value) {
  out_.Set(Find(name, label, unit, Series::Kind::kTotal, Series::Type::kInt),
           static_cast<int64_t>(value));
}

void MachineSampler::Gauge(const char* name, const char* unit,
                           std::optional<uint64_t> value) {
  if (!value) return;
  out_.Set(Find(name, "", unit, Series::Kind::kGauge, Series::Type::kInt),
           static_cast<int64_t>(*value));
}

void MachineSampler::Tick(FdBudget& budget, pid_t target) {
  // A group exists once it has a series.
  if (series_.empty())
    Find("procs_running", "", "1", Series::Kind::kGauge, Series::Type::kInt);
  const int64_t now_ns = NowNs();
  const bool seldom = now_ns >= next_load_ns_;
  if (seldom) next_load_ns_ = now_ns + kNsPerSec - 50 * kNsPerMs;
  out_.BeginTick(group_, now_ns);
  Cores(stat_.Read("/proc/stat", budget, buffer_));
  Memory(meminfo_.Read("/proc/meminfo", budget, buffer_));
  if (!no_disks_) Disks(diskstats_.Read("/proc/diskstats", budget, buffer_));
  if (seldom && target != 0) FindNetwork(budget, target);
  if (!no_net_) Network(budget);
  if (!no_pressure_) {
    const std::string_view cpu =
        pressure_cpu_.Read("/proc/pressure/cpu", budget, buffer_);
    no_pressure_ = cpu.empty();
    // The whole machine never waits for its CPUs as a whole: no "full".
    PressureOf(cpu, "psi_cpu_some_ns", nullptr);
    if (!no_pressure_) {
      PressureOf(pressure_io_.Read("/proc/pressure/io", budget, buffer_),
                 "psi_io_some_ns", "psi_io_full_ns");
      PressureOf(
          pressure_memory_.Read("/proc/pressure/memory", budget, buffer_),
          "psi_memory_some_ns", "psi_memory_full_ns");
    }
  }
  if (seldom) {
    if (const auto load =
            ParseLoad1(load_.Read("/proc/loadavg", budget, buffer_)))
      out_.SetDouble(
          Find("load1", "", "1", Series::Kind::kGauge, Series::Type::kDouble),
          *load);
  }
  out_.EndTick();
}

void MachineSampler::Cores(std::string_view text) {
  ParseMachineStat(text, machine_);
  for (const MachineStat::Core& core : machine_.cores) {
    if (core_series_.size() <= core.number)
      core_series_.resize(core.number + 1);
    auto& ids = core_series_[core.number];
    if (ids.empty())
      for (const char* const name : kCoreCounters)
        ids.push_back(Find(name, std::to_string(core.number), "ns",
                           Series::Kind::kTotal, Series::Type::kInt));
    const uint64_t values[] = {core.user,   core.nice, core.system, core.idle,
                               core.iowait, core.irq,  core.steal};
    for (size_t i = 0; i < std::size(values); ++i)
      out_.Set(ids[i], static_cast<int64_t>(
                           values[i] * static_cast<uint64_t>(NsPerTick())));
  }
  if (machine_.context_switches)
    Total("context_switches", "", "1", *machine_.context_switches);
  Gauge("procs_running", "1", machine_.running);
  Gauge("procs_blocked", "1", machine_.blocked);
}

void MachineSampler::Memory(std::string_view text) {
  const MemInfo memory = ParseMemInfo(text);
  Gauge("mem_total_bytes", "bytes", memory.total);
  Gauge("mem_free_bytes", "bytes", memory.free);
  Gauge("mem_available_bytes", "bytes", memory.available);
  Gauge("mem_cached_bytes", "bytes", memory.cached);
  Gauge("swap_total_bytes", "bytes", memory.swap_total);
  Gauge("swap_free_bytes", "bytes", memory.swap_free);
}

void MachineSampler::Disks(std::string_view text) {
  no_disks_ = text.empty();
  ParseDiskStats(text, disks_);
  for (const DiskStat& disk : disks_) {
    Total("disk_read_bytes", disk.name, "bytes", disk.read_bytes);
    Total("disk_write_bytes", disk.name, "bytes", disk.write_bytes);
    Total("disk_reads", disk.name, "1", disk.reads);
    Total("disk_writes", disk.name, "1", disk.writes);
    Total("disk_busy_ns", disk.name, "ns", disk.busy_ns);
  }
}

void MachineSampler::FindNetwork(FdBudget& budget, pid_t target) {
  const std::string process = std::to_string(target);
  std::string found = NetNamespace(process);
  if (found.empty()) return;
  if (found == NetNamespace("self")) found.clear();
  if (found == net_namespace_) return;
  net_path_ = found.empty() ? "/proc/net/dev" : "/proc/" + process + "/net/dev";
  net_namespace_ = std::move(found);
  net_.Close(budget);
  no_net_ = false;
  // Its interfaces may have the names of ours, but count from elsewhere.
  for (auto at = series_.begin(); at != series_.end();) {
    if (!std::string_view(at->first.name).starts_with("net_")) {
      ++at;
      continue;
    }
    out_.Gone(at->second);
    at = series_.erase(at);
  }
}

void MachineSampler::Network(FdBudget& budget) {
  const std::string_view text = net_.Read(net_path_.c_str(), budget, buffer_);
  // A namespace ends with its processes; that is no lack of ours.
  no_net_ = text.empty() && net_namespace_.empty();
  ParseNetDev(text, interfaces_);
  for (const NetStat& net : interfaces_) {
    Total("net_rx_bytes", net.name, "bytes", net.rx_bytes);
    Total("net_tx_bytes", net.name, "bytes", net.tx_bytes);
    Total("net_rx_packets", net.name, "1", net.rx_packets);
    Total("net_tx_packets", net.name, "1", net.tx_packets);
  }
}

void MachineSampler::PressureOf(std::string_view text, const char* some,
                                const char* full) {
  const Pressure pressure = ParsePressure(text);
  if (pressure.some_ns) Total(some, "", "ns", *pressure.some_ns);
  if (pressure.full_ns && full != nullptr)
    Total(full, "", "ns", *pressure.full_ns);
}

std::vector<NotCollected> MachineSampler::not_collected() const {
  std::vector<NotCollected> out;
  if (no_pressure_)
    out.push_back({"pressure (PSI)", "/proc/pressure cannot be read",
                   "boot with psi=1 on the kernel's command line"});
  if (no_disks_) out.push_back({"disks", "/proc/diskstats cannot be read", ""});
  if (no_net_) out.push_back({"network", "/proc/net/dev cannot be read", ""});
  return out;
}

}  // namespace sonde

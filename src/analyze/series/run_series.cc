#include "analyze/series/run_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "analyze/series/cgroup_sums.h"

namespace sonde {
namespace {

constexpr auto kProcess = Series::Scope::kProcess;
constexpr auto kThread = Series::Scope::kThread;
constexpr auto kMachine = Series::Scope::kMachine;
constexpr auto kDevice = Series::Scope::kDevice;

constexpr std::string_view kDiskBusy = "disk_busy_ns";
constexpr size_t kMaxDisks = 64;

const std::vector<CounterSum>& FixedSources() {
  static const std::vector<CounterSum> sources = {
      {"tree_system", "cores", kProcess, "cpu_system_ns", 1},
      {"tree_wait", "cores", kThread, "wait_ns", 1},
      {"tree_switched", "1/s", kProcess, "involuntary_switches", 1e9},
      {"tree_read", "bytes/s", kProcess, "read_bytes", 1e9},
      {"tree_write", "bytes/s", kProcess, "write_bytes", 1e9},
      {"tree_read_calls", "1/s", kProcess, "read_calls", 1e9},
      {"tree_read_chars", "bytes/s", kProcess, "read_chars", 1e9},
      {"tree_blocked", "1", kProcess, "blocked_ns", 1},
      {"tree_sync", "1", kProcess, "sync_ns", 1},
      {"tree_faults", "1/s", kProcess, "major_faults", 1e9},
      {"tree_memory", "bytes", kProcess, "rss_bytes", 1},
      {"tree_file_memory", "bytes", kProcess, "rss_file_bytes", 1},
      {"disk_read", "bytes/s", kMachine, "disk_read_bytes", 1e9},
      {"disk_write", "bytes/s", kMachine, "disk_write_bytes", 1e9},
      {"disk_busy", "share", kMachine, kDiskBusy, 1},
      {"net_receive", "bytes/s", kMachine, "net_rx_bytes", 1e9, {}, {}, true},
      {"net_send", "bytes/s", kMachine, "net_tx_bytes", 1e9, {}, {}, true},
      {"psi_cpu", "share", kMachine, "psi_cpu_some_ns", 1},
      {"psi_io", "share", kMachine, "psi_io_some_ns", 1},
      {"psi_memory", "share", kMachine, "psi_memory_some_ns", 1},
      {"running", "1", kMachine, "procs_running", 1},
      {"swap_free", "bytes", kMachine, "swap_free_bytes", 1}};
  return sources;
}

// What is read of each accelerator.
struct DeviceCounter {
  const char* name;
  const char* unit;
  const char* counter;
  double scale;
  uint32_t bits = 0;
};
constexpr std::array kDeviceCounters = {
    DeviceCounter{"busy", "share", "gpu_busy_pct", 0.01},
    DeviceCounter{"memory_busy", "share", "gpu_mem_busy_pct", 0.01},
    DeviceCounter{"memory", "bytes", "gpu_mem_used_bytes", 1},
    DeviceCounter{"memory_total", "bytes", "gpu_mem_total_bytes", 1},
    DeviceCounter{"clock", "MHz", "gpu_clock_mhz", 1},
    DeviceCounter{"power", "W", "gpu_power_w", 1},
    DeviceCounter{"temperature", "C", "gpu_temp_c", 1},
    DeviceCounter{"throttle", "share", "gpu_throttle", 1, ~0u},
    DeviceCounter{"throttle_power", "share", "gpu_throttle", 1, 1},
    DeviceCounter{"throttle_heat", "share", "gpu_throttle", 1, 2}};
constexpr uint32_t kMaxDevices = 256;

// One for each disk: the busiest counts.
void PutDisks(const Store& store, const CounterSum& each,
              std::vector<CounterSum>& out) {
  std::set<std::string> disks;
  for (const Series* const row : store.Sampled(kMachine, each.counter))
    if (disks.size() < kMaxDisks) disks.emplace(store.Str(row->label));
  for (const std::string& disk : disks) {
    out.push_back(each);
    out.back().label = disk;
  }
}

// The fixed ones, then those of the cgroups and devices that this trace has.
std::vector<CounterSum> SourcesOf(const Store& store, bool fine) {
  std::vector<CounterSum> out;
  if (fine) out.push_back({"tree_cpu", "cores", kProcess, "cpu_ns", 1});
  for (const CounterSum& one : FixedSources())
    if (one.counter == kDiskBusy)
      PutDisks(store, one, out);
    else
      out.push_back(one);
  for (CounterSum& one : CgroupSums(store)) out.push_back(std::move(one));
  std::set<uint32_t> devices;
  for (const auto& [id, row] : store.series())
    if (!store.OfProgram(row) && row.scope == kDevice &&
        row.scope_id < kMaxDevices)
      devices.insert(row.scope_id);
  for (const uint32_t device : devices)
    for (const DeviceCounter& one : kDeviceCounters)
      out.push_back({fmt::format("gpu{}_{}", device, one.name), one.unit,
                     kDevice, one.counter, one.scale, device, std::nullopt,
                     false, one.bits});
  return out;
}

// From the windows that the rules judge, and those before them.
std::vector<RegularSeries> CpuSeries(const std::vector<CpuWindow>& windows,
                                     const Grid& grid) {
  WindowMeans tree(grid), thread(grid), machine(grid), iowait(grid);
  for (const CpuWindow& w : windows) {
    const double ns = static_cast<double>(Elapsed(w.from_ns, w.to_ns));
    const auto put = [&](WindowMeans& to, double cores) {
      to.Add(w.from_ns, w.to_ns, cores * ns);
      to.Cover(w.from_ns, w.to_ns);
    };
    if (w.known) {
      put(tree, w.tree_cores);
      put(thread, w.thread_cores);
    }
    if (w.machine_known) {
      put(machine, w.busy_cores);
      put(iowait, w.iowait_cores);
    }
  }
  std::vector<RegularSeries> out;
  out.push_back(tree.Take("tree_cpu", "cores", 1));
  out.push_back(thread.Take("busiest_thread", "cores", 1));
  out.push_back(machine.Take("machine_cpu", "cores", 1));
  out.push_back(iowait.Take("iowait", "cores", 1));
  return out;
}

// What was collected; those of one name become one.
void Put(RegularSeries& series, RunSeries& run) {
  if (series.KnownCount() == 0) return;
  if (!run.all.empty() && run.all.back().name == series.name)
    Join(run.all.back(), series);
  else
    run.all.push_back(std::move(series));
}

}  // namespace

const RegularSeries* RunSeries::Find(std::string_view name) const {
  for (const RegularSeries& series : all)
    if (series.name == name) return &series;
  return nullptr;
}

RunSeriesReader::RunSeriesReader(const Store& store, const RunSpan& run,
                                 const Grid& grid, bool fine)
    : grid_(grid),
      sources_(SourcesOf(store, fine)),
      sums_(store, run, grid, sources_) {}

void RunSeriesReader::Join(CounterReplay& replay) { sums_.Join(replay); }

RunSeries RunSeriesReader::Take(const std::vector<CpuWindow>& windows) {
  RunSeries out;
  out.grid = grid_;
  std::vector<RegularSeries> cpu = CpuSeries(windows, grid_);
  std::vector<RegularSeries> sums = sums_.Take();
  // In the order of the header: what the tree used, then the machine.
  const auto of_tree = [&](size_t i) {
    return sources_[i].scope == kProcess || sources_[i].scope == kThread;
  };
  Put(cpu[0], out);
  Put(cpu[1], out);
  for (size_t i = 0; i < sums.size(); ++i)
    if (of_tree(i)) Put(sums[i], out);
  Put(cpu[2], out);
  Put(cpu[3], out);
  for (size_t i = 0; i < sums.size(); ++i)
    if (!of_tree(i)) Put(sums[i], out);
  return out;
}

RegularSeries ComputingOf(const RunSeries& series) {
  const RegularSeries* const cpu = series.Find("tree_cpu");
  const RegularSeries* const system = series.Find("tree_system");
  RegularSeries out = cpu != nullptr ? *cpu : RegularSeries();
  for (size_t i = 0; system != nullptr && i < out.size(); ++i)
    if (system->known[i])
      out.values[i] = std::max(0.0, out.values[i] - system->values[i]);
  return out;
}

}  // namespace sonde

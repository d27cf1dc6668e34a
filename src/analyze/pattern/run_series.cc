#include "analyze/pattern/run_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "analyze/scan.h"
#include "base/time.h"

namespace sonde {
namespace {

// Ids are dense in what we write; a file that says otherwise is not followed.
constexpr uint32_t kMaxSeries = 1u << 24;
// Ticks further apart than this, and than five of their usual distances, leave
// a gap: collection was paused, or lost.
constexpr int64_t kMaxGapNs = kNsPerSec;
constexpr double kMaxGapTicks = 5;

// A series of the run, and the counters that it is the sum of.
struct Counters {
  std::string name;
  const char* unit;
  Series::Scope scope;
  std::string_view counter;
  double scale;         // from one unit of the counter per nanosecond
  uint32_t device = 0;  // of scope kDevice
};
constexpr auto kProcess = Series::Scope::kProcess;
constexpr auto kThread = Series::Scope::kThread;
constexpr auto kMachine = Series::Scope::kMachine;
constexpr auto kDevice = Series::Scope::kDevice;
const std::vector<Counters>& FixedSources() {
  static const std::vector<Counters> sources = {
      {"tree_system", "cores", kProcess, "cpu_system_ns", 1},
      {"tree_wait", "cores", kThread, "wait_ns", 1},
      {"tree_switched", "1/s", kProcess, "involuntary_switches", 1e9},
      {"tree_read", "bytes/s", kProcess, "read_bytes", 1e9},
      {"tree_write", "bytes/s", kProcess, "write_bytes", 1e9},
      {"tree_read_calls", "1/s", kProcess, "read_calls", 1e9},
      {"tree_read_chars", "bytes/s", kProcess, "read_chars", 1e9},
      {"tree_faults", "1/s", kProcess, "major_faults", 1e9},
      {"tree_memory", "bytes", kProcess, "rss_bytes", 1},
      {"disk_read", "bytes/s", kMachine, "disk_read_bytes", 1e9},
      {"disk_write", "bytes/s", kMachine, "disk_write_bytes", 1e9},
      {"disk_busy", "share", kMachine, "disk_busy_ns", 1},
      {"net_receive", "bytes/s", kMachine, "net_rx_bytes", 1e9},
      {"net_send", "bytes/s", kMachine, "net_tx_bytes", 1e9},
      {"psi_cpu", "share", kMachine, "psi_cpu_some_ns", 1},
      {"psi_io", "share", kMachine, "psi_io_some_ns", 1},
      {"psi_memory", "share", kMachine, "psi_memory_some_ns", 1},
      {"running", "1", kMachine, "procs_running", 1},
      {"swap_free", "bytes", kMachine, "swap_free_bytes", 1},
      {"cgroup_throttled", "share", kMachine, "cgroup_cpu_throttled_ns", 1},
      {"cgroup_memory", "bytes", kMachine, "cgroup_memory_bytes", 1},
      {"cgroup_psi_io", "share", kMachine, "cgroup_psi_io_some_ns", 1}};
  return sources;
}

// What is read of each accelerator.
struct DeviceCounter {
  const char* name;
  const char* unit;
  const char* counter;
  double scale;
};
constexpr std::array kDeviceCounters = {
    DeviceCounter{"busy", "share", "gpu_busy_pct", 0.01},
    DeviceCounter{"memory_busy", "share", "gpu_mem_busy_pct", 0.01},
    DeviceCounter{"memory", "bytes", "gpu_mem_used_bytes", 1},
    DeviceCounter{"memory_total", "bytes", "gpu_mem_total_bytes", 1},
    DeviceCounter{"clock", "MHz", "gpu_clock_mhz", 1},
    DeviceCounter{"power", "W", "gpu_power_w", 1},
    DeviceCounter{"temperature", "C", "gpu_temp_c", 1},
    DeviceCounter{"throttle", "1", "gpu_throttle", 1}};
constexpr uint32_t kMaxDevices = 256;

// The fixed ones, then those of the devices that this trace has.
std::vector<Counters> SourcesOf(const Store& store) {
  std::vector<Counters> out = FixedSources();
  std::set<uint32_t> devices;
  for (const auto& [id, row] : store.series())
    if (row.scope == kDevice && row.scope_id < kMaxDevices)
      devices.insert(row.scope_id);
  for (const uint32_t device : devices)
    for (const DeviceCounter& one : kDeviceCounters)
      out.push_back({fmt::format("gpu{}_{}", device, one.name), one.unit,
                     kDevice, one.counter, one.scale, device});
  return out;
}

// Reads counters in one pass and sums them by source.
class CounterPass {
 public:
  CounterPass(const Facts& facts, const Grid& grid,
              const std::vector<Counters>& sources)
      : store_(*facts.store),
        facts_(facts),
        grid_(grid),
        sources_(sources),
        means_(sources.size(), WindowMeans(grid)) {}

  // By source.
  std::vector<RegularSeries> Run() {
    Prepare();
    CounterTicks ticks;
    for (const FrameRef& chunk : store_.counter_chunks()) {
      const auto group = groups_.find(chunk.counters.group);
      // A little beyond both ends: what values grow from, and up to where.
      if (group == groups_.end() ||
          Elapsed(chunk.counters.end_ns, grid_.begin_ns) >
              group->second.max_gap_ns ||
          Elapsed(grid_.end_ns, chunk.counters.begin_ns) >
              group->second.max_gap_ns ||
          !store_.ReadTicks(chunk, ticks))
        continue;
      TakeChunk(group->second, chunk.counters.first_ordinal, ticks);
    }
    std::vector<RegularSeries> out;
    for (size_t i = 0; i < sources_.size(); ++i)
      out.push_back(means_[i].Take(sources_[i].name, sources_[i].unit,
                                   sources_[i].scale));
    return out;
  }

 private:
  // What is known of one counter while its values go by.
  struct Follower {
    std::optional<size_t> of;  // which source
    size_t source = 0;
    Series::Kind kind = Series::Kind::kTotal;
    Series::Type type = Series::Type::kInt;
    int64_t born_ns = kNoTime;  // its total was 0 then; kNoTime: not known
    bool live = false;          // it has a value
    double value = 0;
  };
  // Series that are sampled at the same ticks.
  struct Group {
    int64_t max_gap_ns = kMaxGapNs;
    bool begun = false;
    int64_t last_ns = 0;
    uint64_t next_ordinal = 0;
    std::vector<uint32_t> followers;
    // By source: how many counters have a value, and the sum of the gauges.
    std::vector<uint32_t> live;
    std::vector<double> gauges;
    std::vector<double> grown;  // since the last tick
  };

  std::optional<size_t> SourceOf(const Series& row) const {
    const std::string_view counter = store_.Str(row.name);
    // What should grow and does not is something else of the same name.
    const bool grows =
        counter.ends_with("_ns") || row.kind == Series::Kind::kTotal;
    for (size_t i = 0; i < sources_.size(); ++i)
      if (sources_[i].scope == row.scope && sources_[i].counter == counter &&
          (grows || sources_[i].scale != 1e9) &&
          (row.scope != kDevice || sources_[i].device == row.scope_id))
        return i;
    return std::nullopt;
  }

  void Prepare() {
    for (const auto& [id, row] : store_.series()) {
      const auto source = SourceOf(row);
      if (!source || id >= kMaxSeries) continue;
      if (id >= followers_.size()) followers_.resize(id + 1);
      Follower& f = followers_[id];
      f.of = source;
      f.source = *source;
      f.kind = row.kind;
      f.type = row.type;
      if (row.scope == kProcess) {
        const auto process = store_.processes().find(row.scope_id);
        if (process != store_.processes().end() &&
            BornInRun(process->second.start_ns, facts_.run))
          f.born_ns = process->second.start_ns;
      }
      groups_[row.group].followers.push_back(id);
    }
    for (auto& [id, group] : groups_) {
      group.live.resize(sources_.size());
      group.gauges.resize(sources_.size());
      group.grown.resize(sources_.size());
      double span_ns = 0, ticks = 0;
      for (const FrameRef& chunk : store_.counter_chunks()) {
        if (chunk.counters.group != id || chunk.counters.ticks < 2) continue;
        span_ns += static_cast<double>(
            Elapsed(chunk.counters.begin_ns, chunk.counters.end_ns));
        ticks += chunk.counters.ticks - 1;
      }
      if (ticks > 0)
        group.max_gap_ns = std::max(
            kMaxGapNs, static_cast<int64_t>(std::min(
                           kMaxGapTicks * span_ns / ticks, kMaxValue)));
    }
  }

  void TakeChunk(Group& group, uint64_t first_ordinal,
                 const CounterTicks& ticks) {
    // Chunks between were lost or not wanted: nobody knows who ended there. The
    // first tick of a chunk names all that live.
    if (first_ordinal != group.next_ordinal) Forget(group);
    group.next_ordinal = first_ordinal + ticks.size();
    size_t change = 0, gone = 0;
    for (size_t tick = 0; tick < ticks.size(); ++tick) {
      const int64_t now = ticks.time_ns[tick];
      // What the gauges were holds until now.
      CloseGauges(group, now);
      for (; change < ticks.changed_end[tick]; ++change)
        TakeValue(group, ticks.changes[change], now);
      CloseTotals(group, now);
      for (; gone < ticks.gone_end[tick]; ++gone) End(group, ticks.gone[gone]);
      if (!group.begun || now > group.last_ns) group.last_ns = now;
      group.begun = true;
    }
  }

  // Time since the last tick; 0 if there is a gap between.
  int64_t Since(const Group& group, int64_t now) const {
    const int64_t elapsed = group.begun ? Elapsed(group.last_ns, now) : 0;
    return elapsed <= group.max_gap_ns ? elapsed : 0;
  }

  void CloseGauges(Group& group, int64_t now) {
    const int64_t elapsed = Since(group, now);
    if (elapsed == 0) return;
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (group.live[i] == 0) continue;
      means_[i].Cover(group.last_ns, now);
      if (group.gauges[i] != 0)
        means_[i].Add(group.last_ns, now,
                      group.gauges[i] * static_cast<double>(elapsed));
    }
  }

  void CloseTotals(Group& group, int64_t now) {
    const bool continues = Since(group, now) > 0;
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (group.grown[i] == 0) continue;
      if (continues) means_[i].Add(group.last_ns, now, group.grown[i]);
      group.grown[i] = 0;
    }
  }

  Follower* Find(uint32_t id) {
    return id < followers_.size() && followers_[id].of ? &followers_[id]
                                                       : nullptr;
  }

  void TakeValue(Group& group, const CounterTicks::Change& change,
                 int64_t now) {
    Follower* const f = Find(change.series);
    if (f == nullptr) return;
    const double value = ValueAsDouble(change.value, f->type);
    // NaN fails both comparisons.
    if (!(value >= 0 && value <= kMaxValue)) return;
    const bool total = f->kind == Series::Kind::kTotal;
    if (!f->live) {
      ++group.live[f->source];
      // Read soon after its birth: it all happened since. Later nobody knows
      // when.
      const int64_t age = Elapsed(f->born_ns, now);
      if (total && age > 0 && age <= group.max_gap_ns)
        means_[f->source].Add(f->born_ns, now, value);
    } else if (total && value > f->value) {
      group.grown[f->source] += value - f->value;
    }
    if (!total) group.gauges[f->source] += value - (f->live ? f->value : 0);
    f->live = true;
    f->value = value;
  }

  void End(Group& group, uint32_t id) {
    Follower* const f = Find(id);
    if (f == nullptr || !f->live) return;
    f->live = false;
    if (f->kind == Series::Kind::kGauge) group.gauges[f->source] -= f->value;
    // The tree may have ended, or may go on without a disk: what is left of the
    // sum is 0, which is known as long as others of its group are sampled.
    const Series::Scope scope = sources_[f->source].scope;
    if (scope == kMachine || scope == kDevice) --group.live[f->source];
  }

  void Forget(Group& group) {
    group.begun = false;
    std::fill(group.live.begin(), group.live.end(), 0);
    std::fill(group.gauges.begin(), group.gauges.end(), 0);
    for (const uint32_t id : group.followers) followers_[id].live = false;
  }

  const Store& store_;
  const Facts& facts_;
  Grid grid_;
  const std::vector<Counters>& sources_;
  std::vector<WindowMeans> means_;
  std::vector<Follower> followers_;  // by series id
  std::map<uint32_t, Group> groups_;
};

// From what the rules judge.
std::vector<RegularSeries> CpuSeries(const Facts& facts, const Grid& grid) {
  WindowMeans tree(grid), thread(grid), machine(grid), iowait(grid);
  for (const CpuWindow& w : facts.windows) {
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

}  // namespace

namespace {

// How busy the accelerators are together.
void AddAccelerator(RunSeries& run) {
  RegularSeries sum;
  std::vector<uint32_t> counts(run.grid.size());
  for (const RegularSeries& series : run.all) {
    if (!series.name.starts_with("gpu") || !series.name.ends_with("_busy") ||
        series.name.ends_with("_memory_busy"))
      continue;
    if (sum.values.empty()) sum.values.resize(series.size());
    for (size_t i = 0; i < series.size(); ++i)
      if (series.known[i]) {
        sum.values[i] += series.values[i];
        ++counts[i];
      }
  }
  if (sum.values.empty()) return;
  sum.name = "accelerator";
  sum.unit = "share";
  sum.grid = run.grid;
  sum.known.resize(sum.values.size());
  for (size_t i = 0; i < sum.values.size(); ++i) {
    sum.known[i] = counts[i] > 0;
    if (counts[i] > 0) sum.values[i] /= counts[i];
  }
  run.all.push_back(std::move(sum));
}

}  // namespace

const RegularSeries* RunSeries::Find(std::string_view name) const {
  for (const RegularSeries& series : all)
    if (series.name == name) return &series;
  return nullptr;
}

RunSeries RunSeriesOf(const Facts& facts, TimeRange range, size_t max_windows) {
  RunSeries out;
  const int64_t width =
      facts.windows.empty()
          ? 1
          : Elapsed(facts.windows[0].from_ns, facts.windows[0].to_ns);
  out.grid =
      Grid::Over(std::max(range.begin_ns, facts.run.begin_ns),
                 std::min(range.end_ns, facts.run.end_ns), width, max_windows);
  if (out.grid.size() == 0) return out;
  std::vector<RegularSeries> cpu = CpuSeries(facts, out.grid);
  const std::vector<Counters> sources = SourcesOf(*facts.store);
  std::vector<RegularSeries> others =
      CounterPass(facts, out.grid, sources).Run();
  const auto put = [&](RegularSeries& series) {
    if (series.KnownCount() > 0) out.all.push_back(std::move(series));
  };
  // In the order of the header: what the tree used, then the machine.
  put(cpu[0]);
  put(cpu[1]);
  for (size_t i = 0; i < others.size(); ++i) {
    if (sources[i].scope == kMachine && i > 0 &&
        sources[i - 1].scope == kProcess) {
      put(cpu[2]);
      put(cpu[3]);
    }
    put(others[i]);
  }
  AddAccelerator(out);
  return out;
}

PatternContext ContextOf(const Facts& facts, const RegularSeries& series) {
  PatternContext out;
  if (series.name == "tree_cpu") {
    out.full_scale = facts.run.capacity_cores;
    out.limit = facts.run.cpu_limit_cores;
    out.one_core = 1;
  } else if (series.name == "busiest_thread") {
    out.full_scale = 1;
  } else if (series.name == "machine_cpu" || series.name == "iowait") {
    if (facts.machine.cores > 0) out.full_scale = facts.machine.cores;
  } else if (series.unit == "share") {
    out.full_scale = 1;
  }
  return out;
}

}  // namespace sonde

#include "analyze/facts/facts.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "analyze/series/counter_scan.h"
#include "analyze/series/run_series.h"

namespace sonde {
namespace {

// What is known for less of the run is not said of the run.
constexpr double kMinCovered = 0.5;
// CPU times that are known for less of the run are of that part.
constexpr double kWholeRun = 0.95;
// The kernel counts a core's time in steps, and a process's on its own clock.
constexpr double kJiffyNs = 1e7;
constexpr double kAccountSlack = 0.05;  // cores, and share of a core

MaybeNs AsNs(double value) {
  if (!(value >= 0 && value <= kMaxValue)) return std::nullopt;
  return static_cast<int64_t>(std::llround(value));
}

int64_t Add(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_add_overflow(a, b, &out) ? INT64_MAX : out;
}

void AddTo(MaybeNs& sum, const MaybeNs& part) {
  if (part) sum = Add(sum.value_or(0), *part);
}

MaybeNumber Ratio(const MaybeNs& part, double whole) {
  if (!part || !(whole > 0)) return std::nullopt;
  return static_cast<double>(*part) / whole;
}

// Most first, the unknown last.
bool More(const MaybeNs& a, const MaybeNs& b) {
  return a.value_or(-1) > b.value_or(-1);
}

// Builds the facts in the order they need each other.
class Builder {
 public:
  explicit Builder(std::shared_ptr<const Store> store)
      : store_(*store), run_(facts_.run) {
    facts_.store = std::move(store);
  }

  Facts Build(const AlsoRead& also) {
    FindRun();
    events_ = SessionEventsOf(store_);
    FindJudgedFrom();
    ReadCounters(also);
    FindSessionEvents();
    FindCovered();
    FindProcesses();
    FindTotals();
    SpreadUnattributed();
    FindMachine();
    FindJudged();
    facts_.cgroups = CgroupsOf(store_, scan_);
    facts_.neighbours = NeighboursOf(store_);
    facts_.said = AnnotationsOf(store_);
    facts_.code = CodeOf(store_);
    FindOverhead();
    FindSeries();
    return std::move(facts_);
  }

 private:
  void FindRun() {
    const auto root = store_.processes().find(1);
    const bool has_root = root != store_.processes().end();
    const TimeRange range = store_.range();
    run_.begin_ns = range.begin_ns;
    run_.end_ns = range.end_ns;
    if (const MaybeNs ns = MetaNs(store_, "started_ns"))
      run_.begin_ns = *ns;
    else if (has_root && root->second.start_ns != kNoTime)
      run_.begin_ns = root->second.start_ns;
    if (const MaybeNs ns = MetaNs(store_, "ended_ns"))
      run_.end_ns = *ns;
    else if (has_root && root->second.end_ns != kNoTime)
      run_.end_ns = root->second.end_ns;
    // Sums of times have to stay times.
    constexpr int64_t kMaxTimeNs = INT64_MAX / 4;
    if (run_.begin_ns < -kMaxTimeNs || run_.end_ns > kMaxTimeNs)
      run_.begin_ns = run_.end_ns = 0;
    run_.wall_ns = Elapsed(run_.begin_ns, run_.end_ns);
    if (static_cast<double>(run_.wall_ns) > kMaxValue) run_.wall_ns = 0;
    run_.end_ns = Add(run_.begin_ns, run_.wall_ns);

    run_.watched = !store_.Meta("watched").empty();
    run_.delay_ns = MetaNs(store_, "delay_ns");
    run_.steady_ns = MetaNs(store_, "steady_ns");
    run_.cores = MetaNumber(store_, "cores");
    run_.allowed_cores = MetaNumber(store_, "allowed_cores");
    run_.cpu_limit_cores = MetaNumber(store_, "cpu_limit_cores");
    run_.capacity_cores = run_.allowed_cores ? run_.allowed_cores : run_.cores;
    if (run_.cpu_limit_cores && *run_.cpu_limit_cores > 0 &&
        run_.capacity_cores)
      run_.capacity_cores =
          std::min(*run_.capacity_cores, *run_.cpu_limit_cores);
    if (run_.capacity_cores && !(*run_.capacity_cores > 0))
      run_.capacity_cores.reset();
  }

  // A delay is the pause that the recording began with, however it ended.
  void FindJudgedFrom() {
    run_.judged_from_ns = run_.steady_ns;
    if (run_.delay_ns && !events_.pauses.empty())
      run_.judged_from_ns =
          std::clamp(events_.pauses.front().end_ns, run_.begin_ns, run_.end_ns);
  }

  // All that is asked of the counters, in one replay.
  void ReadCounters(const AlsoRead& also) {
    const int64_t width_ns = WindowWidth(store_, run_);
    const Grid grid = Grid::Over(run_.begin_ns, run_.end_ns,
                                 std::min(width_ns, run_.wall_ns));
    CounterReplay replay(store_);
    Scanner scanner(store_, run_, width_ns);
    scanner.Join(replay);
    reader_.emplace(store_, run_, grid);
    reader_->Join(replay);
    if (also) also(run_, grid, replay);
    replay.Run();
    scan_ = scanner.Take();
    facts_.ticks = scan_.ticks;
    facts_.windows = std::move(scan_.windows);
  }

  void FindSeries() {
    RunSeries series = reader_->Take(facts_.windows);
    facts_.devices = DevicesOf(store_, series);
    PutAccelerator(facts_.devices, series, series);
    PutPeaks(scan_, facts_.devices);
    facts_.series = std::make_shared<RunSeries>(std::move(series));
  }

  void FindSessionEvents() {
    facts_.marks = std::move(events_.marks);
    for (const TimeRange& pause : events_.pauses) {
      const int64_t from = std::max(pause.begin_ns, run_.begin_ns);
      const int64_t to = std::min(pause.end_ns, run_.end_ns);
      run_.paused_ns = Add(run_.paused_ns, Elapsed(from, to));
      auto w = std::partition_point(
          facts_.windows.begin(), facts_.windows.end(),
          [&](const CpuWindow& window) { return window.to_ns <= from; });
      for (; w != facts_.windows.end() && w->from_ns < to; ++w)
        w->known = false;
    }
    run_.paused_ns = std::min(run_.paused_ns, run_.wall_ns);
    for (const CpuWindow& w : facts_.windows)
      if (w.known) run_.sampled_ns += Elapsed(w.from_ns, w.to_ns);
  }

  // From when to when the CPU times of processes are known. A command that
  // began in the recording counts from 0, whenever it was first read; what ran
  // already from its first value.
  void FindCovered() {
    cpu_from_ns_ = run_.begin_ns;
    cpu_to_ns_ = run_.end_ns;
    if (scan_.ticks == 0) return;
    int64_t from_ns = run_.begin_ns, to_ns = scan_.last_tick_ns;
    const std::map<uint32_t, Process>& processes = store_.processes();
    for (const auto& [number, row] : processes)
      if (row.cpu_ns >= 0 && row.end_ns != kNoTime)
        to_ns = std::max(to_ns, row.end_ns);
    if (!processes.empty() && !run_.Bore(processes.begin()->second.start_ns))
      from_ns = std::max(from_ns, scan_.first_tick_ns);
    to_ns = std::min(to_ns, run_.end_ns);
    if (static_cast<double>(Elapsed(from_ns, to_ns)) >=
        kWholeRun * static_cast<double>(run_.wall_ns))
      return;
    cpu_from_ns_ = from_ns;
    cpu_to_ns_ = to_ns;
  }

  int64_t WallOf(int64_t start_ns, int64_t end_ns) const {
    return Elapsed(
        std::max(start_ns == kNoTime ? run_.begin_ns : start_ns, run_.begin_ns),
        end_ns == kNoTime ? run_.end_ns : end_ns);
  }

  // CPU time by the part of a life that it is known of. One that counts from 0
  // may have begun a moment before the run.
  MaybeNumber CoresOf(const MaybeNs& cpu_ns, bool exact, int64_t start_ns,
                      int64_t end_ns) const {
    const int64_t from_ns = run_.Bore(start_ns) ? start_ns : cpu_from_ns_;
    int64_t to_ns = end_ns == kNoTime ? run_.end_ns : end_ns;
    if (!exact) to_ns = std::min(to_ns, cpu_to_ns_);
    return Ratio(cpu_ns, static_cast<double>(Elapsed(from_ns, to_ns)));
  }

  // A total's growth over a life: from 0 if it began in the recording, else
  // from the first value read.
  MaybeNumber Growth(Series::Scope scope, uint32_t id, const char* name,
                     bool born) const {
    const SeriesStat* stat = scan_.Find(scope, id, name);
    if (stat == nullptr) return std::nullopt;
    return std::max(0.0, stat->last - (born ? 0 : stat->first));
  }
  MaybeNs GrowthNs(Series::Scope scope, uint32_t id, const char* name,
                   bool born) const {
    const MaybeNumber growth = Growth(scope, id, name, born);
    return growth ? AsNs(*growth) : std::nullopt;
  }

  ThreadFacts ThreadOf(const Thread& row) const {
    constexpr auto kScope = Series::Scope::kThread;
    const bool born = run_.Bore(row.start_ns);
    ThreadFacts t;
    t.row = row;
    t.name = store_.Str(row.name);
    t.wall_ns = WallOf(row.start_ns, row.end_ns);
    t.cpu_ns = row.cpu_ns >= 0 ? AsNs(static_cast<double>(row.cpu_ns))
                               : GrowthNs(kScope, row.number, "cpu_ns", born);
    t.wait_ns = GrowthNs(kScope, row.number, "wait_ns", born);
    t.voluntary_switches =
        Growth(kScope, row.number, "voluntary_switches", born);
    t.involuntary_switches =
        Growth(kScope, row.number, "involuntary_switches", born);
    t.judged_wait_ns = t.wait_ns;
    const SeriesStat* const wait = scan_.Find(kScope, row.number, "wait_ns");
    if (wait != nullptr && wait->at_judged)
      t.judged_wait_ns = AsNs(std::max(0.0, wait->last - *wait->at_judged));
    t.cores_used = CoresOf(t.cpu_ns, row.cpu_ns >= 0, row.start_ns, row.end_ns);
    t.blocked_ns = GrowthNs(kScope, row.number, "blocked_ns", true);
    if (const SeriesStat* call = scan_.Find(kScope, row.number, "sleeps_in"))
      t.sleeps_in = call->last;
    return t;
  }

  ProcessFacts ProcessOf(const Process& row) const {
    constexpr auto kScope = Series::Scope::kProcess;
    const uint32_t id = row.number;
    const bool born = run_.Bore(row.start_ns);
    const auto growth = [&](const char* name) {
      return Growth(kScope, id, name, born);
    };
    ProcessFacts p;
    p.row = row;
    p.name = store_.Str(row.name);
    p.cmdline = store_.Str(row.cmdline);
    p.sampled = scan_.Find(kScope, id, "cpu_ns") != nullptr;
    p.wall_ns = WallOf(row.start_ns, row.end_ns);
    p.cpu_ns = row.cpu_ns >= 0 ? AsNs(static_cast<double>(row.cpu_ns))
                               : GrowthNs(kScope, id, "cpu_ns", born);
    p.cpu_exact = row.cpu_ns >= 0 && p.cpu_ns.has_value();
    p.user_ns = GrowthNs(kScope, id, "cpu_user_ns", born);
    p.system_ns = GrowthNs(kScope, id, "cpu_system_ns", born);
    p.cores_used = CoresOf(p.cpu_ns, p.cpu_exact, row.start_ns, row.end_ns);
    p.rss_peak_bytes = PeakOf(scan_.Find(kScope, id, "rss_bytes"));
    p.pss_peak_bytes = PeakOf(scan_.Find(kScope, id, "pss_bytes"));
    p.threads_peak = PeakOf(scan_.Find(kScope, id, "threads"));
    p.minor_faults = growth("minor_faults");
    p.major_faults = growth("major_faults");
    p.voluntary_switches = growth("voluntary_switches");
    p.involuntary_switches = growth("involuntary_switches");
    // The sampler counts them from 0 on, whenever the process began.
    p.blocked_ns = GrowthNs(kScope, id, "blocked_ns", true);
    p.sync_ns = GrowthNs(kScope, id, "sync_ns", true);
    p.io = {growth("read_bytes"), growth("write_bytes"),
            growth("read_chars"), growth("write_chars"),
            growth("read_calls"), growth("write_calls")};
    return p;
  }

  void FindProcesses() {
    std::map<std::string, ShortProcesses> groups;
    std::map<uint32_t, size_t> index;
    for (const auto& [number, row] : store_.processes()) {
      ProcessFacts p = ProcessOf(row);
      // The command itself is always shown on its own.
      if (p.sampled || number == 1) {
        index[number] = facts_.processes.size();
        facts_.processes.push_back(std::move(p));
        continue;
      }
      ShortProcesses& group = groups[p.name];
      group.name = p.name;
      ++group.count;
      group.cpu_unknown += p.cpu_ns ? 0 : 1;
      group.exit_unknown += row.exit == Process::Exit::kUnknown ? 1 : 0;
      group.failed += (row.exit == Process::Exit::kExited ||
                       row.exit == Process::Exit::kSignaled) &&
                              row.exit_code != 0
                          ? 1
                          : 0;
      group.wall_ns = Add(group.wall_ns, p.wall_ns);
      AddTo(group.cpu_ns, p.cpu_ns);
    }
    for (auto& [name, group] : groups)
      facts_.short_processes.push_back(std::move(group));
    for (const auto& [number, row] : store_.threads()) {
      const auto at = index.find(row.process);
      if (at != index.end())
        facts_.processes[at->second].threads.push_back(ThreadOf(row));
    }
  }

  void FindTotals() {
    MaybeNs sum;
    for (const ProcessFacts& p : facts_.processes) AddTo(sum, p.cpu_ns);
    for (const ShortProcesses& s : facts_.short_processes) AddTo(sum, s.cpu_ns);
    run_.cpu_ns = sum;
    run_.cpu_from = sum ? "processes" : "";
    run_.cpu_wall_ns = Elapsed(cpu_from_ns_, cpu_to_ns_);
    const MaybeNs tree = MetaNs(store_, "tree_cpu_ns");
    if (tree && *tree >= sum.value_or(0)) {
      run_.cpu_ns = tree;
      run_.cpu_from = "rusage";
      run_.cpu_wall_ns = run_.wall_ns;
    }
    if (run_.cpu_ns) run_.unattributed_cpu_ns = *run_.cpu_ns - sum.value_or(0);
    run_.cores_used = Ratio(run_.cpu_ns, static_cast<double>(run_.cpu_wall_ns));
    run_.max_rss_bytes = MetaNumber(store_, "max_rss_bytes");

    const double whole = static_cast<double>(run_.cpu_ns.value_or(0));
    const auto more_cpu = [](const auto& a, const auto& b) {
      return More(a.cpu_ns, b.cpu_ns);
    };
    for (ProcessFacts& p : facts_.processes) {
      p.cpu_share = Ratio(p.cpu_ns, whole);
      for (ThreadFacts& t : p.threads) t.cpu_share = Ratio(t.cpu_ns, whole);
      std::stable_sort(p.threads.begin(), p.threads.end(), more_cpu);
    }
    for (ShortProcesses& s : facts_.short_processes) {
      s.cpu_share = Ratio(s.cpu_ns, whole);
      s.cores_used = Ratio(s.cpu_ns, static_cast<double>(s.wall_ns));
    }
    std::stable_sort(facts_.processes.begin(), facts_.processes.end(),
                     more_cpu);
    std::stable_sort(facts_.short_processes.begin(),
                     facts_.short_processes.end(),
                     [](const ShortProcesses& a, const ShortProcesses& b) {
                       return a.cpu_ns == b.cpu_ns ? a.count > b.count
                                                   : More(a.cpu_ns, b.cpu_ns);
                     });
  }

  // CPU time of processes nobody could follow belongs to the run all the same.
  // When they ran is not known; evenly is the guess that favours no window.
  void SpreadUnattributed() {
    if (run_.unattributed_cpu_ns.value_or(0) <= 0 || run_.wall_ns == 0) return;
    const double cores = static_cast<double>(*run_.unattributed_cpu_ns) /
                         static_cast<double>(run_.wall_ns);
    for (CpuWindow& w : facts_.windows) w.tree_cores += cores;
  }

  // What was busy and not ours, of `wall_ns` of the run: in the windows that
  // have the flag, where both accounts are known.
  MaybeNumber OtherCores(int64_t wall_ns, bool CpuWindow::*flag) const {
    double known_ns = 0, busy = 0, tree = 0;
    for (const CpuWindow& w : facts_.windows) {
      if (!w.machine_known || !(w.*flag)) continue;
      const double ns = static_cast<double>(Elapsed(w.from_ns, w.to_ns));
      known_ns += ns;
      busy += w.busy_cores * ns;
      tree += w.tree_cores * ns;
    }
    if (!run_.cpu_ns || known_ns == 0 ||
        known_ns < kMinCovered * static_cast<double>(wall_ns))
      return std::nullopt;
    const double sonde = MetaNumber(store_, "overhead_cpu_ns").value_or(0) /
                         static_cast<double>(run_.wall_ns);
    const double other = (busy - tree) / known_ns - sonde;
    const double doubt = kAccountSlack * (1 + tree / known_ns) +
                         facts_.machine.cores * kJiffyNs / known_ns;
    if (other < -doubt) return std::nullopt;
    return std::max(0.0, other);
  }

  MaybeNumber GrowthOfOwnNetwork(std::string_view name) const {
    MaybeNumber out;
    for (const auto& [id, stat] : scan_.stats)
      if (const Series& row = store_.series().at(id);
          row.scope == Series::Scope::kMachine && stat.values > 0 &&
          store_.Str(row.name) == name && OfOwnNetwork(store_.Str(row.label)))
        out = out.value_or(0) + *GrowthOf(&stat);
    return out;
  }

  void FindMachine() {
    MachineFacts& m = facts_.machine;
    double known_ns = 0, busy = 0, iowait = 0, steal = 0;
    for (const CpuWindow& w : facts_.windows) {
      if (!w.machine_known) continue;
      const double ns = static_cast<double>(Elapsed(w.from_ns, w.to_ns));
      known_ns += ns;
      busy += w.busy_cores * ns;
      iowait += w.iowait_cores * ns;
      steal += w.steal_cores * ns;
    }
    constexpr auto kScope = Series::Scope::kMachine;
    m.cores =
        static_cast<uint32_t>(store_.Sampled(kScope, "cpu_idle_ns").size());
    if (known_ns > 0) {
      m.covered_ns = AsNs(known_ns);
      m.busy_cores = busy / known_ns;
      m.iowait_cores = iowait / known_ns;
      m.steal_cores = steal / known_ns;
    }
    m.other_cores = OtherCores(run_.wall_ns, &CpuWindow::known);
    const auto find = [&](const char* name) {
      return scan_.Find(kScope, 0, name);
    };
    m.mem_total_bytes = PeakOf(find("mem_total_bytes"));
    m.swap_total_bytes = PeakOf(find("swap_total_bytes"));
    const SeriesStat* const available = find("mem_available_bytes");
    const SeriesStat* const swap_free = find("swap_free_bytes");
    if (m.mem_total_bytes && available != nullptr)
      m.mem_peak_bytes = std::max(0.0, *m.mem_total_bytes - available->min);
    if (m.swap_total_bytes && swap_free != nullptr)
      m.swap_peak_bytes = std::max(0.0, *m.swap_total_bytes - swap_free->min);
    m.disk_read_bytes = scan_.GrowthOfMachine("disk_read_bytes");
    m.disk_write_bytes = scan_.GrowthOfMachine("disk_write_bytes");
    m.disk_reads = scan_.GrowthOfMachine("disk_reads");
    m.net_rx_bytes = GrowthOfOwnNetwork("net_rx_bytes");
    m.net_tx_bytes = GrowthOfOwnNetwork("net_tx_bytes");
    m.psi_cpu_some = ShareOf(find("psi_cpu_some_ns"));
    m.psi_io_some = ShareOf(find("psi_io_some_ns"));
    m.psi_memory_some = ShareOf(find("psi_memory_some_ns"));
    m.load1_peak = PeakOf(find("load1"));
    // A container mounts its own after it has begun: the last is what holds.
    if (const SeriesStat* const shm = find("shm_total_bytes"))
      m.shm_total_bytes = shm->last;
    m.oom_kills = scan_.GrowthOfMachine("oom_kills");
    if (m.oom_kills.value_or(0) > 0) m.oom_seen_ns = find("oom_kills")->last_ns;
  }

  void FindJudged() {
    for (CpuWindow& w : facts_.windows)
      w.judged = w.known && run_.Judges(w.from_ns);
    JudgedFacts& judged = facts_.judged;
    judged = {run_.cpu_wall_ns, 0, run_.cores_used, facts_.machine.other_cores};
    double cpu_ns = 0;
    for (const CpuWindow& w : facts_.windows) {
      if (!w.judged) continue;
      const int64_t ns = Elapsed(w.from_ns, w.to_ns);
      judged.known_ns += ns;
      cpu_ns += w.tree_cores * static_cast<double>(ns);
    }
    if (!run_.judged_from_ns) return;
    judged.wall_ns = judged.known_ns;
    if (run_.cpu_ns)
      judged.cores_used =
          Ratio(AsNs(cpu_ns), static_cast<double>(judged.wall_ns));
    judged.other_cores = OtherCores(judged.wall_ns, &CpuWindow::judged);
  }

  void FindOverhead() {
    OverheadFacts& o = facts_.overhead;
    o.cpu_ns = MetaNs(store_, "overhead_cpu_ns");
    o.share_of_core = Ratio(o.cpu_ns, static_cast<double>(run_.wall_ns));
    o.rss_bytes = MetaNumber(store_, "overhead_rss_bytes");
    // Of the file itself: a trace in text form is another in memory.
    std::error_code failure;
    const auto bytes = std::filesystem::file_size(store_.path(), failure);
    o.trace_bytes =
        failure ? store_.reader().file_size() : static_cast<int64_t>(bytes);
  }

  Facts facts_;
  const Store& store_;
  RunFacts& run_;
  SessionEvents events_;
  Scan scan_;
  std::optional<RunSeriesReader> reader_;
  int64_t cpu_from_ns_ = 0, cpu_to_ns_ = 0;  // CPU times are known
};

}  // namespace

const ProcessFacts* Facts::FindProcess(uint32_t number) const {
  for (const ProcessFacts& p : processes)
    if (p.row.number == number) return &p;
  return nullptr;
}

const ThreadFacts* Facts::FindThread(uint32_t process, uint32_t thread) const {
  const ProcessFacts* const p = FindProcess(process);
  if (p == nullptr) return nullptr;
  for (const ThreadFacts& t : p->threads)
    if (t.row.number == thread) return &t;
  return nullptr;
}

Facts FactsOf(std::shared_ptr<const Store> store, const AlsoRead& also) {
  return Builder(std::move(store)).Build(also);
}

}  // namespace sonde

#include "analyze/series/counter_scan.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "base/time.h"

namespace sonde {
namespace {

constexpr int64_t kWindowNs = 100 * kNsPerMs;
// Enough for half an hour in steps of a tenth of a second; longer runs get
// longer windows.
constexpr int64_t kMaxWindows = 20'000;
// Short runs get shorter ones, as far as samples allow.
constexpr int64_t kFewestWindows = 20;
// How many threads of a tick are worth remembering.
constexpr size_t kTopThreads = 4;

enum class Role : uint8_t {
  kOther,
  kProcessCpu,
  kThreadCpu,
  kThreadWait,
  kCore
};
enum CoreField : uint8_t { kBusy, kIdle, kIowait, kSteal, kCoreFields };

uint64_t KeyOf(Series::Scope scope, uint32_t id, uint32_t name) {
  return (static_cast<uint64_t>(id) << 32 | name) * 4 +
         static_cast<uint64_t>(scope) % 4;
}

// What is known of one series while its values go by.
struct Followed {
  Role role = Role::kOther;
  CoreField field = kBusy;
  const Series* row = nullptr;
  uint32_t process = 0;
  uint32_t user = 0;
  bool stands_for_thread = false;  // a process without thread values
  int64_t born_ns = kNoTime;       // its total was 0 then; kNoTime: not known
  bool follows = false;            // the value before is known
  SeriesStat stat;
};

struct Use {
  uint32_t process = 0;
  uint32_t thread = 0;
  double cpu_ns = 0;
  double wait_ns = 0;
};

// The mean time between ticks, from the index. 0 if there are none.
double PeriodOf(const Store& store) {
  std::set<uint32_t> groups;
  for (const Series* const row :
       store.Sampled(Series::Scope::kProcess, "cpu_ns"))
    groups.insert(row->group);
  double span_ns = 0, ticks = 0;
  for (const FrameRef& chunk : store.counter_chunks()) {
    if (!groups.contains(chunk.counters.group) || chunk.counters.ticks < 2)
      continue;
    span_ns += static_cast<double>(
        Elapsed(chunk.counters.begin_ns, chunk.counters.end_ns));
    ticks += chunk.counters.ticks - 1;
  }
  return ticks > 0 ? span_ns / ticks : 0;
}

}  // namespace

// One follower for each series, under its slot.
class Scanner::Handler final : public CounterHandler {
 public:
  Handler(const Store& store, const RunSpan& run, int64_t width_ns)
      : store_(store),
        run_(run),
        width_ns_(width_ns),
        tree_(run.begin_ns, run.end_ns, width_ns),
        covered_(tree_),
        machine_covered_(tree_),
        core_{tree_, tree_, tree_, tree_},
        users_(tree_.size()) {}

  void Join(CounterReplay& replay) {
    FindFollowers();
    for (uint32_t i = 0; i < followers_.size(); ++i)
      replay.Want(*this, followers_[i].row->id, i);
  }

  Scan Take() {
    AddUnsampled();
    Scan out;
    out.ticks = ticks_;
    out.first_tick_ns = first_tick_ns_;
    out.last_tick_ns = last_tick_ns_;
    out.windows = Windows();
    for (const Followed& f : followers_) {
      const Series& row = *f.row;
      const auto name =
          out.names.try_emplace(std::string(store_.Str(row.name)),
                                static_cast<uint32_t>(out.names.size()));
      SeriesStat& stat = out.stats[row.id];
      stat = f.stat;
      if (const auto group = groups_.find(row.group); group != groups_.end())
        stat.covered_ns = Elapsed(stat.first_ns, group->second.last_ns);
      out.index[KeyOf(row.scope, row.scope_id, name.first->second)].push_back(
          row.id);
    }
    return out;
  }

  void Tick(const CounterTick& tick) override {
    Group& group = groups_[tick.group];
    const int64_t now = tick.time_ns;
    // The same tick again, or time that runs backwards: not an interval.
    const bool forward = !group.begun || now > group.last_ns;
    const int64_t since = group.begun  ? group.last_ns
                          : group.lost ? now
                                       : run_.begin_ns;
    bool cores = false;
    tree_sum_ = 0;
    core_sums_.fill(0);
    for (const CounterValue& v : tick.values) {
      Followed& f = followers_[v.slot];
      group.of_processes |=
          f.role == Role::kProcessCpu || f.role == Role::kThreadCpu;
      cores |= f.role == Role::kCore;
      if (v.repeated) continue;
      const double value = ValueAsDouble(v.bits, f.row->type);
      // NaN fails both comparisons.
      if (!(value >= 0 && value <= kMaxValue)) continue;
      const bool first = f.stat.values == 0;
      const bool follows = std::exchange(f.follows, true);
      const double before = first ? 0 : f.stat.last;
      f.stat.Add(value, now);
      if (run_.judged_from_ns && (now <= *run_.judged_from_ns ||
                                  (first && f.born_ns < *run_.judged_from_ns)))
        f.stat.at_judged = value;
      if (forward && f.role != Role::kOther && value >= before &&
          (first || follows))
        Grow(f, first, since, now, value - before);
    }
    if (forward) EndTick(group, cores, since, now);
  }

  void Hole(const CounterHole& hole) override {
    Group& group = groups_[hole.group];
    group.begun = false;
    group.lost = true;
    for (const CounterValue& v : hole.lost) followers_[v.slot].follows = false;
  }

 private:
  struct Group {
    bool begun = false;         // last_ns is the tick before
    bool lost = false;          // some of its ticks were
    bool of_processes = false;  // it has had CPU time of a process or thread
    int64_t last_ns = 0;
  };

  // The number of a thread (or of a process that stands for its only one) in
  // users of cores.
  uint32_t UserOf(uint32_t process, uint32_t thread) {
    const auto [at, fresh] =
        user_of_.try_emplace(static_cast<uint64_t>(process) << 32 | thread,
                             static_cast<uint32_t>(uses_.size()));
    if (fresh) uses_.push_back({process, thread, 0, 0});
    return at->second;
  }

  void FindFollowers() {
    std::set<uint32_t> with_threads;
    for (const Series* const row :
         store_.Sampled(Series::Scope::kThread, "cpu_ns")) {
      const auto thread = store_.threads().find(row->scope_id);
      if (thread != store_.threads().end())
        with_threads.insert(thread->second.process);
    }
    for (const auto& [id, row] : store_.series()) {
      if (store_.OfProgram(row)) continue;
      Followed& f = followers_.emplace_back();
      f.row = &row;
      const std::string_view name = store_.Str(row.name);
      if (row.scope == Series::Scope::kProcess && name == "cpu_ns") {
        f.role = Role::kProcessCpu;
        f.process = row.scope_id;
        f.stands_for_thread = !with_threads.contains(row.scope_id);
        const auto process = store_.processes().find(row.scope_id);
        if (process != store_.processes().end() &&
            run_.Bore(process->second.start_ns))
          f.born_ns = process->second.start_ns;
        f.user = UserOf(row.scope_id, 0);
        cpu_of_[row.scope_id] = followers_.size() - 1;
      } else if (row.scope == Series::Scope::kThread &&
                 (name == "cpu_ns" || name == "wait_ns")) {
        f.role = name == "cpu_ns" ? Role::kThreadCpu : Role::kThreadWait;
        const auto thread = store_.threads().find(row.scope_id);
        if (thread != store_.threads().end()) {
          f.process = thread->second.process;
          if (run_.Bore(thread->second.start_ns))
            f.born_ns = thread->second.start_ns;
        }
        f.user = UserOf(f.process, row.scope_id);
      } else if (row.scope == Series::Scope::kMachine &&
                 name.starts_with("cpu_") && name.ends_with("_ns")) {
        f.role = Role::kCore;
        f.field = name == "cpu_idle_ns"     ? kIdle
                  : name == "cpu_iowait_ns" ? kIowait
                  : name == "cpu_steal_ns"  ? kSteal
                                            : kBusy;
      }
    }
  }

  void Grow(const Followed& f, bool first, int64_t since, int64_t now,
            double growth) {
    if (f.role == Role::kCore) {
      if (!first) core_sums_[f.field] += growth;
      return;
    }
    if (first && f.born_ns == kNoTime) return;
    const int64_t from = first ? std::min(f.born_ns, now) : since;
    if (f.role == Role::kProcessCpu) {
      if (first)
        tree_.Add(from, now, growth);
      else
        tree_sum_ += growth;
    }
    if (f.role == Role::kProcessCpu && !f.stands_for_thread) return;
    // A whole life before the first tick would look like one busy moment.
    if (first && Elapsed(from, now) > 2 * width_ns_) return;
    Use& use = uses_[f.user];
    if (use.cpu_ns == 0 && use.wait_ns == 0) active_.push_back(f.user);
    (f.role == Role::kThreadWait ? use.wait_ns : use.cpu_ns) += growth;
  }

  void EndTick(Group& group, bool of_cores, int64_t since, int64_t now) {
    const int64_t elapsed = Elapsed(since, now);
    if (tree_sum_ > 0) tree_.Add(since, now, tree_sum_);
    if (group.of_processes) {
      if (ticks_++ == 0) first_tick_ns_ = now;
      last_tick_ns_ = std::max(now, ticks_ == 1 ? now : last_tick_ns_);
      // What came before a late first tick was not seen.
      if (group.begun || elapsed <= 2 * width_ns_)
        covered_.Add(since, now, static_cast<double>(elapsed));
      AddUsers(since, now, elapsed);
    }
    if (of_cores && group.begun) {
      for (size_t i = 0; i < kCoreFields; ++i)
        core_[i].Add(since, now, core_sums_[i]);
      machine_covered_.Add(since, now, static_cast<double>(elapsed));
    }
    for (const uint32_t user : active_)
      uses_[user].cpu_ns = uses_[user].wait_ns = 0;
    active_.clear();
    group.begun = true;
    group.last_ns = now;
  }

  void AddUsers(int64_t since, int64_t now, int64_t elapsed) {
    if (active_.empty() || users_.empty()) return;
    const size_t keep = std::min(kTopThreads, active_.size());
    std::partial_sort(active_.begin(),
                      active_.begin() + static_cast<ptrdiff_t>(keep),
                      active_.end(), [&](uint32_t a, uint32_t b) {
                        return uses_[a].cpu_ns > uses_[b].cpu_ns;
                      });
    const std::span<const uint32_t> top(active_.data(), keep);
    for (size_t w = tree_.WindowOf(since); w <= tree_.WindowOf(now); ++w) {
      const int64_t from = run_.begin_ns + static_cast<int64_t>(w) * width_ns_;
      const int64_t inside =
          Elapsed(std::max(from, since), std::min(from + width_ns_, now));
      if (inside == 0) continue;
      const double part =
          static_cast<double>(inside) / static_cast<double>(elapsed);
      for (const uint32_t user : top) AddUser(users_[w], uses_[user], part);
    }
  }

  static void AddUser(std::vector<Use>& users, const Use& use, double part) {
    const auto at = std::find_if(users.begin(), users.end(), [&](const Use& u) {
      return u.process == use.process && u.thread == use.thread;
    });
    Use& sum = at == users.end()
                   ? users.emplace_back(Use{use.process, use.thread, 0, 0})
                   : *at;
    sum.cpu_ns += use.cpu_ns * part;
    sum.wait_ns += use.wait_ns * part;
  }

  // CPU time between a process's last sample and its end, and of those that
  // were never sampled: known exactly where the kernel told it at the exit.
  void AddUnsampled() {
    for (const auto& [number, row] : store_.processes()) {
      if (row.cpu_ns < 0 || static_cast<double>(row.cpu_ns) > kMaxValue ||
          !run_.Bore(row.start_ns))
        continue;
      const auto cpu = cpu_of_.find(number);
      const SeriesStat* const stat =
          cpu == cpu_of_.end() ? nullptr : &followers_[cpu->second].stat;
      const bool sampled = stat != nullptr && stat->values > 0;
      const double rest =
          static_cast<double>(row.cpu_ns) - (sampled ? stat->last : 0);
      if (rest <= 0) continue;
      const int64_t end = row.end_ns == kNoTime ? run_.end_ns : row.end_ns;
      const int64_t from =
          sampled ? std::min(stat->last_ns, end) : row.start_ns;
      tree_.Add(std::min(from, end), end, rest);
    }
  }

  std::vector<CpuWindow> Windows() {
    const std::vector<double> tree = tree_.Take(), covered = covered_.Take(),
                              machine = machine_covered_.Take();
    std::array<std::vector<double>, kCoreFields> core;
    for (size_t i = 0; i < kCoreFields; ++i) core[i] = core_[i].Take();
    std::vector<CpuWindow> out(tree.size());
    for (size_t w = 0; w < out.size(); ++w) {
      CpuWindow& window = out[w];
      window.from_ns = run_.begin_ns + static_cast<int64_t>(w) * width_ns_;
      window.to_ns =
          w + 1 == out.size() ? run_.end_ns : window.from_ns + width_ns_;
      const double ns =
          static_cast<double>(Elapsed(window.from_ns, window.to_ns));
      if (ns <= 0) continue;
      window.known = covered[w] >= ns / 2;
      window.tree_cores = tree[w] / ns;
      // Threads are known only where samples are; rates are of that time.
      const double seen = std::max(covered[w], ns / 2);
      std::vector<Use>& users = users_[w];
      std::sort(users.begin(), users.end(),
                [](const Use& a, const Use& b) { return a.cpu_ns > b.cpu_ns; });
      if (!users.empty()) {
        window.process = users[0].process;
        window.thread = users[0].thread;
        window.thread_cores = users[0].cpu_ns / seen;
        window.thread_wait_cores = users[0].wait_ns / seen;
      }
      if (users.size() > 1) window.second_cores = users[1].cpu_ns / seen;
      window.machine_known = machine[w] >= ns / 2;
      if (!window.machine_known) continue;
      window.busy_cores = core[kBusy][w] / machine[w];
      window.idle_cores = core[kIdle][w] / machine[w];
      window.iowait_cores = core[kIowait][w] / machine[w];
      window.steal_cores = core[kSteal][w] / machine[w];
    }
    return out;
  }

  const Store& store_;
  const RunSpan run_;
  int64_t width_ns_;
  SpanSum tree_, covered_, machine_covered_;
  std::array<SpanSum, kCoreFields> core_;
  std::vector<std::vector<Use>> users_;          // by window
  std::vector<Followed> followers_;              // by slot
  std::unordered_map<uint32_t, size_t> cpu_of_;  // slot by process
  std::unordered_map<uint32_t, Group> groups_;
  uint64_t ticks_ = 0;
  int64_t first_tick_ns_ = 0, last_tick_ns_ = 0;
  std::unordered_map<uint64_t, uint32_t> user_of_;  // process and thread
  std::vector<Use> uses_;                           // by user, of this tick
  std::vector<uint32_t> active_;  // users with something in this tick
  double tree_sum_ = 0;
  std::array<double, kCoreFields> core_sums_{};
};

Scanner::Scanner(const Store& store, const RunSpan& run, int64_t width_ns)
    : handler_(std::make_unique<Handler>(store, run, width_ns)) {}

Scanner::~Scanner() = default;

void Scanner::Join(CounterReplay& replay) { handler_->Join(replay); }

Scan Scanner::Take() { return handler_->Take(); }

int64_t WindowWidth(const Store& store, const RunSpan& run) {
  int64_t width = std::max(std::min(kWindowNs, run.wall_ns / kFewestWindows),
                           run.wall_ns / kMaxWindows + 1);
  double period_ns = PeriodOf(store);
  if (const MaybeNumber rate_hz = MetaNumber(store, "rate_hz");
      rate_hz && *rate_hz > 0)
    period_ns = 1e9 / *rate_hz;
  // Shorter than ticks, and values would fall between them. 0.9: a tick every
  // 101 ms is meant to be every 100.
  if (period_ns * 0.9 > static_cast<double>(width))
    width = static_cast<int64_t>(std::min(period_ns, kMaxValue));
  return width;
}

void SeriesStat::Add(double value, int64_t now_ns) {
  if (values++ == 0) {
    first = min = max = value;
    first_ns = now_ns;
  }
  last = value;
  last_ns = now_ns;
  min = std::min(min, value);
  max = std::max(max, value);
}

MaybeNumber GrowthOf(const SeriesStat* stat) {
  if (stat == nullptr) return std::nullopt;
  return std::max(0.0, stat->last - stat->first);
}

MaybeNumber PeakOf(const SeriesStat* stat) {
  return stat == nullptr ? MaybeNumber() : stat->max;
}

MaybeNumber ShareOf(const SeriesStat* stat) {
  if (stat == nullptr || stat->covered_ns == 0) return std::nullopt;
  const double covered_ns = static_cast<double>(stat->covered_ns);
  return std::clamp((stat->last - stat->first) / covered_ns, 0.0, 1.0);
}

SpanSum::SpanSum(int64_t begin_ns, int64_t end_ns, int64_t width_ns)
    : begin_ns_(begin_ns), end_ns_(end_ns), width_ns_(width_ns) {
  const int64_t length = Elapsed(begin_ns, end_ns);
  const size_t windows =
      static_cast<size_t>(length / width_ns + (length % width_ns != 0 ? 1 : 0));
  sums_.resize(windows + 1);
  slope_.resize(windows + 1);
}

size_t SpanSum::WindowOf(int64_t ns) const {
  if (size() == 0) return 0;
  const int64_t inside = std::clamp(ns, begin_ns_, end_ns_) - begin_ns_;
  return std::min(static_cast<size_t>(inside / width_ns_), size() - 1);
}

void SpanSum::Add(int64_t from_ns, int64_t to_ns, double amount) {
  if (size() == 0) return;
  from_ns = std::clamp(from_ns, begin_ns_, end_ns_);
  to_ns = std::clamp(to_ns, begin_ns_, end_ns_);
  const size_t first = WindowOf(from_ns), last = WindowOf(to_ns);
  if (to_ns <= from_ns || first == last) {
    sums_[last] += amount;
    return;
  }
  const double per_ns = amount / static_cast<double>(to_ns - from_ns);
  const auto begin_of = [&](size_t window) {
    return begin_ns_ + static_cast<int64_t>(window) * width_ns_;
  };
  sums_[first] += per_ns * static_cast<double>(begin_of(first + 1) - from_ns);
  sums_[last] += per_ns * static_cast<double>(to_ns - begin_of(last));
  // The windows between are full of it.
  slope_[first + 1] += per_ns;
  slope_[last] -= per_ns;
}

std::vector<double> SpanSum::Take() {
  double per_ns = 0;
  for (size_t w = 0; w < size(); ++w) {
    per_ns += slope_[w];
    sums_[w] =
        std::max(0.0, sums_[w] + per_ns * static_cast<double>(width_ns_));
  }
  sums_.pop_back();
  return std::move(sums_);
}

const SeriesStat* Scan::Find(Series::Scope scope, uint32_t id,
                             std::string_view name) const {
  const auto number = names.find(name);
  if (number == names.end()) return nullptr;
  const auto of_name = index.find(KeyOf(scope, id, number->second));
  if (of_name == index.end()) return nullptr;
  for (const uint32_t series : of_name->second) {
    const SeriesStat& stat = stats.at(series);
    if (stat.values > 0) return &stat;
  }
  return nullptr;
}

MaybeNumber Scan::GrowthOfMachine(std::string_view name) const {
  MaybeNumber out;
  const auto number = names.find(name);
  if (number == names.end()) return out;
  const auto of_name =
      index.find(KeyOf(Series::Scope::kMachine, 0, number->second));
  if (of_name == index.end()) return out;
  for (const uint32_t series : of_name->second) {
    const SeriesStat& stat = stats.at(series);
    if (stat.values > 0) out = out.value_or(0) + *GrowthOf(&stat);
  }
  return out;
}

}  // namespace sonde

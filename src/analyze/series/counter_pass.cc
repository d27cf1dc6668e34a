#include "analyze/series/counter_pass.h"

#include <algorithm>
#include <map>

#include "analyze/series/gaps.h"

namespace sonde {
namespace {

// What is known of one counter in one sum while its values go by.
struct Follower {
  size_t sum = 0;
  size_t part = 0;  // of its group
  Series::Kind kind = Series::Kind::kTotal;
  Series::Type type = Series::Type::kInt;
  uint32_t bits = 0;          // as in CounterSum
  int64_t born_ns = kNoTime;  // its total was 0 then; kNoTime: not known
  bool live = false;          // it has a value
  double value = 0;
};

// A sum, as far as counters of one group are in it.
struct Part {
  size_t sum = 0;
  uint32_t live = 0;  // counters that have a value
  double gauges = 0;  // their values together
  double grown = 0;   // by the totals since the last tick
};

// Series that are sampled at the same ticks.
struct Group {
  int64_t max_gap_ns = 0;
  bool begun = false;  // last_ns is the tick before
  int64_t last_ns = 0;
  std::vector<Part> parts;
};

}  // namespace

class CounterSums::Handler final : public CounterHandler {
 public:
  Handler(const Store& store, const RunSpan& run, const Grid& grid,
          std::vector<CounterSum> sums)
      : store_(store),
        run_(run),
        grid_(grid),
        sums_(std::move(sums)),
        means_(sums_.size(), WindowMeans(grid)) {}

  void Join(CounterReplay& replay) {
    const Gaps gaps(store_);
    for (const auto& [id, row] : store_.series()) {
      if (store_.OfProgram(row)) continue;
      for (auto sum = FindSum(row, 0); sum; sum = FindSum(row, *sum + 1)) {
        Follow(row, *sum, gaps);
        replay.Want(*this, id, static_cast<uint32_t>(followers_.size() - 1));
        // A counter of bits is part of every sum that it fits.
        if (sums_[*sum].bits == 0) break;
      }
    }
  }

  std::vector<RegularSeries> Take() {
    std::vector<RegularSeries> out;
    for (size_t i = 0; i < sums_.size(); ++i)
      out.push_back(
          means_[i].Take(sums_[i].name, sums_[i].unit, sums_[i].scale));
    return out;
  }

  void Tick(const CounterTick& tick) override {
    Group& group = groups_[tick.group];
    const int64_t now = tick.time_ns;
    const int64_t since = group.begun ? Elapsed(group.last_ns, now) : 0;
    // Longer, and there is a gap between.
    const bool follows = since > 0 && since <= group.max_gap_ns;
    if (follows) stretch_.Set(grid_, group.last_ns, now);
    // What the gauges were holds until now.
    for (const Part& part : group.parts) {
      if (!follows || part.live == 0) continue;
      means_[part.sum].Cover(stretch_);
      if (part.gauges != 0) means_[part.sum].Add(stretch_, part.gauges);
    }
    for (const CounterValue& v : tick.values)
      Put(group, followers_[v.slot], v.bits, now);
    for (Part& part : group.parts) {
      if (part.grown == 0) continue;
      if (follows)
        means_[part.sum].Add(stretch_, part.grown / static_cast<double>(since));
      part.grown = 0;
    }
    for (const CounterValue& v : tick.gone) End(group, followers_[v.slot]);
    if (!group.begun || now > group.last_ns) group.last_ns = now;
    group.begun = true;
  }

  // The next tick names all that live.
  void Hole(const CounterHole& hole) override {
    Group& group = groups_[hole.group];
    group.begun = false;
    for (Part& part : group.parts) part = {part.sum, 0, 0, 0};
    for (const CounterValue& v : hole.lost) followers_[v.slot].live = false;
  }

 private:
  // The first from `from` on that the row is part of.
  std::optional<size_t> FindSum(const Series& row, size_t from) const {
    const std::string_view counter = store_.Str(row.name);
    // What should grow and does not is something else of the same name.
    const bool grows =
        counter.ends_with("_ns") || row.kind == Series::Kind::kTotal;
    for (size_t i = from; i < sums_.size(); ++i)
      if (sums_[i].scope == row.scope && sums_[i].counter == counter &&
          (grows || sums_[i].scale != 1e9) &&
          (!sums_[i].scope_id || sums_[i].scope_id == row.scope_id) &&
          (!sums_[i].label || *sums_[i].label == store_.Str(row.label)) &&
          (!sums_[i].own_network || OfOwnNetwork(store_.Str(row.label))))
        return i;
    return std::nullopt;
  }

  void Follow(const Series& row, size_t sum, const Gaps& gaps) {
    Group& group = groups_[row.group];
    group.max_gap_ns = gaps.Longest(row.group);
    Follower& f = followers_.emplace_back();
    f.sum = sum;
    f.part = PartOf(group, sum);
    f.kind = row.kind;
    f.type = row.type;
    f.bits = sums_[sum].bits;
    if (row.scope == Series::Scope::kProcess) {
      const auto process = store_.processes().find(row.scope_id);
      if (process != store_.processes().end() &&
          run_.Bore(process->second.start_ns))
        f.born_ns = process->second.start_ns;
    }
  }

  // Made if there is none.
  static size_t PartOf(Group& group, size_t sum) {
    const auto at =
        std::find_if(group.parts.begin(), group.parts.end(),
                     [&](const Part& part) { return part.sum == sum; });
    const auto out = static_cast<size_t>(at - group.parts.begin());
    if (at == group.parts.end()) group.parts.push_back({sum, 0, 0, 0});
    return out;
  }

  void Put(Group& group, Follower& f, uint64_t bits, int64_t now) {
    double value = ValueAsDouble(bits, f.type);
    // NaN fails both comparisons.
    if (!(value >= 0 && value <= kMaxValue)) return;
    if (f.bits != 0)
      value = (static_cast<uint64_t>(value) & f.bits) != 0 ? 1 : 0;
    const bool total = f.kind == Series::Kind::kTotal;
    Part& part = group.parts[f.part];
    if (!f.live) {
      ++part.live;
      // Read soon after its birth: it all happened since. Later nobody knows
      // when.
      const int64_t age = Elapsed(f.born_ns, now);
      if (total && age > 0 && age <= group.max_gap_ns)
        means_[f.sum].Add(f.born_ns, now, value);
    } else if (total && value > f.value) {
      part.grown += value - f.value;
    }
    if (!total) part.gauges += value - (f.live ? f.value : 0);
    f.live = true;
    f.value = value;
  }

  void End(Group& group, Follower& f) {
    if (!f.live) return;
    f.live = false;
    Part& part = group.parts[f.part];
    if (f.kind == Series::Kind::kGauge) part.gauges -= f.value;
    // The tree may have ended, or may go on without a disk: what is left of the
    // sum is 0, which is known as long as others of its group are sampled.
    const Series::Scope scope = sums_[f.sum].scope;
    if (scope == Series::Scope::kMachine || scope == Series::Scope::kDevice)
      --part.live;
  }

  const Store& store_;
  const RunSpan run_;
  const Grid grid_;
  const std::vector<CounterSum> sums_;
  std::vector<WindowMeans> means_;   // by sum
  std::vector<Follower> followers_;  // by slot
  std::map<uint32_t, Group> groups_;
  TimePieces stretch_;  // since the tick before
};

CounterSums::CounterSums(const Store& store, const RunSpan& run,
                         const Grid& grid, std::vector<CounterSum> sums)
    : handler_(std::make_unique<Handler>(store, run, grid, std::move(sums))) {}

CounterSums::~CounterSums() = default;

void CounterSums::Join(CounterReplay& replay) { handler_->Join(replay); }

std::vector<RegularSeries> CounterSums::Take() { return handler_->Take(); }

TimeRange CounterSums::Reach(const Store& store, const Grid& grid) {
  int64_t end_ns = 0;
  if (__builtin_add_overflow(grid.end_ns, Gaps(store).Longest(), &end_ns))
    end_ns = INT64_MAX;
  return {grid.begin_ns, end_ns};
}

}  // namespace sonde

#include "analyze/pattern/counter_pass.h"

#include <algorithm>
#include <map>

#include "analyze/pattern/gaps.h"
#include "analyze/scan.h"

namespace sonde {
namespace {

// Ids are dense in what we write; a file that says otherwise is not followed.
constexpr uint32_t kMaxSeries = 1u << 24;

// Reads counters in one pass and sums them by source.
class CounterPass {
 public:
  CounterPass(const Facts& facts, const Grid& grid,
              const std::vector<CounterSum>& sources)
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
    std::optional<size_t> source;  // none: it is not followed
    Series::Kind kind = Series::Kind::kTotal;
    Series::Type type = Series::Type::kInt;
    int64_t born_ns = kNoTime;  // its total was 0 then; kNoTime: not known
    bool live = false;          // it has a value
    double value = 0;
    uint32_t bits = 0;   // as in CounterSum
    uint32_t other = 0;  // the same counter in another sum; 0: none
  };
  // Series that are sampled at the same ticks.
  struct Group {
    int64_t max_gap_ns = 0;
    bool begun = false;
    int64_t last_ns = 0;
    uint64_t next_ordinal = 0;
    std::vector<uint32_t> followers;
    // By source: how many counters have a value, and the sum of the gauges.
    std::vector<uint32_t> live;
    std::vector<double> gauges;
    std::vector<double> grown;  // since the last tick
  };

  // The first from `from` on that the row is part of.
  std::optional<size_t> SourceOf(const Series& row, size_t from = 0) const {
    const std::string_view counter = store_.Str(row.name);
    // What should grow and does not is something else of the same name.
    const bool grows =
        counter.ends_with("_ns") || row.kind == Series::Kind::kTotal;
    for (size_t i = from; i < sources_.size(); ++i)
      if (sources_[i].scope == row.scope && sources_[i].counter == counter &&
          (grows || sources_[i].scale != 1e9) &&
          (!sources_[i].scope_id || sources_[i].scope_id == row.scope_id) &&
          (!sources_[i].label || *sources_[i].label == store_.Str(row.label)) &&
          (!sources_[i].own_network || OfOwnNetwork(store_.Str(row.label))))
        return i;
    return std::nullopt;
  }

  void Prepare() {
    for (const auto& [id, row] : store_.series()) {
      if (store_.OfProgram(row)) continue;
      const auto source = SourceOf(row);
      if (!source || id >= kMaxSeries) continue;
      if (id >= followers_.size()) followers_.resize(id + 1);
      Follower& f = followers_[id];
      f.source = source;
      f.kind = row.kind;
      f.type = row.type;
      if (row.scope == Series::Scope::kProcess) {
        const auto process = store_.processes().find(row.scope_id);
        if (process != store_.processes().end() &&
            BornInRun(process->second.start_ns, facts_.run))
          f.born_ns = process->second.start_ns;
      }
      groups_[row.group].followers.push_back(id);
      f.bits = sources_[*source].bits;
      if (f.bits != 0) FollowBits(row, id);
    }
    const Gaps gaps(store_);
    for (auto& [id, group] : groups_) {
      group.live.resize(sources_.size());
      group.gauges.resize(sources_.size());
      group.grown.resize(sources_.size());
      group.max_gap_ns = gaps.Longest(id);
    }
  }

  // Puts a counter of bits into every further sum that it fits.
  void FollowBits(const Series& row, uint32_t id) {
    size_t at = *followers_[id].source;
    while (const auto source = SourceOf(row, at + 1)) {
      Follower one = followers_[id];
      one.source = at = *source;
      one.bits = sources_[*source].bits;
      // `one` points to what was put before it.
      others_.push_back(one);
      followers_[id].other = static_cast<uint32_t>(others_.size());
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
    return id < followers_.size() && followers_[id].source ? &followers_[id]
                                                           : nullptr;
  }
  Follower* Next(const Follower& f) {
    return f.other == 0 ? nullptr : &others_[f.other - 1];
  }

  void TakeValue(Group& group, const CounterTicks::Change& change,
                 int64_t now) {
    for (Follower* f = Find(change.series); f != nullptr; f = Next(*f)) {
      const double value = ValueAsDouble(change.value, f->type);
      // NaN fails both comparisons.
      if (!(value >= 0 && value <= kMaxValue)) return;
      const bool has_bit =
          f->bits != 0 && (static_cast<uint64_t>(value) & f->bits) != 0;
      Put(group, f->bits == 0 ? value : has_bit ? 1 : 0, now, *f);
    }
  }

  void Put(Group& group, double value, int64_t now, Follower& f) {
    const bool total = f.kind == Series::Kind::kTotal;
    if (!f.live) {
      ++group.live[*f.source];
      // Read soon after its birth: it all happened since. Later nobody knows
      // when.
      const int64_t age = Elapsed(f.born_ns, now);
      if (total && age > 0 && age <= group.max_gap_ns)
        means_[*f.source].Add(f.born_ns, now, value);
    } else if (total && value > f.value) {
      group.grown[*f.source] += value - f.value;
    }
    if (!total) group.gauges[*f.source] += value - (f.live ? f.value : 0);
    f.live = true;
    f.value = value;
  }

  void End(Group& group, uint32_t id) {
    for (Follower* f = Find(id); f != nullptr && f->live; f = Next(*f)) {
      f->live = false;
      if (f->kind == Series::Kind::kGauge) group.gauges[*f->source] -= f->value;
      // The tree may have ended, or may go on without a disk: what is left of
      // the sum is 0, which is known as long as others of its group are
      // sampled.
      const Series::Scope scope = sources_[*f->source].scope;
      if (scope == Series::Scope::kMachine || scope == Series::Scope::kDevice)
        --group.live[*f->source];
    }
  }

  void Forget(Group& group) {
    group.begun = false;
    std::fill(group.live.begin(), group.live.end(), 0);
    std::fill(group.gauges.begin(), group.gauges.end(), 0);
    for (const uint32_t id : group.followers)
      for (Follower* f = Find(id); f != nullptr; f = Next(*f)) f->live = false;
  }

  const Store& store_;
  const Facts& facts_;
  Grid grid_;
  const std::vector<CounterSum>& sources_;
  std::vector<WindowMeans> means_;
  std::vector<Follower> followers_;  // by series id
  std::vector<Follower> others_;     // of counters in several sums
  std::map<uint32_t, Group> groups_;
};

}  // namespace

std::vector<RegularSeries> SumCounters(const Facts& facts, const Grid& grid,
                                       const std::vector<CounterSum>& sums) {
  return CounterPass(facts, grid, sums).Run();
}

}  // namespace sonde

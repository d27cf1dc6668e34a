#include "analyze/facts/annotation_facts.h"

#include <algorithm>
#include <map>

#include "trace/writer.h"

namespace sonde {
namespace {

// The slices of a name without its moments: both are in the sums, and a moment
// takes no time.
NameAggregate WithoutMoments(const NameAggregate& sum) {
  NameAggregate out = sum;
  out.count = 0;
  out.durations = {};
  for (const auto& [bucket, count] : sum.durations.buckets()) {
    if (bucket == 0) continue;
    out.min = out.count > 0 ? out.min
                            : std::max(sum.min, Histogram::LowerBound(bucket));
    out.count += count;
    out.durations.Add(bucket, count);
  }
  return out;
}

// Most self time first.
std::vector<SliceFacts> SlicesOf(
    const Store& store, const std::map<uint32_t, NameAggregate>& sums) {
  std::vector<SliceFacts> out;
  double all_self = 0;
  for (const auto& [name, sum] : sums)
    all_self += static_cast<double>(std::max<int64_t>(0, sum.self));
  for (const auto& [name, all] : sums) {
    const NameAggregate sum = WithoutMoments(all);
    if (sum.count == 0) continue;
    SliceFacts s;
    s.name = store.Str(name);
    s.count = sum.count;
    s.total_ns = sum.sum;
    s.self_ns = std::max<int64_t>(0, sum.self);
    s.p50_ns = sum.Quantile(0.5);
    s.p99_ns = sum.Quantile(0.99);
    s.share = all_self > 0 ? static_cast<double>(s.self_ns) / all_self : 0;
    out.push_back(std::move(s));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const SliceFacts& a, const SliceFacts& b) {
                     return a.self_ns > b.self_ns;
                   });
  return out;
}

TrackSlices TrackOf(const Store& store, uint32_t id,
                    const std::map<uint32_t, NameAggregate>& sums) {
  TrackSlices out;
  out.track = id;
  if (const auto row = store.tracks().find(id); row != store.tracks().end()) {
    out.process = row->second.process;
    out.thread = row->second.thread;
    out.name = store.Str(row->second.name);
    const auto thread = store.threads().find(out.thread);
    if (row->second.name == 0 && thread != store.threads().end())
      out.name = store.Str(thread->second.name);
  }
  out.slices = SlicesOf(store, sums);
  for (const SliceFacts& s : out.slices)
    out.self_ns += std::min(s.self_ns, INT64_MAX - out.self_ns);
  return out;
}

std::vector<CounterFacts> CountersOf(const Store& store, uint64_t& left_out) {
  const auto of_the_program = [&](uint32_t id) {
    const auto row = store.series().find(id);
    return row != store.series().end() &&
           row->second.scope == Series::Scope::kProcess &&
           store.OfProgram(row->second);
  };
  std::map<uint32_t, SeriesTotal> sums;
  std::vector<SeriesAggregate> rows;
  for (const FrameRef& chunk : store.counter_chunks()) {
    if (!store.OfProgramGroup(chunk.counters.group) ||
        !store.ReadSeriesAggregates(chunk, rows))
      continue;
    for (const SeriesAggregate& row : rows)
      if (of_the_program(row.series)) AddAggregate(sums, row);
  }
  std::vector<CounterFacts> out;
  for (const auto& [id, sum] : sums) {
    if (out.size() == AnnotationFacts::kMostCounters) {
      ++left_out;
      continue;
    }
    const Series& row = store.series().at(id);
    out.push_back({row.scope_id, std::string(store.Str(row.name)),
                   std::string(store.Str(row.unit)), sum.count, sum.min,
                   sum.max, sum.last, sum.Mean()});
  }
  std::stable_sort(
      out.begin(), out.end(), [](const CounterFacts& a, const CounterFacts& b) {
        return std::tie(a.process, a.name) < std::tie(b.process, b.name);
      });
  return out;
}

}  // namespace

AnnotationFacts AnnotationsOf(const Store& store) {
  std::map<uint32_t, NameAggregate> all;
  std::map<uint32_t, std::map<uint32_t, NameAggregate>> by_track;
  for (const TrackTotal& total : store.totals()) {
    if (!store.OfTheProgram(total.track)) continue;
    // A device works beside the host: its time is on its own row only.
    const auto row = store.tracks().find(total.track);
    if (row == store.tracks().end() || row->second.kind != Track::Kind::kQueue)
      all[total.aggregate.name].Merge(total.aggregate);
    by_track[total.track][total.aggregate.name].Merge(total.aggregate);
  }
  AnnotationFacts out;
  out.slices = SlicesOf(store, all);
  for (const auto& [id, sums] : by_track)
    out.tracks.push_back(TrackOf(store, id, sums));
  std::stable_sort(out.tracks.begin(), out.tracks.end(),
                   [](const TrackSlices& a, const TrackSlices& b) {
                     return a.self_ns > b.self_ns;
                   });
  out.counters = CountersOf(store, out.counters_left_out);
  return out;
}

}  // namespace sonde

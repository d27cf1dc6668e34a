#include "analyze/facts/slice_overlap.h"

#include <algorithm>
#include <vector>

#include "analyze/series/span.h"
#include "store/event_scan.h"
#include "store/stop.h"

namespace sonde {
namespace {

constexpr size_t kMostSlices = 1'000'000;

// The outermost slices of a row, in time order. None overlap, whatever the
// trace says.
std::vector<TimeRange> OutermostOf(const Store& store, uint32_t track,
                                   int64_t until_ns) {
  std::vector<TimeRange> out;
  EventFilter filter;
  filter.track = track;
  filter.kind = Event::Kind::kSlice;
  EventScan scan(store, std::move(filter), kMaskTime | kMaskDepth);
  while (out.size() < kMostSlices && !StopScope::Asked() && scan.Next()) {
    const EventColumns& events = scan.events();
    for (const uint32_t i : scan.wanted()) {
      int64_t from_ns;
      if (events.depth[i] != 0 ||
          __builtin_sub_overflow(events.end_ns[i], events.dur_ns[i], &from_ns))
        continue;
      if (!out.empty()) from_ns = std::max(from_ns, out.back().end_ns);
      const int64_t to_ns = std::min(events.end_ns[i], until_ns);
      if (from_ns < to_ns) out.push_back({from_ns, to_ns});
    }
  }
  return out;
}

double SumOf(const std::vector<TimeRange>& ranges) {
  double sum = 0;
  for (const TimeRange& range : ranges)
    sum += static_cast<double>(Elapsed(range.begin_ns, range.end_ns));
  return sum;
}

}  // namespace

SliceOverlap OverlapOf(const Store& store, uint32_t track_a, uint32_t track_b,
                       int64_t until_ns) {
  const std::vector<TimeRange> a = OutermostOf(store, track_a, until_ns);
  const std::vector<TimeRange> b = OutermostOf(store, track_b, until_ns);
  SliceOverlap out{SumOf(a), SumOf(b), 0};
  for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    out.both_ns +=
        static_cast<double>(Elapsed(std::max(a[i].begin_ns, b[k].begin_ns),
                                    std::min(a[i].end_ns, b[k].end_ns)));
    if (a[i].end_ns < b[k].end_ns)
      ++i;
    else
      ++k;
  }
  return out;
}

}  // namespace sonde

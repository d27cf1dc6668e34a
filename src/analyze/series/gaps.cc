#include "analyze/series/gaps.h"

#include <algorithm>

#include "analyze/series/span.h"
#include "base/time.h"

namespace sonde {
namespace {

constexpr int64_t kLeastNs = kNsPerSec;
constexpr double kTicks = 5;

// Distances of ticks that follow each other.
struct Distances {
  double span_ns = 0;
  double count = 0;

  void Add(int64_t from_ns, int64_t to_ns, double ticks) {
    span_ns += static_cast<double>(Elapsed(from_ns, to_ns));
    count += ticks;
  }
};

// Those inside of chunks tell the usual one, since less is lost and paused
// there than between them. A group that ticks once a chunk has no others.
struct GroupTicks {
  Distances inside, between;
  uint64_t next_ordinal = 0;
  int64_t end_ns = 0;
};

}  // namespace

Gaps::Gaps(const Store& store) {
  std::unordered_map<uint32_t, GroupTicks> groups;
  for (const FrameRef& chunk : store.counter_chunks()) {
    GroupTicks& group = groups[chunk.counters.group];
    const uint64_t first = chunk.counters.first_ordinal;
    if (first > 0 && first == group.next_ordinal)
      group.between.Add(group.end_ns, chunk.counters.begin_ns, 1);
    if (chunk.counters.ticks > 1)
      group.inside.Add(chunk.counters.begin_ns, chunk.counters.end_ns,
                       chunk.counters.ticks - 1);
    group.next_ordinal = first + chunk.counters.ticks;
    group.end_ns = chunk.counters.end_ns;
  }
  for (const auto& [id, group] : groups) {
    const Distances& usual =
        group.inside.count > 0 ? group.inside : group.between;
    if (usual.count > 0)
      longest_[id] = std::max(
          kLeastNs, static_cast<int64_t>(std::min(
                        kTicks * usual.span_ns / usual.count, kMaxValue)));
  }
}

int64_t Gaps::Longest(uint32_t group) const {
  const auto at = longest_.find(group);
  return at == longest_.end() ? kLeastNs : at->second;
}

int64_t Gaps::Longest() const {
  int64_t out = kLeastNs;
  for (const auto& [group, ns] : longest_) out = std::max(out, ns);
  return out;
}

}  // namespace sonde

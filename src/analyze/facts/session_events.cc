#include "analyze/facts/session_events.h"

#include <algorithm>

#include "store/stop.h"

namespace sonde {
namespace {

// The argument `text` of a mark. Empty if it has none.
std::string_view TextOf(const Store& store, uint64_t args_id) {
  const std::vector<Arg>* const args =
      args_id <= UINT32_MAX ? store.args(static_cast<uint32_t>(args_id))
                            : nullptr;
  if (args == nullptr) return "";
  for (const Arg& arg : *args)
    if (arg.type == Arg::Type::kString && store.Str(arg.key) == "text")
      return store.Str(arg.string_value);
  return "";
}

void JoinOverlapping(std::vector<TimeRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const TimeRange& a, const TimeRange& b) {
              return a.begin_ns < b.begin_ns;
            });
  size_t joined = 0;
  for (const TimeRange& range : ranges) {
    if (joined > 0 && range.begin_ns <= ranges[joined - 1].end_ns)
      ranges[joined - 1].end_ns =
          std::max(ranges[joined - 1].end_ns, range.end_ns);
    else
      ranges[joined++] = range;
  }
  ranges.resize(joined);
}

}  // namespace

SessionEvents SessionEventsOf(const Store& store) {
  SessionEvents out;
  const uint32_t paused = store.FindString("paused");
  const uint32_t mark = store.FindString("mark");
  if (paused == 0 && mark == 0) return out;
  EventColumns events;
  for (const FrameRef& chunk : store.event_chunks()) {
    if (StopScope::Asked()) break;
    const auto track = store.tracks().find(chunk.events.track);
    if (track == store.tracks().end() ||
        track->second.kind != Track::Kind::kMachine ||
        store.Str(track->second.name) != "session" ||
        !store.ReadEvents(chunk, kMaskTime | kMaskName | kMaskRare, events))
      continue;
    for (size_t i = 0; i < events.size(); ++i) {
      int64_t from_ns;
      if (events.name[i] == 0 ||
          __builtin_sub_overflow(events.end_ns[i], events.dur_ns[i], &from_ns))
        continue;
      if (events.name[i] == paused)
        out.pauses.push_back({from_ns, events.end_ns[i]});
      else if (events.name[i] == mark)
        out.marks.push_back(
            {from_ns, TextOf(store, events.Rare(EventColumn::kArgs, i))});
    }
  }
  JoinOverlapping(out.pauses);
  std::stable_sort(
      out.marks.begin(), out.marks.end(),
      [](const Mark& a, const Mark& b) { return a.time_ns < b.time_ns; });
  return out;
}

}  // namespace sonde

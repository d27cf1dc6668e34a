#include "import/text_waiting.h"

#include <algorithm>

#include "trace/text_words.h"

namespace sonde {
namespace {

// Depths of events that were given none, from how they nest.
Status FindDepths(std::vector<WaitingEvent>& events, const std::string& file) {
  std::vector<WaitingEvent*> order;
  for (WaitingEvent& e : events) order.push_back(&e);
  const auto end = [](const WaitingEvent* e) {
    return e->event.begin_ns + e->event.dur_ns;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const WaitingEvent* a, const WaitingEvent* b) {
                     if (a->event.begin_ns != b->event.begin_ns)
                       return a->event.begin_ns < b->event.begin_ns;
                     return a->event.dur_ns > b->event.dur_ns;
                   });
  std::vector<const WaitingEvent*> open;
  for (WaitingEvent* e : order) {
    while (!open.empty() && end(open.back()) <= e->event.begin_ns)
      open.pop_back();
    if (!e->has_depth) {
      if (!open.empty() && end(open.back()) < end(e))
        return TextLine("", file, e->line)
            .Expected("slices that nest, or depth= on them");
      const uint32_t depth =
          open.empty() ? 0 : uint32_t{open.back()->event.depth} + 1;
      if (depth > UINT16_MAX)
        return TextLine("", file, e->line).Expected("less nesting");
      e->event.depth = static_cast<uint16_t>(depth);
    }
    if (e->event.kind == Event::Kind::kSlice) open.push_back(e);
  }
  return Ok();
}

}  // namespace

Status WaitingRows::WriteTo(TraceWriter& writer, const std::string& file) {
  TRY_OK(WriteEvents(writer, file));
  WriteTicks(writer);
  std::stable_sort(
      samples.begin(), samples.end(),
      [](const Sample& a, const Sample& b) { return a.time_ns < b.time_ns; });
  for (const Sample& sample : samples) writer.AddSample(sample);
  return Ok();
}

Status WaitingRows::WriteEvents(TraceWriter& writer, const std::string& file) {
  for (size_t track = 0; track < events.size(); ++track) {
    std::vector<WaitingEvent>& row = events[track];
    if (!std::all_of(row.begin(), row.end(),
                     [](const WaitingEvent& e) { return e.has_depth; }))
      TRY_OK(FindDepths(row, file));
    std::stable_sort(row.begin(), row.end(),
                     [](const WaitingEvent& a, const WaitingEvent& b) {
                       const int64_t a_end = a.event.begin_ns + a.event.dur_ns;
                       const int64_t b_end = b.event.begin_ns + b.event.dur_ns;
                       if (a_end != b_end) return a_end < b_end;
                       return a.event.depth > b.event.depth;
                     });
    for (const WaitingEvent& e : row)
      writer.AddEvent(static_cast<uint32_t>(track + 1), e.event);
  }
  return Ok();
}

void WaitingRows::WriteTicks(TraceWriter& writer) {
  std::stable_sort(values.begin(), values.end(),
                   [](const WaitingValue& a, const WaitingValue& b) {
                     if (a.group != b.group) return a.group < b.group;
                     if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
                     return a.series < b.series;
                   });
  for (size_t i = 0; i < values.size();) {
    const WaitingValue tick = values[i];
    writer.BeginTick(tick.group, tick.time_ns);
    while (i < values.size() && values[i].group == tick.group &&
           values[i].time_ns == tick.time_ns) {
      // The last word on a series counts; an end keeps the value before it.
      const uint32_t series = values[i].series;
      const WaitingValue* value = nullptr;
      bool gone = false;
      for (; i < values.size() && values[i].group == tick.group &&
             values[i].time_ns == tick.time_ns && values[i].series == series;
           ++i) {
        gone = values[i].gone;
        if (!gone) value = &values[i];
      }
      if (series == 0) continue;
      if (value) writer.Set(series, static_cast<int64_t>(value->value));
      if (gone) writer.Gone(series);
    }
    writer.EndTick();
  }
}

}  // namespace sonde

// A whole trace in plain maps, for tests and small tools.

#ifndef SONDE_TESTS_TOOLS_TRACE_CONTENTS_H_
#define SONDE_TESTS_TOOLS_TRACE_CONTENTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "trace/counter_chunk.h"
#include "trace/event_chunk.h"
#include "trace/reader.h"
#include "trace/tables.h"

namespace sonde {

// Everything a trace says. Stops the program if the trace is damaged.
struct TraceContents {
  struct Point {
    int64_t time_ns;
    int64_t value;
    bool gone;
  };

  std::map<uint32_t, std::string> strings;
  std::map<uint32_t, Process> processes;
  std::map<uint32_t, Thread> threads;
  std::map<uint32_t, Track> tracks;
  std::map<uint32_t, Series> series;
  std::map<uint32_t, std::vector<Arg>> args;
  std::map<uint32_t, std::vector<Event>> events;   // by track
  std::map<uint32_t, std::vector<Point>> points;   // by series
  std::map<uint32_t, std::vector<int64_t>> ticks;  // by group
  std::map<uint64_t, Loss> losses;
  std::map<std::string, std::string> meta;

  explicit TraceContents(const TraceReader& reader) {
    std::string payload;
    for (const FrameRef& frame : reader.frames()) {
      CHECK(reader.Read(frame, payload));
      Take(frame.kind, payload);
    }
  }

  static TraceContents OfBytes(std::shared_ptr<std::string> bytes) {
    auto reader = TraceReader::OpenBytes(std::move(bytes), "test");
    CHECK(reader.ok());
    return TraceContents(reader.value());
  }

  // The images of a process, in order.
  std::vector<Event> Images(uint32_t process) const {
    for (const auto& [id, track] : tracks)
      if (track.process == process && track.kind == Track::Kind::kProcess &&
          events.contains(id))
        return events.at(id);
    return {};
  }

  // The series of a name, scope and label; 0 if there is none.
  uint32_t FindSeries(std::string_view name, Series::Scope scope,
                      uint32_t scope_id, std::string_view label = "") const {
    for (const auto& [id, row] : series)
      if (strings.at(row.name) == name && row.scope == scope &&
          row.scope_id == scope_id && strings.at(row.label) == label)
        return id;
    return 0;
  }

 private:
  void Take(FrameKind kind, const std::string& payload) {
    bool ok = true;
    if (kind == FrameKind::kStrings) {
      ok = DecodeStrings(payload, [&](uint32_t id, std::string_view text) {
        strings[id] = text;
      });
      strings[0] = "";
    } else if (kind == FrameKind::kProcesses) {
      ok = DecodeRows<Process>(payload,
                               [&](Process p) { processes[p.number] = p; });
    } else if (kind == FrameKind::kThreads) {
      ok =
          DecodeRows<Thread>(payload, [&](Thread t) { threads[t.number] = t; });
    } else if (kind == FrameKind::kTracks) {
      ok = DecodeRows<Track>(payload, [&](Track t) { tracks[t.id] = t; });
    } else if (kind == FrameKind::kSeries) {
      ok = DecodeRows<Series>(payload, [&](Series s) { series[s.id] = s; });
    } else if (kind == FrameKind::kArgs) {
      ok = DecodeRows<ArgSet>(payload, [&](ArgSet a) { args[a.id] = a.args; });
    } else if (kind == FrameKind::kLosses) {
      ok = DecodeRows<LossRow>(payload,
                               [&](LossRow l) { losses[l.ordinal] = l.row; });
    } else if (kind == FrameKind::kMeta) {
      ok = DecodeRows<MetaEntry>(payload,
                                 [&](MetaEntry m) { meta[m.key] = m.value; });
    } else if (kind == FrameKind::kEvents) {
      EventChunkDecoder decoder;
      EventColumns columns;
      ok = decoder.Open(payload) && decoder.Decode(kMaskAll, columns);
      for (size_t i = 0; ok && i < columns.size(); ++i)
        events[decoder.info().track].push_back(columns.At(i));
    } else if (kind == FrameKind::kCounters) {
      CounterChunkDecoder decoder;
      CounterTicks chunk;
      ok = decoder.Open(payload) && decoder.Decode(chunk);
      if (ok) TakeTicks(decoder.info().group, chunk);
    }
    CHECK(ok);
  }

  void TakeTicks(uint32_t group, const CounterTicks& chunk) {
    uint32_t change = 0, gone = 0;
    for (size_t tick = 0; tick < chunk.size(); ++tick) {
      const int64_t now = chunk.time_ns[tick];
      ticks[group].push_back(now);
      for (; change < chunk.changed_end[tick]; ++change)
        points[chunk.changes[change].series].push_back(
            {now, static_cast<int64_t>(chunk.changes[change].value), false});
      for (; gone < chunk.gone_end[tick]; ++gone)
        points[chunk.gone[gone]].push_back({now, 0, true});
    }
  }
};

}  // namespace sonde

#endif  // SONDE_TESTS_TOOLS_TRACE_CONTENTS_H_

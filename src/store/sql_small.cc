// The tables that are small: read when the trace was opened, shown row by row.

#include <algorithm>

#include "store/event_scan.h"
#include "store/sql_table.h"
#include "trace/fields.h"

namespace sonde {
namespace {

using Cells = std::vector<SqlValue>;

// Rows of a map by id, or the one row whose first column must be equal to
// something.
template <typename Map, typename Fill>
std::unique_ptr<SqlRows> MapRows(const Map& map, const SqlRequest& request,
                                 Fill fill) {
  auto at = map.begin(), end = map.end();
  if (const auto id = request.Equal(0)) {
    at = *id >= 0 && *id <= UINT32_MAX ? map.find(static_cast<uint32_t>(*id))
                                       : map.end();
    end = at == map.end() ? at : std::next(at);
  }
  return ListRows([at, end, fill](Cells& row) mutable {
    if (at == end) return false;
    fill(at->second, row);
    ++at;
    return true;
  });
}

SqlValue NumberOrNull(int64_t v, int64_t none) {
  return v == none ? SqlValue() : SqlValue(v);
}

// The word for a value of an enumeration whose words begin with `first`.
template <typename Enum, typename Words>
SqlValue NameOf(Enum value, const Words& words, Enum first) {
  return words[static_cast<size_t>(value) - static_cast<size_t>(first)];
}

// A list of rows that are not found by a key.
template <typename Row, typename Fill>
std::unique_ptr<SqlRows> NumberedRows(const std::map<uint64_t, Row>& rows,
                                      Fill fill) {
  return ListRows(
      [at = rows.begin(), end = rows.end(), fill](Cells& row) mutable {
        while (at != end && !fill(at->second, row)) ++at;
        return at == end ? false : (++at, true);
      });
}

}  // namespace

std::unique_ptr<SqlRows> OpenSeries(const Store& store,
                                    const SqlRequest& request, std::string&) {
  return MapRows(
      store.series(), request, [&store](const Series& series, Cells& row) {
        const bool of_thread = series.scope == Series::Scope::kThread;
        uint32_t process =
            series.scope == Series::Scope::kProcess ? series.scope_id : 0;
        if (of_thread) {
          const auto thread = store.threads().find(series.scope_id);
          if (thread != store.threads().end()) process = thread->second.process;
        }
        row = {IdOrNull(series.id), TextOrNull(store, series.name),
               TextOrNull(store, series.label), TextOrNull(store, series.unit),
               NameOf(series.kind, kSeriesKinds, Series::Kind::kGauge),
               NameOf(series.scope, kScopes, Series::Scope::kMachine),
               IdOrNull(process), IdOrNull(of_thread ? series.scope_id : 0),
               // Devices are counted from 0.
               series.scope == Series::Scope::kDevice
                   ? SqlValue(int64_t{series.scope_id})
                   : SqlValue(),
               IdOrNull(series.group), TextOrNull(store, series.source)};
      });
}

std::unique_ptr<SqlRows> OpenThreads(const Store& store,
                                     const SqlRequest& request, std::string&) {
  return MapRows(
      store.threads(), request, [&store](const Thread& thread, Cells& row) {
        row = {IdOrNull(thread.number),        NumberOrNull(thread.tid, 0),
               IdOrNull(thread.process),       TextOrNull(store, thread.name),
               TimeOrNull(thread.start_ns),    TimeOrNull(thread.end_ns),
               NumberOrNull(thread.cpu_ns, -1)};
      });
}

std::unique_ptr<SqlRows> OpenProcesses(const Store& store,
                                       const SqlRequest& request,
                                       std::string&) {
  return MapRows(
      store.processes(), request, [&store](const Process& process, Cells& row) {
        const bool has_code = process.exit == Process::Exit::kExited ||
                              process.exit == Process::Exit::kSignaled;
        row = {IdOrNull(process.number),
               NumberOrNull(process.pid, 0),
               IdOrNull(process.parent),
               TextOrNull(store, process.name),
               TextOrNull(store, process.cmdline),
               TimeOrNull(process.start_ns),
               TimeOrNull(process.end_ns),
               process.exit == Process::Exit::kUnknown
                   ? SqlValue()
                   : NameOf(process.exit, kExits, Process::Exit::kUnknown),
               has_code ? SqlValue(int64_t{process.exit_code}) : SqlValue(),
               SqlValue(int64_t{process.execs}),
               NumberOrNull(process.cpu_ns, -1)};
      });
}

std::unique_ptr<SqlRows> OpenTracks(const Store& store,
                                    const SqlRequest& request, std::string&) {
  constexpr int kEvents = 5;
  std::map<uint32_t, int64_t> events;
  // A join opens this table once for each of its rows; it must cost little.
  if (request.Uses(kEvents))
    for (const FrameRef& chunk : store.event_chunks())
      events[chunk.events.track] += chunk.events.count;
  return MapRows(
      store.tracks(), request,
      [&store, events](const Track& track, Cells& row) {
        const auto count = events.find(track.id);
        const auto thread = store.threads().find(track.thread);
        row = {
            IdOrNull(track.id),
            NameOf(track.kind, kTrackKinds, Track::Kind::kThread),
            TextOrNull(store, track.name != 0 || thread == store.threads().end()
                                  ? track.name
                                  : thread->second.name),
            IdOrNull(track.process),
            IdOrNull(track.thread),
            count == events.end() ? int64_t{0} : count->second,
            TextOrNull(store, track.source),
            IdOrNull(track.device),
            IdOrNull(track.parent),
            int64_t{track.order},
            TextOrNull(store, track.clock)};
      });
}

std::unique_ptr<SqlRows> OpenDevices(const Store& store,
                                     const SqlRequest& request, std::string&) {
  return MapRows(store.rows().devices, request,
                 [&store](const Device& device, Cells& row) {
                   row = {IdOrNull(device.id),
                          TextOrNull(store, device.source),
                          TextOrNull(store, device.vendor),
                          TextOrNull(store, device.name),
                          TextOrNull(store, device.uuid),
                          int64_t{device.index}};
                 });
}

std::unique_ptr<SqlRows> OpenModules(const Store& store,
                                     const SqlRequest& request, std::string&) {
  return MapRows(store.rows().modules, request,
                 [&store](const Module& module, Cells& row) {
                   row = {IdOrNull(module.id), TextOrNull(store, module.path),
                          TextOrNull(store, module.build_id)};
                 });
}

// In the order of the file, which is about that of time.
std::unique_ptr<SqlRows> OpenSamples(const Store& store,
                                     const SqlRequest& request, std::string&) {
  const TimeRange window = request.Range(0);
  return ListRows([&store, window, chunk = size_t{0}, at = size_t{0},
                   samples = std::vector<Sample>()](Cells& row) mutable {
    for (;;) {
      for (; at < samples.size(); ++at) {
        const Sample& s = samples[at];
        if (s.time_ns < window.begin_ns || s.time_ns >= window.end_ns) continue;
        row = {s.time_ns,
               IdOrNull(s.thread),
               IdOrNull(s.stack),
               Clamped(s.weight_ns),
               int64_t{(s.flags & Sample::kWaiting) != 0},
               int64_t{(s.flags & Sample::kApproximate) != 0}};
        ++at;
        return true;
      }
      at = 0;
      samples.clear();
      if (chunk == store.sample_chunks().size()) return false;
      const FrameRef& next = store.sample_chunks()[chunk++];
      if (next.samples.end_ns >= window.begin_ns &&
          next.samples.begin_ns < window.end_ns)
        store.ReadSamples(next, samples);
    }
  });
}

std::unique_ptr<SqlRows> OpenStacks(const Store& store,
                                    const SqlRequest& request, std::string&) {
  const auto only = request.Equal(0);
  uint32_t at = 0;  // no stack
  if (!only)
    at = store.stacks().From(1);
  else if (*only > 0 && *only <= UINT32_MAX &&
           store.stacks().Find(static_cast<uint32_t>(*only)) != nullptr)
    at = static_cast<uint32_t>(*only);
  return ListRows([&store, at, one = only.has_value()](Cells& row) mutable {
    if (at == 0) return false;
    const StackNode& node = *store.stacks().Find(at);
    const StackFrame* const known = store.frames().Find(node.frame);
    StackFrame frame = known ? *known : StackFrame();
    // A frame that is only a place is called by its symbol.
    const auto symbol = store.rows().symbols.find({node.frame, 0});
    if (frame.function == 0 && symbol != store.rows().symbols.end()) {
      frame.function = symbol->second.function;
      frame.file = symbol->second.file;
      frame.line = symbol->second.line;
    }
    const auto module = store.rows().modules.find(frame.module);
    row = {int64_t{at},
           IdOrNull(node.parent),
           TextOrNull(store, frame.function),
           TextOrNull(store, module == store.rows().modules.end()
                                 ? 0
                                 : module->second.path),
           TextOrNull(store, frame.file),
           IdOrNull(frame.line),
           IdOrNull(frame.offset)};
    at = one || at == UINT32_MAX ? 0 : store.stacks().From(at + 1);
    return true;
  });
}

std::unique_ptr<SqlRows> OpenArgs(const Store& store, const SqlRequest& request,
                                  std::string&) {
  auto set = store.rows().args.begin(), end = store.rows().args.end();
  if (const auto id = request.Equal(0)) {
    set = *id > 0 && *id <= UINT32_MAX
              ? store.rows().args.find(static_cast<uint32_t>(*id))
              : end;
    end = set == end ? end : std::next(set);
  }
  size_t at = 0;
  return ListRows([&store, set, end, at](Cells& row) mutable {
    while (set != end && at >= set->second.size()) {
      ++set;
      at = 0;
    }
    if (set == end) return false;
    const Arg& arg = set->second[at++];
    SqlValue value;
    if (arg.type == Arg::Type::kInt) value = arg.int_value;
    if (arg.type == Arg::Type::kDouble) value = arg.double_value;
    if (arg.type == Arg::Type::kString) value = store.Str(arg.string_value);
    row = {static_cast<int64_t>(set->first), TextOrNull(store, arg.key), value};
    return true;
  });
}

std::unique_ptr<SqlRows> OpenLosses(const Store& store, const SqlRequest&,
                                    std::string&) {
  return ListRows(
      [losses = store.losses(), at = size_t{0}](Cells& row) mutable {
        if (at >= losses.size()) return false;
        const Loss& loss = losses[at++];
        row = {std::string_view(loss.reason),
               std::string_view(loss.detail),
               loss.count == 0 ? SqlValue() : SqlValue(Clamped(loss.count)),
               TimeOrNull(loss.from_ns),
               TimeOrNull(loss.to_ns),
               loss.source.empty() ? SqlValue()
                                   : SqlValue(std::string_view(loss.source))};
        return true;
      });
}

std::unique_ptr<SqlRows> OpenNotCollected(const Store& store, const SqlRequest&,
                                          std::string&) {
  return NumberedRows(
      store.rows().not_collected, [](const NotCollected& one, Cells& row) {
        row = {std::string_view(one.source), std::string_view(one.why),
               one.cure.empty() ? SqlValue()
                                : SqlValue(std::string_view(one.cure))};
        return !one.source.empty();
      });
}

std::unique_ptr<SqlRows> OpenRun(const Store& store, const SqlRequest&,
                                 std::string&) {
  return ListRows([at = store.rows().meta.begin(),
                   end = store.rows().meta.end()](Cells& row) mutable {
    if (at == end) return false;
    row = {std::string_view(at->first), std::string_view(at->second)};
    ++at;
    return true;
  });
}

std::unique_ptr<SqlRows> OpenClocks(const Store& store, const SqlRequest&,
                                    std::string&) {
  return ListRows([&store, at = size_t{0}](Cells& row) mutable {
    if (at >= store.clocks().size()) return false;
    const ClockPair& pair = store.clocks()[at++];
    row = {pair.monotonic_ns, pair.realtime_ns, pair.boottime_ns};
    return true;
  });
}

// Arrows: the slice that began one and a slice that ended it. Only chunks that
// have arrows are decoded.
std::unique_ptr<SqlRows> OpenFlows(const Store& store,
                                   const SqlRequest& request,
                                   std::string& error) {
  using Ends = std::vector<std::pair<uint64_t, int64_t>>;  // flow, event
  Ends out, in;
  std::string payload;
  EventColumns events;
  for (size_t at = 0; at < store.event_chunks().size(); ++at) {
    const FrameRef& chunk = store.event_chunks()[at];
    if (request.Late(error)) return nullptr;
    EventChunkDecoder decoder;
    if (!store.OpenEvents(chunk, payload, decoder) ||
        (!decoder.Has(EventColumn::kFlowIn) &&
         !decoder.Has(EventColumn::kFlowOut)))
      continue;
    if (!decoder.Decode(kMaskRare, events)) {
      store.NoteDamage(chunk);
      continue;
    }
    for (uint32_t i = 0; i < chunk.events.count; ++i) {
      const int64_t id = static_cast<int64_t>((at << kEventIdBits) + i);
      if (const uint64_t flow = events.Rare(EventColumn::kFlowOut, i))
        out.emplace_back(flow, id);
      if (const uint64_t flow = events.Rare(EventColumn::kFlowIn, i))
        in.emplace_back(flow, id);
    }
  }
  std::sort(out.begin(), out.end());
  std::sort(in.begin(), in.end());
  return ListRows([out = std::move(out), in = std::move(in), from = size_t{0},
                   to = size_t{0}](Cells& row) mutable {
    for (; to < in.size(); ++to) {
      while (from < out.size() && out[from].first < in[to].first) ++from;
      if (from == out.size()) return false;
      if (out[from].first != in[to].first) continue;
      row = {static_cast<int64_t>(in[to].first), out[from].second,
             in[to].second};
      ++to;
      return true;
    }
    return false;
  });
}

}  // namespace sonde

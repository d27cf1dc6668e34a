// The tables that are small: read when the trace was opened, shown row by row.

#include <algorithm>

#include "store/event_scan.h"
#include "store/sql_table.h"

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

std::string_view NameOf(Series::Scope scope) {
  switch (scope) {
    case Series::Scope::kMachine:
      return "machine";
    case Series::Scope::kProcess:
      return "process";
    case Series::Scope::kThread:
      return "thread";
    case Series::Scope::kDevice:
      return "device";
  }
  return "?";
}

std::string_view NameOf(Track::Kind kind) {
  switch (kind) {
    case Track::Kind::kThread:
      return "thread";
    case Track::Kind::kProcess:
      return "process";
    case Track::Kind::kMachine:
      return "machine";
    case Track::Kind::kCustom:
      return "custom";
  }
  return "?";
}

SqlValue NameOf(Process::Exit exit) {
  switch (exit) {
    case Process::Exit::kUnknown:
      return {};
    case Process::Exit::kExited:
      return std::string_view("exited");
    case Process::Exit::kSignaled:
      return std::string_view("signaled");
    case Process::Exit::kRunning:
      return std::string_view("running");
  }
  return {};
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
               std::string_view(series.kind == Series::Kind::kTotal ? "total"
                                                                    : "gauge"),
               NameOf(series.scope), IdOrNull(process),
               IdOrNull(of_thread ? series.scope_id : 0),
               // Devices are counted from 0.
               series.scope == Series::Scope::kDevice
                   ? SqlValue(int64_t{series.scope_id})
                   : SqlValue(),
               IdOrNull(series.group)};
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
               NameOf(process.exit),
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
            NameOf(track.kind),
            TextOrNull(store, track.name != 0 || thread == store.threads().end()
                                  ? track.name
                                  : thread->second.name),
            IdOrNull(track.process),
            IdOrNull(track.thread),
            count == events.end() ? int64_t{0} : count->second};
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
    const StackFrame frame = known ? *known : StackFrame();
    row = {int64_t{at},
           IdOrNull(node.parent),
           TextOrNull(store, frame.function),
           TextOrNull(store, frame.module),
           TextOrNull(store, frame.file),
           IdOrNull(frame.line),
           IdOrNull(frame.offset)};
    at = one || at == UINT32_MAX ? 0 : store.stacks().From(at + 1);
    return true;
  });
}

std::unique_ptr<SqlRows> OpenArgs(const Store& store, const SqlRequest& request,
                                  std::string&) {
  auto set = store.arg_sets().begin(), end = store.arg_sets().end();
  if (const auto id = request.Equal(0)) {
    set = *id > 0 && *id <= UINT32_MAX
              ? store.arg_sets().find(static_cast<uint32_t>(*id))
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
        row = {std::string_view(loss.reason), std::string_view(loss.detail),
               loss.count == 0 ? SqlValue() : SqlValue(Clamped(loss.count)),
               TimeOrNull(loss.from_ns), TimeOrNull(loss.to_ns)};
        return true;
      });
}

std::unique_ptr<SqlRows> OpenRun(const Store& store, const SqlRequest&,
                                 std::string&) {
  return ListRows([at = store.meta().begin(),
                   end = store.meta().end()](Cells& row) mutable {
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

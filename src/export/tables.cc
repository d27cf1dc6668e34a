#include "export/tables.h"

#include <algorithm>
#include <unordered_map>

namespace sonde {
namespace {

const char* KindName(Track::Kind kind) {
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

// Empty if how it ended was not collected.
const char* ExitName(Process::Exit exit) {
  switch (exit) {
    case Process::Exit::kExited:
      return "exited";
    case Process::Exit::kSignaled:
      return "signaled";
    case Process::Exit::kRunning:
      return "running";
    case Process::Exit::kUnknown:
      break;
  }
  return "";
}

const char* ScopeName(Series::Scope scope) {
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

constexpr TableColumn kRunColumns[] = {{"key", "TEXT"}, {"value", "TEXT"}};
void RunRows(const Store& store, TableSink& sink) {
  for (const auto& [key, value] : store.meta()) {
    sink.Text(key);
    sink.Text(value);
    if (!sink.EndRow()) return;
  }
}

constexpr TableColumn kProcessColumns[] = {
    {"id", "INTEGER"},     {"pid", "INTEGER"},    {"parent_id", "INTEGER"},
    {"name", "TEXT"},      {"cmdline", "TEXT"},   {"start_ts", "INTEGER"},
    {"end_ts", "INTEGER"}, {"exit_kind", "TEXT"}, {"exit_code", "INTEGER"},
    {"execs", "INTEGER"},  {"cpu_ns", "INTEGER"}};
void ProcessRows(const Store& store, TableSink& sink) {
  for (const auto& [number, row] : store.processes()) {
    sink.Int(number);
    row.pid == 0 ? sink.Null() : sink.Int(row.pid);
    sink.Id(row.parent);
    sink.Name(store.Str(row.name));
    sink.Name(store.Str(row.cmdline));
    sink.Time(row.start_ns);
    sink.Time(row.end_ns);
    sink.Name(ExitName(row.exit));
    if (row.exit == Process::Exit::kExited ||
        row.exit == Process::Exit::kSignaled)
      sink.Int(row.exit_code);
    else
      sink.Null();
    sink.Int(row.execs);
    row.cpu_ns < 0 ? sink.Null() : sink.Int(row.cpu_ns);
    if (!sink.EndRow()) return;
  }
}

constexpr TableColumn kThreadColumns[] = {
    {"id", "INTEGER"},    {"tid", "INTEGER"},      {"process_id", "INTEGER"},
    {"name", "TEXT"},     {"start_ts", "INTEGER"}, {"end_ts", "INTEGER"},
    {"cpu_ns", "INTEGER"}};
void ThreadRows(const Store& store, TableSink& sink) {
  for (const auto& [number, row] : store.threads()) {
    sink.Int(number);
    row.tid == 0 ? sink.Null() : sink.Int(row.tid);
    sink.Id(row.process);
    sink.Name(store.Str(row.name));
    sink.Time(row.start_ns);
    sink.Time(row.end_ns);
    row.cpu_ns < 0 ? sink.Null() : sink.Int(row.cpu_ns);
    if (!sink.EndRow()) return;
  }
}

constexpr TableColumn kTrackColumns[] = {
    {"id", "INTEGER"},         {"kind", "TEXT"},         {"name", "TEXT"},
    {"process_id", "INTEGER"}, {"thread_id", "INTEGER"}, {"events", "INTEGER"}};
void TrackRows(const Store& store, TableSink& sink) {
  std::unordered_map<uint32_t, int64_t> events;
  for (const FrameRef& chunk : store.event_chunks())
    events[chunk.events.track] += chunk.events.count;
  for (const auto& [id, row] : store.tracks()) {
    sink.Int(id);
    sink.Text(KindName(row.kind));
    sink.Name(store.Str(row.name));
    sink.Id(row.process);
    sink.Id(row.thread);
    sink.Int(events[id]);
    if (!sink.EndRow()) return;
  }
}

constexpr TableColumn kEventColumns[] = {
    {"id", "INTEGER"},        {"ts", "INTEGER"},      {"dur", "INTEGER"},
    {"track_id", "INTEGER"},  {"name", "TEXT"},       {"name_id", "INTEGER"},
    {"category", "TEXT"},     {"depth", "INTEGER"},   {"arg_set_id", "INTEGER"},
    {"stack_id", "INTEGER"},  {"flow_in", "INTEGER"}, {"flow_out", "INTEGER"},
    {"unfinished", "INTEGER"}};

void EventRows(const Store& store, TableSink& sink, Event::Kind kind) {
  EventColumns events;
  for (size_t at = 0; at < store.event_chunks().size(); ++at) {
    const FrameRef& chunk = store.event_chunks()[at];
    if (!store.ReadEvents(chunk, kMaskAll, events)) continue;
    for (size_t i = 0; i < events.size(); ++i) {
      if (events.Rare(EventColumn::kKind, i) != static_cast<uint64_t>(kind))
        continue;
      // The number by which `sonde query` knows it.
      sink.Int(static_cast<int64_t>(at * kMaxChunkEvents + i));
      sink.Int(events.end_ns[i] - events.dur_ns[i]);
      sink.Int(events.dur_ns[i]);
      sink.Int(chunk.events.track);
      sink.Name(store.Str(events.name[i]));
      sink.Id(events.name[i]);
      sink.Name(store.Str(
          static_cast<uint32_t>(events.Rare(EventColumn::kCategory, i))));
      sink.Int(events.depth[i]);
      sink.Id(events.Rare(EventColumn::kArgs, i));
      sink.Id(events.Rare(EventColumn::kStack, i));
      sink.Id(events.Rare(EventColumn::kFlowIn, i));
      sink.Id(events.Rare(EventColumn::kFlowOut, i));
      sink.Int((events.Rare(EventColumn::kFlags, i) & Event::kUnfinished) != 0);
      if (!sink.EndRow()) return;
    }
  }
}
void SliceRows(const Store& store, TableSink& sink) {
  EventRows(store, sink, Event::Kind::kSlice);
}
void InstantRows(const Store& store, TableSink& sink) {
  EventRows(store, sink, Event::Kind::kInstant);
}

constexpr TableColumn kArgColumns[] = {
    {"set_id", "INTEGER"}, {"key", "TEXT"}, {"value", ""}};
void ArgRows(const Store& store, TableSink& sink) {
  for (const auto& [set, args] : store.arg_sets()) {
    for (const Arg& arg : args) {
      sink.Int(set);
      sink.Name(store.Str(arg.key));
      if (arg.type == Arg::Type::kDouble)
        sink.Real(arg.double_value);
      else if (arg.type == Arg::Type::kString)
        sink.Text(store.Str(arg.string_value));
      else
        sink.Int(arg.int_value);
      if (!sink.EndRow()) return;
    }
  }
}

constexpr TableColumn kStackColumns[] = {
    {"id", "INTEGER"},    {"parent_id", "INTEGER"}, {"function", "TEXT"},
    {"module", "TEXT"},   {"file", "TEXT"},         {"line", "INTEGER"},
    {"offset", "INTEGER"}};
void StackRows(const Store& store, TableSink& sink) {
  for (size_t id = 1; id < store.stacks().size(); ++id) {
    const StackNode& node = store.stacks()[id];
    const StackFrame frame = node.frame < store.frames().size()
                                 ? store.frames()[node.frame]
                                 : StackFrame{};
    sink.Int(static_cast<int64_t>(id));
    sink.Id(node.parent);
    sink.Name(store.Str(frame.function));
    sink.Name(store.Str(frame.module));
    sink.Name(store.Str(frame.file));
    sink.Id(frame.line);
    sink.Id(frame.offset);
    if (!sink.EndRow()) return;
  }
}

constexpr TableColumn kSeriesColumns[] = {
    {"id", "INTEGER"},         {"name", "TEXT"},
    {"label", "TEXT"},         {"unit", "TEXT"},
    {"kind", "TEXT"},          {"scope", "TEXT"},
    {"process_id", "INTEGER"}, {"thread_id", "INTEGER"},
    {"group_id", "INTEGER"}};
void SeriesRows(const Store& store, TableSink& sink) {
  for (const auto& [id, row] : store.series()) {
    uint32_t process = 0, thread = 0;
    if (row.scope == Series::Scope::kProcess) process = row.scope_id;
    if (row.scope == Series::Scope::kThread) {
      thread = row.scope_id;
      const auto at = store.threads().find(thread);
      if (at != store.threads().end()) process = at->second.process;
    }
    sink.Int(id);
    sink.Name(store.Str(row.name));
    sink.Name(store.Str(row.label));
    sink.Name(store.Str(row.unit));
    sink.Text(row.kind == Series::Kind::kTotal ? "total" : "gauge");
    sink.Text(ScopeName(row.scope));
    sink.Id(process);
    sink.Id(thread);
    sink.Id(row.group);
    if (!sink.EndRow()) return;
  }
}

constexpr TableColumn kCounterColumns[] = {
    {"series_id", "INTEGER"}, {"ts", "INTEGER"}, {"value", ""}};
// A row where the value changed; a NULL where the series ended.
void CounterRows(const Store& store, TableSink& sink) {
  std::unordered_map<uint32_t, uint64_t> live;
  CounterTicks ticks;
  for (const FrameRef& chunk : store.counter_chunks()) {
    if (!store.ReadTicks(chunk, ticks)) continue;
    size_t change = 0, gone = 0;
    for (size_t tick = 0; tick < ticks.size(); ++tick) {
      for (; change < ticks.changed_end[tick]; ++change) {
        const auto [series, bits] = ticks.changes[change];
        // Each chunk begins with all values, also those that did not change.
        const auto [at, first] = live.try_emplace(series, bits);
        if (!first && at->second == bits) continue;
        at->second = bits;
        const auto row = store.series().find(series);
        const bool is_double = row != store.series().end() &&
                               row->second.type == Series::Type::kDouble;
        sink.Int(series);
        sink.Int(ticks.time_ns[tick]);
        is_double ? sink.Real(ValueAsDouble(bits, Series::Type::kDouble))
                  : sink.Int(static_cast<int64_t>(bits));
        if (!sink.EndRow()) return;
      }
      for (; gone < ticks.gone_end[tick]; ++gone) {
        if (live.erase(ticks.gone[gone]) == 0) continue;
        sink.Int(ticks.gone[gone]);
        sink.Int(ticks.time_ns[tick]);
        sink.Null();
        if (!sink.EndRow()) return;
      }
    }
  }
}

constexpr TableColumn kClockColumns[] = {
    {"ts", "INTEGER"}, {"realtime_ns", "INTEGER"}, {"boottime_ns", "INTEGER"}};
void ClockRows(const Store& store, TableSink& sink) {
  for (const ClockPair& pair : store.clocks()) {
    sink.Int(pair.monotonic_ns);
    sink.Int(pair.realtime_ns);
    sink.Int(pair.boottime_ns);
    if (!sink.EndRow()) return;
  }
}

constexpr TableColumn kLossColumns[] = {{"reason", "TEXT"},
                                        {"detail", "TEXT"},
                                        {"count", "INTEGER"},
                                        {"from_ts", "INTEGER"},
                                        {"to_ts", "INTEGER"}};
void LossRows(const Store& store, TableSink& sink) {
  for (const Loss& loss : store.losses()) {
    sink.Text(loss.reason);
    sink.Text(loss.detail);
    sink.Id(std::min(loss.count, uint64_t{INT64_MAX}));
    sink.Time(loss.from_ns);
    sink.Time(loss.to_ns);
    if (!sink.EndRow()) return;
  }
}

}  // namespace

std::span<const ExportTable> ExportTables() {
  static constexpr ExportTable kTables[] = {
      {"run", kRunColumns, RunRows},
      {"process", kProcessColumns, ProcessRows},
      {"thread", kThreadColumns, ThreadRows},
      {"track", kTrackColumns, TrackRows},
      {"slice", kEventColumns, SliceRows},
      {"instant", kEventColumns, InstantRows},
      {"arg", kArgColumns, ArgRows},
      {"stack", kStackColumns, StackRows},
      {"series", kSeriesColumns, SeriesRows},
      {"counter", kCounterColumns, CounterRows},
      {"clock", kClockColumns, ClockRows},
      {"loss", kLossColumns, LossRows},
  };
  return kTables;
}

const ExportTable* FindExportTable(std::string_view name) {
  for (const ExportTable& table : ExportTables())
    if (name == table.name) return &table;
  return nullptr;
}

}  // namespace sonde

// The tables that are small: read when the trace was opened, shown row by row.

#include <algorithm>
#include <list>

#include "store/event_cells.h"
#include "store/event_scan.h"
#include "store/sql_table.h"
#include "trace/fields.h"

namespace sonde {
namespace {

using Cells = std::vector<SqlValue>;

// All of a map, or the one entry whose id the first column must be equal to.
template <typename Map>
auto EntriesOf(const Map& map, const SqlRequest& request) {
  const auto id = request.Equal(0);
  if (!id) return std::pair(map.begin(), map.end());
  const auto at = *id >= 0 && *id <= UINT32_MAX
                      ? map.find(static_cast<uint32_t>(*id))
                      : map.end();
  return std::pair(at, at == map.end() ? at : std::next(at));
}

template <typename Map, typename Fill>
std::unique_ptr<SqlRows> MapRows(const Map& map, const SqlRequest& request,
                                 Fill fill) {
  auto [at, end] = EntriesOf(map, request);
  return ListRows([at = at, end = end, fill](Cells& row) mutable {
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

// Calls `add(name, ending of the name, type, cell)` for each field of a row.
// What is not known is NULL.
template <typename Add>
struct FieldColumns {
  const Store* store;  // null: for the names and types alone
  Add add;

  template <typename T>
  void Number(const char* name, T v) {
    if constexpr (std::is_signed_v<T>)
      add(name, "", "INTEGER", SqlValue(int64_t{v}));
    else
      add(name, "", "INTEGER", SqlValue(Clamped(v)));
  }
  void Time(const char* name, int64_t v) {
    add(name, "_ts", "INTEGER", TimeOrNull(v));
  }
  void Cost(const char* name, int64_t v) {
    add(name, "_ns", "INTEGER", NumberOrNull(v, -1));
  }
  void String(const char* name, uint32_t v) {
    add(name, "", "TEXT", store ? TextOrNull(*store, v) : SqlValue());
  }
  void Ref(FrameKind, const char* name, uint32_t v) {
    add(name, "_id", "INTEGER", IdOrNull(v));
  }
  template <typename Enum, typename Words>
  void Choice(const char* name, Enum v, const Words& words, Enum first) {
    add(name, "", "TEXT", NameOf(v, words, first));
  }
};
template <typename Add>
FieldColumns(const Store*, Add) -> FieldColumns<Add>;

template <typename Row>
std::vector<SqlColumn> ColumnsOf() {
  static std::list<std::string> names;
  std::vector<SqlColumn> out = {
      {"id", "INTEGER", kUseEqual | kUseOrder | kUseKey}};
  FieldColumns fields{
      nullptr, [&](const std::string& name, const char* ending,
                   const char* type, const SqlValue&) {
        out.push_back({names.emplace_back(name + ending).c_str(), type});
      }};
  const Row row;
  VisitFields(fields, row);
  return out;
}

template <typename Row>
std::unique_ptr<SqlRows> OpenPlain(const Store& store,
                                   const SqlRequest& request, std::string&) {
  return MapRows(
      store.rows().Of<Row>(), request, [&store](const Row& row, Cells& cells) {
        cells = {IdOrNull(row.id)};
        FieldColumns fields{&store,
                            [&](auto&&, auto&&, auto&&, const SqlValue& cell) {
                              cells.push_back(cell);
                            }};
        VisitFields(fields, row);
      });
}

// Samples in the order of the file, which is about that of time.
class SampleRows : public SqlRows {
 public:
  SampleRows(const Store& store, const SqlRequest& request)
      : store_(store), deadline_(request.deadline), window_(request.Range(0)) {}

  int Next() override {
    for (;;) {
      while (next_ < samples_.size()) {
        const Sample& s = samples_[next_++];
        if (s.time_ns >= window_.begin_ns && s.time_ns < window_.end_ns)
          return SQLITE_ROW;
      }
      // A chunk of few bytes has thousands of samples.
      if (deadline_ && deadline_->passed()) return SQLITE_INTERRUPT;
      if (chunk_ == store_.sample_chunks().size()) return SQLITE_DONE;
      const FrameRef& chunk = store_.sample_chunks()[chunk_++];
      next_ = 0;
      samples_.clear();
      if (chunk.samples.end_ns >= window_.begin_ns &&
          chunk.samples.begin_ns < window_.end_ns)
        store_.ReadSamples(chunk, samples_);
    }
  }
  SqlValue Column(int column) override {
    const Sample& s = samples_[next_ - 1];
    switch (column) {
      case 0:
        return s.time_ns;
      case 1:
        return IdOrNull(s.thread);
      case 2:
        return IdOrNull(s.stack);
      case 3:
        return Clamped(s.weight_ns);
      case 4:
        return int64_t{(s.flags & Sample::kWaiting) != 0};
      default:
        return int64_t{(s.flags & Sample::kApproximate) != 0};
    }
  }
  int64_t Id() override { return static_cast<int64_t>(chunk_ << 32 | next_); }

 private:
  const Store& store_;
  const SqlDeadline* const deadline_;
  const TimeRange window_;
  std::vector<Sample> samples_;
  size_t chunk_ = 0, next_ = 0;  // behind the one that is shown
};

}  // namespace

std::vector<SqlTable> PlainRowTables() {
  std::vector<SqlTable> out;
  ForEachPlainKind([&]<typename Row>(const PlainKind<Row>& kind) {
    static const std::vector<SqlColumn> kColumns = ColumnsOf<Row>();
    out.push_back({kind.word, kind.what, kColumns,
                   [](const Store& store) {
                     return static_cast<double>(store.rows().Of<Row>().size());
                   },
                   &OpenPlain<Row>});
  });
  return out;
}

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
        row = {IdOrNull(series.id),
               TextOrNull(store, series.name),
               TextOrNull(store, series.label),
               TextOrNull(store, series.unit),
               NameOf(series.kind, kSeriesKinds, Series::Kind::kGauge),
               NameOf(series.scope, kScopes, Series::Scope::kMachine),
               IdOrNull(process),
               IdOrNull(of_thread ? series.scope_id : 0),
               IdOrNull(series.device),
               IdOrNull(series.group),
               TextOrNull(store, series.source)};
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

std::unique_ptr<SqlRows> OpenSamples(const Store& store,
                                     const SqlRequest& request, std::string&) {
  return std::make_unique<SampleRows>(store, request);
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
    const RowsById<Module>& modules = store.rows().Of<Module>();
    const auto module = modules.find(frame.module);
    row = {int64_t{at},
           IdOrNull(node.parent),
           TextOrNull(store, frame.function),
           TextOrNull(store, module == modules.end() ? 0 : module->second.path),
           TextOrNull(store, frame.file),
           IdOrNull(frame.line),
           IdOrNull(frame.offset)};
    at = one || at == UINT32_MAX ? 0 : store.stacks().From(at + 1);
    return true;
  });
}

std::unique_ptr<SqlRows> OpenArgs(const Store& store, const SqlRequest& request,
                                  std::string&) {
  const auto [first, last] = EntriesOf(store.rows().args, request);
  return ListRows([&store, set = first, end = last,
                   at = size_t{0}](Cells& row) mutable {
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
  return SharedRows(store.KeptLosses(), [](const Loss& loss) -> Cells {
    return {std::string_view(loss.reason),
            std::string_view(loss.detail),
            loss.count == 0 ? SqlValue() : SqlValue(Clamped(loss.count)),
            TimeOrNull(loss.from_ns),
            TimeOrNull(loss.to_ns),
            loss.source.empty() ? SqlValue()
                                : SqlValue(std::string_view(loss.source))};
  });
}

std::unique_ptr<SqlRows> OpenNotCollected(const Store& store, const SqlRequest&,
                                          std::string&) {
  return ListRows([at = store.rows().not_collected.begin(),
                   end = store.rows().not_collected.end()](Cells& row) mutable {
    while (at != end && at->second.source.empty()) ++at;
    if (at == end) return false;
    const NotCollected& one = (at++)->second;
    row = {
        std::string_view(one.source), std::string_view(one.why),
        one.cure.empty() ? SqlValue() : SqlValue(std::string_view(one.cure))};
    return true;
  });
}

std::unique_ptr<SqlRows> OpenRun(const Store& store, const SqlRequest&,
                                 std::string&) {
  return RowsIn(store.rows().meta, [](const auto& one) -> Cells {
    return {std::string_view(one.first), std::string_view(one.second)};
  });
}

std::unique_ptr<SqlRows> OpenClocks(const Store& store, const SqlRequest&,
                                    std::string&) {
  return RowsIn(store.clocks(), [](const ClockPair& pair) -> Cells {
    return {pair.monotonic_ns, pair.realtime_ns, pair.boottime_ns};
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

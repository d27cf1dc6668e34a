// Chrome Trace Event JSON: read by Perfetto, chrome://tracing, speedscope.
//
//     {"displayTimeUnit":"ns","traceEvents":[
//     {"ph":"M",...},             names of processes and rows
//     {"ph":"X",...}, "i"         slices and instants, chunk by chunk
//     {"ph":"s",...},{"ph":"f"}   arrows
//     {"ph":"C",...}              counters
//     {"ph":"i","name":"loss"}    what is missing
//     ],"metadata":{...}}
//
// Into a pipe only the array is written: a reader takes an array that was cut
// off, but not an object. docs/formats/chrome.md is the page for users.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "base/version.h"
#include "export/chrome_counters.h"
#include "export/chrome_events.h"
#include "export/chrome_ids.h"
#include "export/exporter.h"
#include "export/flows.h"
#include "export/lanes.h"
#include "export/output.h"

namespace sonde {
namespace {

// More lanes than this are not searched; each slice gets one of its own.
constexpr size_t kMaxLanes = 256;
// Of one event. A set is named in a few bytes by each of many events: looking
// through a large one would take far longer than what is written for it.
constexpr size_t kMaxArgs = 4096;
constexpr size_t kMaxStackFrames = 256, kMaxStackBytes = 1 << 20;

// Appends members to an argument object; a key that is there already is left
// out, because readers differ in which of two they take. So is what follows
// kMaxArgsBytes; how many these are is the last member.
class ArgsText {
 public:
  void Clear() {
    text_.clear();
    keys_.clear();
    many_.clear();
    left_out_ = 0;
  }
  std::string* Key(std::string_view key) {
    if (text_.size() > kMaxArgsBytes) {
      ++left_out_;
      return nullptr;
    }
    if (!IsNew(key)) return nullptr;
    text_ += text_.empty() ? '{' : ',';
    AppendQuoted(key, text_);
    text_ += ':';
    return &text_;
  }
  void LeaveOut(size_t count) { left_out_ += count; }
  std::string_view Done() {
    if (left_out_ > 0) text_ += fmt::format(",\"args_left_out\":{}", left_out_);
    if (!text_.empty()) text_ += '}';
    return text_;
  }

 private:
  static constexpr size_t kMaxArgsBytes = 16 << 20;
  static constexpr size_t kFewKeys = 16;  // are looked through

  bool IsNew(std::string_view key) {
    if (keys_.size() < kFewKeys) {
      if (std::find(keys_.begin(), keys_.end(), key) != keys_.end())
        return false;
      keys_.push_back(key);
      return true;
    }
    if (many_.empty()) many_.insert(keys_.begin(), keys_.end());
    return many_.insert(key).second;
  }

  std::string text_;
  std::vector<std::string_view> keys_;
  std::unordered_set<std::string_view> many_;
  uint64_t left_out_ = 0;
};

class ChromeExport {
 public:
  ChromeExport(const Store& store, const ExportOptions& options, Output& out)
      : store_(store),
        options_(options),
        out_(out),
        base_ns_(store.range().begin_ns),
        ids_(store),
        events_(out, base_ns_),
        names_(store),
        flows_([this](uint32_t id, const FlowEnd& from, const FlowEnd& to,
                      int64_t to_ns) {
          events_.Flow('s', id, from.pid, from.tid, from.moment_ns);
          events_.Flow('f', id, to.pid, to.tid, to_ns);
        }) {}

  Result<ExportSummary> Run() {
    const bool object = !out_.streaming();
    out_.Text(object ? "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[" : "[");
    Processes();
    Events();
    flows_.Finish();
    ChromeCounters counters(store_, ids_, events_);
    summary_.counter_values = counters.Write(options_);
    Losses();
    out_.Text("\n]");
    if (object) Metadata();
    out_.Text(object ? "}\n" : "\n");
    summary_.bytes = out_.bytes();
    TRY_OK(out_.Commit());
    return summary_;
  }

 private:
  // One line of the viewer.
  struct Row {
    uint32_t pid = 0;
    Track::Kind kind = Track::Kind::kCustom;
    std::string name;
    uint32_t order = 0;
    struct LaneRow {
      Lane lane;
      uint32_t tid;
      std::string prefix;
    };
    std::vector<LaneRow> lanes;
    uint32_t spilled = 0;  // lanes that are not kept
  };

  void Name(std::string_view what, uint32_t pid, uint32_t tid,
            std::string_view name) {
    json_.clear();
    AppendQuoted(name.empty() ? "?" : name, json_);
    events_.Meta(what, pid, tid, "name", json_);
  }

  void Processes() {
    Name("process_name", ChromeIds::kMachine, 0, "machine");
    events_.Meta("process_sort_index", ChromeIds::kMachine, 0, "sort_index",
                 "0");
    for (const auto& [number, process] : store_.processes()) {
      const uint32_t pid = ids_.PidOf(number);
      Name("process_name", pid, 0, store_.Str(process.name));
      events_.Meta("process_sort_index", pid, 0, "sort_index",
                   std::to_string(std::min(number, uint32_t{INT32_MAX})));
      std::string labels = fmt::format("#{}", number);
      if (static_cast<int64_t>(pid) != process.pid)
        labels += fmt::format(", pid {}", process.pid);
      if (process.exit == Process::Exit::kExited)
        labels += fmt::format(", exit {}", process.exit_code);
      if (process.exit == Process::Exit::kSignaled)
        labels += fmt::format(", signal {}", process.exit_code);
      if (process.cmdline != 0)
        labels +=
            fmt::format(", {}", store_.Str(process.cmdline).substr(0, 200));
      json_.clear();
      AppendQuoted(labels, json_);
      events_.Meta("process_labels", pid, 0, "labels", json_);
    }
  }

  // The row of a track, named on first use: rows without events stay away.
  Row& RowOf(uint32_t id) {
    Row& row = rows_[id];
    if (!row.lanes.empty()) return row;
    const auto at = store_.tracks().find(id);
    const Track track = at == store_.tracks().end() ? Track{} : at->second;
    row.kind = track.kind;
    row.pid = ids_.PidOf(track.process);
    row.order = static_cast<uint32_t>(rows_.size());
    row.name = store_.Str(track.name);
    const auto thread = store_.threads().find(track.thread);
    if (track.kind == Track::Kind::kThread &&
        thread != store_.threads().end()) {
      if (thread->second.name != 0) row.name = store_.Str(thread->second.name);
      // A thread that had no row of its own knows its process better.
      if (track.process == 0) row.pid = ids_.PidOf(thread->second.process);
    }
    if (row.name.empty()) row.name = fmt::format("track {}", id);
    uint32_t tid = ids_.TidOf(id);
    row.lanes.push_back(MakeLane(row, tid != 0 ? tid : ids_.NewTid(), 0));
    return row;
  }

  Row::LaneRow MakeLane(Row& row, uint32_t tid, size_t number) {
    Name("thread_name", row.pid, tid,
         number == 0 ? row.name : fmt::format("{} lane {}", row.name, number));
    const uint64_t order =
        uint64_t{row.order} * (kMaxLanes + 1) + std::min(number, kMaxLanes);
    events_.Meta("thread_sort_index", row.pid, tid, "sort_index",
                 std::to_string(std::min(order, uint64_t{INT32_MAX})));
    return {Lane(budget_), tid, ChromeEvents::SlicePrefix(row.pid, tid)};
  }

  // The first lane in which the slice nests.
  Row::LaneRow& LaneFor(Row& row, int64_t begin_ns, int64_t end_ns,
                        uint16_t depth) {
    for (Row::LaneRow& lane : row.lanes)
      if (lane.lane.Take(begin_ns, end_ns, depth)) return lane;
    if (row.lanes.size() < kMaxLanes) {
      row.lanes.push_back(MakeLane(row, ids_.NewTid(), row.lanes.size()));
    } else {
      // The last one is taken over by a lane of the same look, used once.
      row.lanes.back() =
          MakeLane(row, ids_.NewTid(), kMaxLanes + row.spilled++);
    }
    row.lanes.back().lane.Take(begin_ns, end_ns, depth);
    return row.lanes.back();
  }

  void Events() {
    // In the order of their ends, whatever order they were written in: lanes
    // need it.
    std::vector<const FrameRef*> chunks;
    for (const FrameRef& chunk : store_.event_chunks())
      chunks.push_back(&chunk);
    std::stable_sort(chunks.begin(), chunks.end(),
                     [](const FrameRef* a, const FrameRef* b) {
                       return a->events.first_end_ns < b->events.first_end_ns;
                     });
    EventColumns columns;
    for (size_t i = 0; i < chunks.size() && !out_.failed(); ++i) {
      if (options_.progress)
        options_.progress(static_cast<double>(i) /
                          static_cast<double>(chunks.size()));
      if (store_.ReadEvents(*chunks[i], kMaskAll, columns))
        Chunk(chunks[i]->events, columns);
    }
  }

  void Chunk(const EventChunkInfo& info, const EventColumns& columns) {
    Row& row = RowOf(info.track);
    const size_t count = columns.size();
    if (!info.sorted) {
      std::vector<uint32_t> order(count);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        if (columns.end_ns[a] != columns.end_ns[b])
          return columns.end_ns[a] < columns.end_ns[b];
        return columns.dur_ns[a] < columns.dur_ns[b];
      });
      for (const uint32_t i : order) One(row, columns, i);
      return;
    }
    for (size_t i = 0; i < count; ++i) {
      // Of slices that cover the same time the outer one ended last, but must
      // be written first to be taken for the outer one.
      size_t same = i;
      while (same + 1 < count &&
             columns.end_ns[same + 1] == columns.end_ns[i] &&
             columns.dur_ns[same + 1] == columns.dur_ns[i] &&
             columns.depth[same + 1] < columns.depth[same])
        ++same;
      for (size_t k = same + 1; k-- > i;) One(row, columns, k);
      i = same;
    }
  }

  void One(Row& row, const EventColumns& columns, size_t i) {
    // Each may be megabytes, by its arguments: do not go on for nobody.
    if (out_.failed()) return;
    const int64_t end = columns.end_ns[i];
    const int64_t begin = end - columns.dur_ns[i];
    const uint32_t category =
        static_cast<uint32_t>(columns.Rare(EventColumn::kCategory, i));
    const uint64_t flow_in = columns.Rare(EventColumn::kFlowIn, i);
    const uint64_t flow_out = columns.Rare(EventColumn::kFlowOut, i);
    const bool instant = columns.Rare(EventColumn::kKind, i) != 0;
    const std::string_view name = names_.Of(columns.name[i], name_);
    const std::string_view args = Args(columns, i);
    // An arrow binds to slices only: such an instant becomes one.
    if (instant && flow_in == 0 && flow_out == 0) {
      ++summary_.instants;
      events_.Instant(
          row.pid, row.lanes[0].tid, ScopeOf(row.kind), name,
          category == 0 ? "instant" : names_.Of(category, category_), end,
          args);
      return;
    }
    ++(instant ? summary_.instants : summary_.slices);
    Row::LaneRow& lane = LaneFor(row, begin, end, columns.depth[i]);
    events_.Slice(lane.prefix, name,
                  category == 0 ? "slice" : names_.Of(category, category_),
                  begin, end, args);
    if ((flow_in | flow_out) == 0) return;
    FlowEnd flow{flow_out,
                 row.pid,
                 lane.tid,
                 lane.lane.self_moment_ns(),
                 end > begin ? end - 1 : end,
                 true};
    if (flow_out != 0) flows_.Add(flow);
    flow.flow = flow_in;
    flow.begins = false;
    if (flow_in != 0) flows_.Add(flow);
  }

  static char ScopeOf(Track::Kind kind) {
    if (kind == Track::Kind::kMachine) return 'g';
    return kind == Track::Kind::kProcess ? 'p' : 't';
  }

  std::string_view Args(const EventColumns& columns, size_t i) {
    const uint64_t set = columns.Rare(EventColumn::kArgs, i);
    const uint64_t stack = columns.Rare(EventColumn::kStack, i);
    const uint64_t flags = columns.Rare(EventColumn::kFlags, i);
    if ((set | stack | flags) == 0) return {};
    args_.Clear();
    if (const std::vector<Arg>* list = store_.args(static_cast<uint32_t>(set)))
      AddArgs(*list);
    if (flags & Event::kUnfinished)
      if (std::string* text = args_.Key("unfinished")) *text += "true";
    if (stack != 0)
      if (std::string* text = args_.Key("stack"))
        AppendQuoted(Stack(static_cast<uint32_t>(stack)), *text);
    return args_.Done();
  }

  void AddArgs(const std::vector<Arg>& list) {
    const size_t count = std::min(list.size(), kMaxArgs);
    for (size_t i = 0; i < count; ++i) AddArg(list[i]);
    args_.LeaveOut(list.size() - count);
  }

  void AddArg(const Arg& arg) {
    std::string* text = args_.Key(store_.Str(arg.key));
    if (!text) return;
    if (arg.type == Arg::Type::kDouble)
      AppendNumber(arg.double_value, *text);
    else if (arg.type == Arg::Type::kString)
      AppendQuoted(store_.Str(arg.string_value), *text);
    else
      *text += std::to_string(arg.int_value);
  }

  // "main;train;step", the outermost first.
  std::string Stack(uint32_t id) const {
    std::vector<std::string_view> frames;
    size_t bytes = 0;
    while (frames.size() < kMaxStackFrames && bytes < kMaxStackBytes) {
      const StackNode* const node = store_.stacks().Find(id);
      if (!node) break;
      const StackFrame* const frame = store_.frames().Find(node->frame);
      frames.push_back(frame ? store_.Str(frame->function) : "?");
      bytes += frames.back().size();
      // A parent is always older; anything else is a loop of a hostile file.
      id = node->parent < id ? node->parent : 0;
    }
    if (frames.empty()) return "?";
    std::string text;
    for (size_t i = frames.size(); i-- > 0;) {
      text += frames[i].empty() ? "?" : frames[i];
      if (i > 0) text += ';';
    }
    return text;
  }

  void AddText(std::string_view key, std::string_view value) {
    if (std::string* text = args_.Key(key)) AppendQuoted(value, *text);
  }

  // Nanoseconds since 1970 do not fit a double: as text.
  void AddBase() {
    AddText("base_monotonic_ns", std::to_string(base_ns_));
    AddText("base_realtime_ns", std::to_string(store_.RealtimeOf(base_ns_)));
  }

  void AddLoss(const Loss& loss) {
    AddText("reason", loss.reason);
    AddText("detail", loss.detail);
    if (std::string* text = args_.Key("count"))
      *text += std::to_string(loss.count);
    if (loss.from_ns != kNoTime)
      AddText("from_ns", std::to_string(loss.from_ns));
    if (loss.to_ns != kNoTime) AddText("to_ns", std::to_string(loss.to_ns));
  }

  void Losses() {
    const uint32_t tid = ids_.NewTid();
    Name("thread_name", ChromeIds::kMachine, tid, "recording");
    args_.Clear();
    AddBase();
    AddText("command", store_.Meta("command"));
    events_.Instant(ChromeIds::kMachine, tid, 't', "recording", "session",
                    base_ns_, args_.Done());
    for (const Loss& loss : store_.losses()) {
      args_.Clear();
      AddLoss(loss);
      events_.Instant(ChromeIds::kMachine, tid, 'g', "loss", "loss",
                      loss.from_ns == kNoTime ? base_ns_ : loss.from_ns,
                      args_.Done());
    }
  }

  void Metadata() {
    std::string losses = "[";
    for (const Loss& loss : store_.losses()) {
      args_.Clear();
      AddLoss(loss);
      if (losses.size() > 1) losses += ',';
      losses += args_.Done();
    }
    args_.Clear();
    AddText("exported_by", fmt::format("sonde {}", kSondeVersion));
    AddBase();
    *args_.Key("losses") += losses + "]";
    if (flows_.unbound() > 0)
      *args_.Key("flow_ends_without_partner") +=
          std::to_string(flows_.unbound());
    for (const auto& [key, value] : store_.rows().meta) AddText(key, value);
    out_.Text(",\n\"metadata\":");
    out_.Text(args_.Done());
  }

  const Store& store_;
  const ExportOptions& options_;
  Output& out_;
  const int64_t base_ns_;
  ChromeIds ids_;
  ChromeEvents events_;
  JsonNames names_;
  Flows flows_;
  Lane::Budget budget_;
  std::unordered_map<uint32_t, Row> rows_;
  ExportSummary summary_;
  ArgsText args_;
  std::string name_, category_, json_;
};

}  // namespace

Result<ExportSummary> ExportChrome(const Store& store,
                                   const ExportOptions& options) {
  TRY(auto out, Output::Create(options.output, options));
  return ChromeExport(store, options, *out).Run();
}

}  // namespace sonde

#include "trace/text_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "trace/all_rows.h"
#include "trace/text_words.h"

namespace sonde {
namespace {

constexpr size_t kPiece = 64 << 10;

// Old ids to new ones, counted from 1 in the order of the old.
class Ids {
 public:
  void Add(uint32_t id) { ids_.insert({id, 0}); }
  void Number() {
    uint32_t next = 0;
    for (auto& entry : ids_) entry.second = ++next;
  }
  // 0 if it is not known.
  uint32_t operator[](uint32_t id) const {
    const auto at = ids_.find(id);
    return at == ids_.end() ? 0 : at->second;
  }

 private:
  std::map<uint32_t, uint32_t> ids_;
};

class Writer {
 public:
  Writer(const TraceReader& trace,
         const std::function<Status(std::string_view)>& out)
      : trace_(trace), out_(out), rows_(trace) {}

  Status Write() {
    TRY_OK(rows_.status(trace_.name()));
    NumberIds();
    TRY_OK(WriteTables());
    for (const auto& [track, frames] : rows_.events)
      for (const FrameRef* frame : frames) TRY_OK(WriteEvents(*frame));
    for (const auto& [group, frames] : rows_.counters) {
      if (!series_groups_.contains(group)) continue;  // nothing has a name
      live_.clear();
      next_ordinal_ = 0;
      for (const FrameRef* frame : frames) TRY_OK(WriteTicks(*frame));
    }
    TRY_OK(WriteLosses());
    if (!trace_.finished()) text_ += "unfinished\n";
    return Send(0);
  }

 private:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format,
                   std::forward<Args>(args)...);
  }

  Status Send(size_t above) {
    if (text_.size() <= above) return Ok();
    TRY_OK(out_(text_));
    text_.clear();
    return Ok();
  }

  Status EndLine() {
    text_ += '\n';
    return Send(kPiece);
  }

  void Damaged(const FrameRef& frame) {
    rows_.damages.push_back(
        {frame.journal, frame.offset, frame.size, "damaged content"});
  }

  std::string_view StringOf(uint32_t id) const {
    const auto at = rows_.strings.find(id);
    if (at == rows_.strings.end()) return {};
    return std::string_view(at->second).substr(0, kMaxTextString);
  }
  // "key=value", or nothing if there is no string.
  void AddString(const char* key, uint32_t id) {
    const std::string_view text = StringOf(id);
    if (!text.empty()) Add(" {}={}", key, TextWord(text));
  }
  void AddNumber(const char* key, uint64_t value) {
    if (value != 0) Add(" {}={}", key, value);
  }
  void AddTime(const char* key, int64_t ns, int64_t none = kNoTime) {
    if (ns != none) Add(" {}={}", key, TextTime(Clamped(ns)));
  }
  // The text form only knows times within 126 years.
  static int64_t Clamped(int64_t ns) {
    return std::clamp(ns, -kMaxTimeNs, kMaxTimeNs);
  }

  void NumberIds() {
    for (const auto& row : rows_.tracks) track_ids_.Add(row.first);
    for (const auto& row : rows_.series) {
      series_ids_.Add(row.first);
      series_groups_.insert(row.second.group);
    }
    for (const auto& row : rows_.frames) frame_ids_.Add(row.first);
    for (const auto& row : rows_.stacks) stack_ids_.Add(row.first);
    for (Ids* ids : {&track_ids_, &series_ids_, &frame_ids_, &stack_ids_})
      ids->Number();
  }

  Status WriteTables() {
    Add("{} {}\n", kTextMagic, kFormatVersion);
    const FileHeader& header = trace_.header();
    Add("session ");
    for (uint8_t byte : header.session) Add("{:02x}", byte);
    Add(" realtime={} monotonic={}\n", header.realtime_ns, header.monotonic_ns);
    for (const auto& [key, row] : rows_.meta) {
      Add("meta {} {}\n", TextWord(key), TextRest(row.value));
      TRY_OK(Send(kPiece));
    }
    for (const auto& [ordinal, row] : rows_.clocks)
      Add("clock monotonic={} realtime={} boottime={}\n", row.pair.monotonic_ns,
          row.pair.realtime_ns, row.pair.boottime_ns);
    for (const auto& [number, row] : rows_.processes) {
      WriteProcess(row);
      TRY_OK(Send(kPiece));
    }
    for (const auto& [number, row] : rows_.threads) {
      Add("thread {}", number);
      AddNumber("process", row.process);
      if (row.tid != 0) Add(" tid={}", row.tid);
      AddString("name", row.name);
      AddTime("start", row.start_ns);
      AddTime("end", row.end_ns);
      AddTime("cpu", row.cpu_ns, -1);
      TRY_OK(EndLine());
    }
    for (const auto& [id, row] : rows_.tracks) {
      static constexpr const char* kKinds[] = {"", "thread", "process",
                                               "machine", "custom"};
      Add("track {} kind={}", track_ids_[id],
          kKinds[static_cast<size_t>(row.kind)]);
      AddNumber("process", row.process);
      AddNumber("thread", row.thread);
      AddString("name", row.name);
      TRY_OK(EndLine());
    }
    for (const auto& [id, row] : rows_.series) {
      WriteSeries(row);
      TRY_OK(Send(kPiece));
    }
    for (const auto& [id, row] : rows_.frames) {
      Add("frame {}", frame_ids_[id]);
      AddString("function", row.function);
      AddString("module", row.module);
      AddString("file", row.file);
      AddNumber("line", row.line);
      if (row.offset != 0) Add(" offset=0x{:x}", row.offset);
      TRY_OK(EndLine());
    }
    for (const auto& [id, row] : rows_.stacks) {
      Add("stack {}", stack_ids_[id]);
      AddNumber("parent", stack_ids_[row.parent]);
      AddNumber("frame", frame_ids_[row.frame]);
      TRY_OK(EndLine());
    }
    return Ok();
  }

  void WriteProcess(const Process& row) {
    Add("process {}", row.number);
    AddNumber("parent", row.parent);
    if (row.pid != 0) Add(" pid={}", row.pid);
    AddString("name", row.name);
    AddString("cmdline", row.cmdline);
    AddTime("start", row.start_ns);
    AddTime("end", row.end_ns);
    if (row.exit == Process::Exit::kExited)
      Add(" exit={}", row.exit_code);
    else if (row.exit == Process::Exit::kSignaled)
      Add(" signal={}", row.exit_code);
    else
      text_ +=
          row.exit == Process::Exit::kRunning ? " running" : " exit=unknown";
    AddNumber("execs", row.execs);
    AddTime("cpu", row.cpu_ns, -1);
    text_ += '\n';
  }

  void WriteSeries(const Series& row) {
    static constexpr const char* kScopes[] = {"", "machine", "process",
                                              "thread", "device"};
    Add("series {} group={} scope={}", series_ids_[row.id], row.group,
        kScopes[static_cast<size_t>(row.scope)]);
    if (row.scope_id != 0) Add(":{}", row.scope_id);
    AddString("name", row.name);
    AddString("label", row.label);
    Add(" unit={} kind={} type={}\n", TextWord(StringOf(row.unit)),
        row.kind == Series::Kind::kTotal ? "total" : "gauge",
        row.type == Series::Type::kDouble ? "double" : "int");
  }

  Status WriteEvents(const FrameRef& frame) {
    std::string payload;
    EventChunkDecoder decoder;
    EventColumns columns;
    if (!trace_.Read(frame, payload) || !decoder.Open(payload) ||
        !decoder.Decode(kMaskAll, columns)) {
      Damaged(frame);
      return Ok();
    }
    const uint32_t track = track_ids_[frame.events.track];
    for (size_t i = 0; i < columns.size(); ++i) {
      const Event event = columns.At(i);
      if (event.kind == Event::Kind::kInstant) {
        Add("instant {} {} {}", track, TextTime(event.begin_ns),
            TextWord(StringOf(event.name)));
      } else {
        Add("slice {} {} {} {}", track, TextTime(event.begin_ns),
            TextTime(event.begin_ns + event.dur_ns),
            TextWord(StringOf(event.name)));
      }
      Add(" depth={}", event.depth);
      AddString("cat", event.category);
      TRY_OK(WriteArgs(event.args));
      AddNumber("stack", stack_ids_[event.stack]);
      AddNumber("flow_in", event.flow_in);
      AddNumber("flow_out", event.flow_out);
      if (event.flags & Event::kUnfinished) text_ += " unfinished";
      TRY_OK(EndLine());
    }
    return Ok();
  }

  Status WriteArgs(uint32_t id) {
    const auto at = rows_.args.find(id);
    if (at == rows_.args.end() || at->second.args.empty()) return Ok();
    const char* separator = " args={";
    for (const Arg& arg : at->second.args) {
      Add("{}{}=", separator, TextWord(StringOf(arg.key)));
      separator = ",";
      if (arg.type == Arg::Type::kInt) Add("{}", arg.int_value);
      if (arg.type == Arg::Type::kDouble) text_ += TextDouble(arg.double_value);
      if (arg.type == Arg::Type::kString)
        text_ += TextQuoted(StringOf(arg.string_value));
      TRY_OK(Send(kPiece));
    }
    text_ += '}';
    return Ok();
  }

  Status WriteTicks(const FrameRef& frame) {
    std::string payload;
    CounterChunkDecoder decoder;
    CounterTicks ticks;
    if (!trace_.Read(frame, payload) || !decoder.Open(payload) ||
        !decoder.Decode(ticks)) {
      Damaged(frame);
      return Ok();
    }
    const bool hole = frame.counters.first_ordinal != next_ordinal_;
    next_ordinal_ = frame.counters.first_ordinal + ticks.size();
    for (size_t tick = 0; tick < ticks.size(); ++tick) {
      Add("tick {} {}", frame.counters.group, TextTime(ticks.time_ns[tick]));
      // The first tick of a chunk in the file names all that live: what it
      // does not name ended in the hole.
      if (tick == 0 && hole && !frame.journal) EndUnnamed(ticks);
      for (size_t i = tick ? ticks.changed_end[tick - 1] : 0;
           i < ticks.changed_end[tick]; ++i) {
        const auto [series, value] = ticks.changes[i];
        const auto row = rows_.series.find(series);
        if (row == rows_.series.end()) continue;
        const auto [at, fresh] = live_.try_emplace(series, value);
        if (!fresh && at->second == value) continue;
        at->second = value;
        Add(" {}=", series_ids_[series]);
        if (row->second.type == Series::Type::kDouble)
          text_ += TextDouble(std::bit_cast<double>(value));
        else
          Add("{}", static_cast<int64_t>(value));
      }
      for (size_t i = tick ? ticks.gone_end[tick - 1] : 0;
           i < ticks.gone_end[tick]; ++i)
        if (live_.erase(ticks.gone[i]))
          Add(" {}=gone", series_ids_[ticks.gone[i]]);
      TRY_OK(EndLine());
    }
    return Ok();
  }

  void EndUnnamed(const CounterTicks& ticks) {
    std::set<uint32_t> named;
    for (size_t i = 0; i < ticks.changed_end[0]; ++i)
      named.insert(ticks.changes[i].series);
    for (size_t i = 0; i < ticks.gone_end[0]; ++i) named.insert(ticks.gone[i]);
    std::erase_if(live_, [&](const auto& entry) {
      if (named.contains(entry.first)) return false;
      Add(" {}=gone", series_ids_[entry.first]);
      return true;
    });
  }

  Status WriteLosses() {
    if (trace_.lost_journal()) TRY_OK(WriteLoss(*trace_.lost_journal()));
    for (const auto& [ordinal, row] : rows_.losses) TRY_OK(WriteLoss(row.loss));
    for (const Damage& damage : rows_.damages)
      TRY_OK(WriteLoss(LossOf(damage)));
    return Ok();
  }
  Status WriteLoss(const Loss& loss) {
    Add("loss {}", TextWord(LossText(loss.reason)));
    AddNumber("count", loss.count);
    AddTime("from", loss.from_ns);
    AddTime("to", loss.to_ns);
    if (!loss.detail.empty())
      Add(" detail={}", TextQuoted(LossText(loss.detail)));
    return EndLine();
  }
  static std::string_view LossText(std::string_view text) {
    return text.substr(0, kMaxTextString);
  }

  const TraceReader& trace_;
  const std::function<Status(std::string_view)>& out_;
  std::string text_;
  AllRows rows_;
  std::set<uint32_t> series_groups_;
  Ids track_ids_, series_ids_, frame_ids_, stack_ids_;
  std::map<uint32_t, uint64_t> live_;  // series of a group and their values
  uint64_t next_ordinal_ = 0;
};

}  // namespace

Status WriteText(const TraceReader& trace,
                 const std::function<Status(std::string_view)>& out) {
  return Writer(trace, out).Write();
}

std::string TextOf(const TraceReader& trace) {
  std::string text;
  const Status status = WriteText(trace, [&](std::string_view piece) {
    text += piece;
    return Ok();
  });
  CHECK(status.ok());
  return text;
}

}  // namespace sonde

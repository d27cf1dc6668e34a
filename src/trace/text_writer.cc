#include "trace/text_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "trace/all_rows.h"
#include "trace/text_row_writer.h"
#include "trace/text_words.h"

namespace sonde {
namespace {

constexpr size_t kPiece = 64 << 10;

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
    for (const FrameRef* frame : rows_.samples) TRY_OK(WriteSamples(*frame));
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

  std::string_view StringOf(uint32_t id) const { return fields_.StringOf(id); }

  void NumberIds() {
    const auto add = [&](FrameKind kind, const auto& rows) {
      DenseIds& ids = ids_[kind];
      for (const auto& row : rows) ids.Add(row.first);
    };
    add(FrameKind::kTracks, rows_.tracks);
    ForEachPlainKind([&]<typename Row>(const PlainKind<Row>& kind) {
      add(kind.frame, rows_.Of<Row>());
    });
    for (const auto& row : rows_.series) {
      series_ids_.Add(row.first);
      series_groups_.insert(row.second.group);
    }
    rows_.frames.ForEach(
        [&](uint32_t id, const StackFrame&) { frame_ids_.Add(id); });
    rows_.stacks.ForEach(
        [&](uint32_t id, const StackNode&) { stack_ids_.Add(id); });
    for (auto& entry : ids_) entry.second.Number();
    for (DenseIds* ids : {&series_ids_, &frame_ids_, &stack_ids_})
      ids->Number();
  }
  // One line for each row, with the id it gets here.
  template <typename Map, typename IdOf>
  Status WriteRows(const char* word, const Map& rows, IdOf id_of) {
    for (const auto& [key, row] : rows) {
      Add("{} {}", word, id_of(key));
      VisitFields(fields_, row);
      TRY_OK(EndLine());
    }
    return Ok();
  }

  Status WriteTables() {
    Add("{} {}\n", kTextMagic, kFormatVersion);
    const FileHeader& header = trace_.header();
    Add("session ");
    for (uint8_t byte : header.session) Add("{:02x}", byte);
    Add(" realtime={} monotonic={}\n", header.realtime_ns, header.monotonic_ns);
    for (const auto& [key, value] : rows_.meta) {
      Add("meta {} {}\n", TextWord(key), TextRest(value));
      TRY_OK(Send(kPiece));
    }
    for (const auto& [ordinal, row] : rows_.clocks)
      Add("clock monotonic={} realtime={} boottime={}\n", row.monotonic_ns,
          row.realtime_ns, row.boottime_ns);
    const auto same = [](uint32_t number) { return number; };
    TRY_OK(WriteRows("process", rows_.processes, same));
    TRY_OK(WriteRows("thread", rows_.threads, same));
    Status status = Ok();
    ForEachPlainKind([&]<typename Row>(const PlainKind<Row>& kind) {
      const DenseIds& ids = ids_.at(kind.frame);
      if (status.ok())
        status = WriteRows(kind.word, rows_.Of<Row>(),
                           [&](uint32_t id) { return ids[id]; });
    });
    TRY_OK(status);
    TRY_OK(WriteTracks());
    TRY_OK(WriteRows("series", rows_.series,
                     [this](uint32_t id) { return series_ids_[id]; }));
    return WriteStacks();
  }

  // A track stands behind the one it is drawn under.
  Status WriteTracks() {
    std::set<uint32_t> written;
    for (const auto& [id, row] : rows_.tracks) {
      Track track = row;
      if (!written.contains(track.parent)) track.parent = 0;
      written.insert(id);
      Add("track {}", ids_.at(FrameKind::kTracks)[id]);
      VisitFields(fields_, track);
      TRY_OK(EndLine());
    }
    return Ok();
  }

  Status WriteStacks() {
    Status status = Ok();
    rows_.frames.ForEach([&](uint32_t id, const StackFrame& row) {
      if (!status.ok()) return;
      Add("frame {}", frame_ids_[id]);
      VisitFields(fields_, row);
      status = EndLine();
    });
    TRY_OK(status);
    for (const auto& [key, row] : rows_.symbols) {
      if (frame_ids_[row.frame] == 0) continue;
      Add("symbol {}", frame_ids_[row.frame]);
      VisitFields(fields_, row);
      TRY_OK(EndLine());
    }
    rows_.stacks.ForEach([&](uint32_t id, const StackNode& row) {
      if (!status.ok()) return;
      Add("stack {}", stack_ids_[id]);
      fields_.Number("parent", stack_ids_[row.parent]);
      fields_.Number("frame", frame_ids_[row.frame]);
      status = EndLine();
    });
    return status;
  }

  Status WriteSamples(const FrameRef& frame) {
    std::string payload;
    std::vector<Sample> samples;
    if (!trace_.Read(frame, payload) || !DecodeSampleChunk(payload, samples)) {
      Damaged(frame);
      return Ok();
    }
    for (const Sample& sample : samples) {
      Add("sample {}", TextTime(sample.time_ns));
      fields_.Number("thread", sample.thread);
      fields_.Number("stack", stack_ids_[sample.stack]);
      if (sample.weight_ns != 0)
        Add(" weight={}", TextTime(static_cast<int64_t>(std::min<uint64_t>(
                              sample.weight_ns, uint64_t{kMaxTimeNs}))));
      if (sample.flags & Sample::kWaiting) text_ += " waiting";
      if (sample.flags & Sample::kApproximate) text_ += " approximate";
      TRY_OK(EndLine());
    }
    return Ok();
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
    const uint32_t track = ids_.at(FrameKind::kTracks)[frame.events.track];
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
      fields_.String("cat", event.category);
      if (event.cls != Event::Class::kProgram)
        Add(" class={}", kClasses[static_cast<size_t>(event.cls)]);
      if (!StringOf(event.source).empty())
        fields_.String("source", event.source);
      TRY_OK(WriteArgs(event.args));
      fields_.Number("stack", stack_ids_[event.stack]);
      fields_.Number("flow_in", event.flow_in);
      fields_.Number("flow_out", event.flow_out);
      if (event.flags & Event::kUnfinished) text_ += " unfinished";
      TRY_OK(EndLine());
    }
    return Ok();
  }

  Status WriteArgs(uint32_t id) {
    const auto at = rows_.args.find(id);
    if (at == rows_.args.end() || at->second.empty()) return Ok();
    const char* separator = " args={";
    for (const Arg& arg : at->second) {
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
    if (trace_.lost_end()) TRY_OK(WriteLoss(*trace_.lost_end()));
    for (const auto& [ordinal, row] : rows_.losses) TRY_OK(WriteLoss(row));
    for (const auto& [ordinal, row] : rows_.not_collected) {
      if (row.source.empty()) continue;
      NotCollected one = row;
      Add("not_collected {}", TextWord(row.source.substr(0, kMaxTextString)));
      one.source.clear();
      VisitFields(fields_, one);
      TRY_OK(EndLine());
    }
    for (const Damage& damage : rows_.damages)
      TRY_OK(WriteLoss(LossOf(damage)));
    return Ok();
  }
  // What stands first in the line is no field of it.
  Status WriteLoss(Loss loss) {
    Add("loss {}", TextWord(loss.reason.substr(0, kMaxTextString)));
    loss.reason.clear();
    VisitFields(fields_, loss);
    return EndLine();
  }

  const TraceReader& trace_;
  const std::function<Status(std::string_view)>& out_;
  std::string text_;
  AllRows rows_;
  std::set<uint32_t> series_groups_;
  TextRowWriter::Ids ids_;  // of tracks, devices and modules
  DenseIds series_ids_, frame_ids_, stack_ids_;
  TextRowWriter fields_{rows_, ids_, text_};
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

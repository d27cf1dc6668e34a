// Reads line by line into a TraceWriter. Only events and ticks wait until the
// end (text_waiting.h).

#include "import/text_reader.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "base/fd.h"
#include "import/text_fields.h"
#include "import/text_row_reader.h"
#include "import/text_waiting.h"
#include "trace/sources.h"
#include "trace/text_words.h"
#include "trace/writer.h"

namespace sonde {
namespace {

constexpr size_t kMaxText = 64 << 20;
// All of it is held in memory until it can be put in order.
constexpr size_t kMaxEvents = 2 << 20, kMaxValues = 4 << 20;
constexpr size_t kMaxRows = 512 << 10;  // of all else
constexpr size_t kMaxLine = 16 << 20;
constexpr uint32_t kMaxGroup = 1000;
constexpr size_t kMaxRampValues = 1 << 20;

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {
    ForEachPlainKind([&](const auto& kind) { ids_[kind.frame]; });
  }

  Result<std::shared_ptr<std::string>> Read(std::string_view text) {
    size_t number = 0;
    bool started = false;
    while (!text.empty()) {
      const size_t end = text.find('\n');
      const std::string_view bytes = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      TextLine line(bytes, name_, ++number);
      if (bytes.size() > kMaxLine)
        return line.Expected("a line of at most 16 MiB");
      if (!started) {
        TRY_OK(Magic(line));
        started = true;
      } else if (!line.AtEnd()) {
        TRY_OK(Statement(line));
      }
    }
    if (!started) return TextLine("", name_, 1).Expected("'sonde-text 0'");
    Trace().PutNotCollected(not_collected_);
    TRY_OK(waiting_.WriteTo(Trace(), name_));
    if (unfinished_) {
      Trace().Seal();
    } else if (const Status status = Trace().Close(); !status.ok()) {
      return status.error();
    }
    return bytes_;
  }

 private:
  struct Keyword {
    std::string_view word;
    Status (Reader::*read)(TextLine&);
  };

  // The header must be known before the first row.
  TraceWriter& Trace() {
    if (!writer_) writer_ = TraceWriter::CreateInMemory(header_, bytes_);
    return *writer_;
  }

  Status Magic(TextLine& line) {
    if (line.PeekWord() != kTextMagic) return line.Expected("'sonde-text 0'");
    line.SkipWord();
    TRY(const uint64_t version, line.Unsigned());
    if (version > kFormatVersion)
      return Error{Error::Kind::kUnsupported,
                   fmt::format("{}: written by a newer sonde (text form {}, "
                               "this one reads {})",
                               name_, version, kFormatVersion)};
    return line.End();
  }

  Status Statement(TextLine& line) {
    static constexpr Keyword kStatements[] = {
        {"slice", &Reader::ReadSlice},
        {"instant", &Reader::ReadInstant},
        {"tick", &Reader::ReadTick},
        {"ramp", &Reader::ReadRamp},
        {"process", &Reader::ReadProcess},
        {"thread", &Reader::ReadThread},
        {"track", &Reader::ReadTrack},
        {"series", &Reader::ReadSeries},
        {"sample", &Reader::ReadSample},
        {"frame", &Reader::ReadFrame},
        {"symbol", &Reader::ReadSymbol},
        {"stack", &Reader::ReadStack},
        {"meta", &Reader::ReadMeta},
        {"clock", &Reader::ReadClock},
        {"loss", &Reader::ReadLoss},
        {"not_collected", &Reader::ReadNotCollected},
        {"session", &Reader::ReadSession},
        {"unfinished", &Reader::ReadUnfinished},
    };
    const std::string_view word = line.PeekWord();
    for (const Keyword& s : kStatements) {
      if (s.word != word) continue;
      TRY_OK(Count(s.word));
      line.SkipWord();
      TRY_OK((this->*s.read)(line));
      return line.End();
    }
    std::optional<Status> read;
    ForEachPlainKind([&](const auto& kind) {
      if (word == kind.word) read = ReadPlain(kind, line);
    });
    if (read) return *read;
    std::string known;
    for (const Keyword& s : kStatements) (known += ' ') += s.word;
    ForEachPlainKind([&](const auto& kind) { (known += ' ') += kind.word; });
    return line.Expected("one of" + known);
  }

  Status Count(std::string_view word) {
    const bool event = word == "slice" || word == "instant" || word == "sample";
    if (event)
      ++events_;
    else if (word != "tick")
      ++rows_;
    if (events_ <= kMaxEvents && rows_ <= kMaxRows &&
        waiting_.values.size() <= kMaxValues)
      return Ok();
    return Error{Error::Kind::kUnsupported,
                 fmt::format("{}: has more than {} {}, the most that a text "
                             "may have",
                             name_,
                             events_ > kMaxEvents ? kMaxEvents
                             : rows_ > kMaxRows   ? kMaxRows
                                                  : kMaxValues,
                             events_ > kMaxEvents ? "events"
                             : rows_ > kMaxRows   ? "rows"
                                                  : "values")};
  }

  TextRowReader Fields(TextLine& line) { return {line, Trace(), ids_}; }

  Status ReadSession(TextLine& line) {
    if (writer_) return line.Expected("session as the second line");
    const std::string_view hex = line.AtEnd() ? "" : line.PeekWord();
    if (hex.size() != 32 ||
        hex.find_first_not_of("0123456789abcdef") != std::string_view::npos)
      return line.Expected("32 hexadecimal digits");
    for (size_t i = 0; i < 16; ++i)
      header_.session[i] = static_cast<uint8_t>(
          *ParseTextUnsigned("0x" + std::string(hex.substr(2 * i, 2))));
    line.SkipWord();
    return line.Fields({IntField("realtime", line, header_.realtime_ns),
                        IntField("monotonic", line, header_.monotonic_ns)});
  }

  Status ReadUnfinished(TextLine&) {
    unfinished_ = true;
    return Ok();
  }

  Status ReadMeta(TextLine& line) {
    TRY(const std::string key, line.String());
    TRY(const std::string value, line.Rest());
    Trace().PutMeta(key, value);
    return Ok();
  }

  Status ReadClock(TextLine& line) {
    ClockPair pair;
    TRY_OK(Fields(line).Read(pair));
    Trace().AddClock(pair);
    return Ok();
  }

  Status ReadLoss(TextLine& line) {
    Loss loss;
    TRY(loss.reason, line.String());
    TRY_OK(Fields(line).Read(loss));
    Trace().AddLoss(loss);
    return Ok();
  }

  Status ReadNotCollected(TextLine& line) {
    NotCollected row;
    TRY(row.source, line.String());
    TRY_OK(Fields(line).Read(row));
    not_collected_.push_back(std::move(row));
    return Ok();
  }

  Status ReadProcess(TextLine& line) {
    Process row;
    TRY(const int64_t number, line.Int(1, kMaxNumber));
    row.number = static_cast<uint32_t>(number);
    TextRowReader fields = Fields(line);
    TRY_OK(fields.Read(row));
    const bool told =
        fields.told("exit") || fields.told("signal") || fields.told("running");
    if (!told && row.end_ns != kNoTime) row.exit = Process::Exit::kUnknown;
    Trace().PutProcess(row);
    return Ok();
  }

  Status ReadThread(TextLine& line) {
    Thread row;
    TRY(const int64_t number, line.Int(1, kMaxNumber));
    row.number = static_cast<uint32_t>(number);
    TRY_OK(Fields(line).Read(row));
    Trace().PutThread(row);
    return Ok();
  }

  template <typename Row>
  Status ReadPlain(const PlainKind<Row>& kind, TextLine& line) {
    TRY_OK(Count(kind.word));
    line.SkipWord();
    TRY(const uint64_t id, NewId(line, ids_[kind.frame]));
    Row row;
    TRY_OK(Fields(line).Read(row));
    ids_[kind.frame][id] = Trace().AddRow(row);
    return line.End();
  }

  Status ReadTrack(TextLine& line) {
    Track row;
    TRY(const uint64_t id, NewId(line, ids_[FrameKind::kTracks]));
    TextRowReader fields = Fields(line);
    TRY_OK(fields.Read(row));
    if (!fields.told("source")) row.source = Trace().Intern(SourceOf(row));
    ids_[FrameKind::kTracks][id] = Trace().AddTrack(row);
    waiting_.events.emplace_back();
    return Ok();
  }

  static std::string_view SourceOf(const Track& row) {
    return row.kind == Track::Kind::kProcess   ? source::kTree
           : row.kind == Track::Kind::kMachine ? source::kSession
                                               : source::kApi;
  }

  Status ReadFrame(TextLine& line) {
    StackFrame row;
    TRY(const uint64_t id, NewId(line, ids_[FrameKind::kStacks]));
    TRY_OK(Fields(line).Read(row));
    ids_[FrameKind::kStacks][id] = Trace().AddFrame(row);
    return Ok();
  }

  Status ReadSymbol(TextLine& line) {
    Symbol row;
    TRY(row.frame, Known(line, ids_[FrameKind::kStacks], "frame"));
    TRY_OK(Fields(line).Read(row));
    Trace().AddSymbol(row);
    return Ok();
  }

  Status ReadSeries(TextLine& line) {
    Series row;
    TRY(const uint64_t id, NewId(line, series_ids_));
    TextRowReader fields = Fields(line);
    TRY_OK(fields.Read(row));
    if (row.group > kMaxGroup) return line.Expected("a group up to 1000");
    const std::string& name = Trace().StringOf(row.name);
    const bool of_machine = row.scope == Series::Scope::kMachine;
    if (row.group == 0) row.group = of_machine ? 1 : 2;
    if (!fields.told("kind") && name.ends_with("_ns"))
      row.kind = Series::Kind::kTotal;
    if (!fields.told("unit"))
      row.unit = Trace().Intern(name.ends_with("_ns")      ? "ns"
                                : name.ends_with("_bytes") ? "bytes"
                                                           : "1");
    if (!fields.told("source"))
      row.source =
          Trace().Intern(row.scope == Series::Scope::kDevice ? source::kDevices
                         : !of_machine                       ? source::kTasks
                         : name.starts_with("cgroup_")       ? source::kCgroups
                                                       : source::kMachine);
    series_ids_[id] = row.id = Trace().AddSeries(row);
    series_.push_back(row);
    groups_.insert(row.group);
    return Ok();
  }

  Status ReadStack(TextLine& line) {
    StackNode row;
    TRY(const uint64_t id, NewId(line, stack_ids_));
    TRY_OK(line.Fields(
        {IdField("parent", line, stack_ids_, row.parent),
         IdField("frame", line, ids_[FrameKind::kStacks], row.frame)}));
    stack_ids_[id] = Trace().AddStack(row);
    return Ok();
  }

  Status ReadSample(TextLine& line) {
    Sample row;
    TRY(row.time_ns, line.Time());
    int64_t weight_ns = 0;
    TRY_OK(line.Fields(
        {U32Field("thread", line, row.thread, kMaxNumber),
         IdField("stack", line, stack_ids_, row.stack),
         TimeField("weight", line, weight_ns),
         FlagField("waiting", row.flags, Sample::kWaiting),
         FlagField("approximate", row.flags, Sample::kApproximate)}));
    if (weight_ns < 0) return line.Expected("a weight that is not negative");
    row.weight_ns = static_cast<uint64_t>(weight_ns);
    waiting_.samples.push_back(row);
    return Ok();
  }

  Status ReadSlice(TextLine& line) {
    WaitingEvent pending;
    TRY(const uint32_t track, Known(line, ids_[FrameKind::kTracks], "track"));
    TRY(pending.event.begin_ns, line.Time());
    const TextLine at_end = line;
    TRY(const int64_t end, line.Time());
    if (end < pending.event.begin_ns)
      return at_end.Expected("an end that is not before the begin");
    pending.event.dur_ns = end - pending.event.begin_ns;
    return RestOfEvent(line, track, pending);
  }

  Status ReadInstant(TextLine& line) {
    WaitingEvent pending;
    pending.event.kind = Event::Kind::kInstant;
    TRY(const uint32_t track, Known(line, ids_[FrameKind::kTracks], "track"));
    TRY(pending.event.begin_ns, line.Time());
    return RestOfEvent(line, track, pending);
  }

  Status RestOfEvent(TextLine& line, uint32_t track, WaitingEvent& pending) {
    Event& event = pending.event;
    TRY(const std::string name, line.String());
    event.name = Trace().Intern(name);
    const TextLine::Field depth = {"depth", [&]() -> Status {
                                     TRY(const uint64_t value,
                                         line.Unsigned(UINT16_MAX));
                                     event.depth = static_cast<uint16_t>(value);
                                     pending.has_depth = true;
                                     return Ok();
                                   }};
    TRY_OK(line.Fields(
        {depth, StringField("cat", line, Trace(), event.category),
         FieldOf("args", event.args, [&] { return ReadArgs(line, Trace()); }),
         FieldOf("class", event.cls, [&] { return Choice(line, kClasses); }),
         StringField("source", line, Trace(), event.source),
         IdField("stack", line, stack_ids_, event.stack),
         U64Field("flow_in", line, event.flow_in),
         U64Field("flow_out", line, event.flow_out),
         FlagField("unfinished", event.flags, Event::kUnfinished)}));
    pending.line = line.number();
    waiting_.events[track - 1].push_back(pending);
    return Ok();
  }

  // The bits of a value of `series`.
  static std::optional<uint64_t> Bits(const Series& series, double value) {
    if (series.type == Series::Type::kDouble) return DoubleBits(value);
    if (!(std::fabs(value) < 9.2e18)) return std::nullopt;
    return static_cast<uint64_t>(std::llround(value));
  }

  Status ReadTick(TextLine& line) {
    const TextLine start = line;
    TRY(const int64_t group, line.Int(1, kMaxGroup));
    if (!groups_.contains(static_cast<uint32_t>(group)))
      return start.Expected("a group that has a series above");
    TRY(const int64_t time_ns, line.Time());
    WaitingValue pending{static_cast<uint32_t>(group), time_ns, 0, false, 0};
    waiting_.values.push_back(pending);
    while (!line.AtEnd()) {
      const TextLine at_series = line;
      TRY(pending.series, Known(line, series_ids_, "series"));
      const Series& series = series_[pending.series - 1];
      if (series.group != group)
        return at_series.Expected(fmt::format("a series of group {}", group));
      if (!line.Take('=')) return line.Expected("=");
      const std::string_view word = line.PeekWord();
      pending.gone = word == "gone";
      if (!pending.gone) {
        const auto whole = ParseTextInt(word);
        const auto value = ParseTextQuantity(word);
        if (series.type == Series::Type::kInt && whole)
          pending.value = static_cast<uint64_t>(*whole);
        else if (const auto bits = value ? Bits(series, *value) : std::nullopt)
          pending.value = *bits;
        else
          return line.Expected("a value or gone");
      }
      line.SkipWord();
      waiting_.values.push_back(pending);
    }
    return Ok();
  }

  Status ReadRamp(TextLine& line) {
    TRY(const uint32_t id, Known(line, series_ids_, "series"));
    const Series& series = series_[id - 1];
    int64_t from = 0, to = kNoTime, step = 100'000'000;
    double first = 0, slope = 0;
    const auto quantity = [&](double& into, bool rate) -> Status {
      std::string_view word = line.PeekWord();
      if (rate && word.ends_with("/s")) word.remove_suffix(2);
      const auto value = ParseTextQuantity(word);
      if (!value || !std::isfinite(*value))
        return line.Expected(rate ? "a rate like 1e9/s or 1s/s" : "a number");
      into = *value;
      line.SkipWord();
      return Ok();
    };
    const TextLine::Field value = {"value",
                                   [&] { return quantity(first, false); }};
    const TextLine::Field rate = {"slope",
                                  [&] { return quantity(slope, true); }};
    TRY_OK(
        line.Fields({TimeField("from", line, from), TimeField("to", line, to),
                     TimeField("step", line, step), value, rate}));
    if (to < from) return line.Expected("to= at or after from=");
    if (step <= 0 ||
        static_cast<size_t>((to - from) / step) >= kMaxRampValues - ramped_)
      return line.Expected("a step that gives fewer values");
    for (int64_t time = from; time <= to; time += step) {
      const double at =
          first + slope * (static_cast<double>(time - from) / 1e9);
      const auto bits = Bits(series, at);
      if (!bits) return line.Expected("values that fit in 64 bits");
      waiting_.values.push_back({series.group, time, id, false, *bits});
      ++ramped_;
      if (time > kMaxTimeNs - step) break;
    }
    return Ok();
  }

  const std::string& name_;
  FileHeader header_;
  std::shared_ptr<std::string> bytes_ = std::make_shared<std::string>();
  std::unique_ptr<TraceWriter> writer_;
  bool unfinished_ = false;
  // Of tracks, rows of plain kinds, and (kStacks) of frames.
  TextRowReader::Ids ids_ = {{FrameKind::kTracks, {}},
                             {FrameKind::kStacks, {}}};
  TextIds series_ids_, stack_ids_;
  std::vector<Series> series_;
  std::vector<NotCollected> not_collected_;
  std::set<uint32_t> groups_;  // that have a series
  WaitingRows waiting_;
  size_t ramped_ = 0, events_ = 0, rows_ = 0;
};

}  // namespace

bool LooksLikeText(std::string_view first_bytes) {
  return first_bytes.starts_with(kTextMagic);
}

Result<std::shared_ptr<std::string>> ReadText(std::string_view text,
                                              const std::string& name) {
  return Reader(name).Read(text);
}

Result<std::shared_ptr<std::string>> ReadTextFile(const std::string& path) {
  TRY(const std::string text, ReadFile(path, kMaxText));
  return ReadText(text, path);
}

}  // namespace sonde

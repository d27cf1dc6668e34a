// Reads line by line into a TraceWriter. Only events and ticks wait until the
// end (text_waiting.h).

#include "trace/text_reader.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "base/fd.h"
#include "trace/text_fields.h"
#include "trace/text_waiting.h"
#include "trace/text_words.h"
#include "trace/writer.h"

namespace sonde {
namespace {

constexpr size_t kMaxText = 64 << 20;
// All of it is held in memory until it can be put in order.
constexpr size_t kMaxEvents = 2 << 20, kMaxValues = 4 << 20;
constexpr size_t kMaxRows = 512 << 10;  // of all else
constexpr size_t kMaxLine = 16 << 20;
constexpr uint32_t kMaxNumber = 1 << 20;  // of processes and threads
constexpr uint32_t kMaxGroup = 1000;
constexpr size_t kMaxRampValues = 1 << 20;

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

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
        {"frame", &Reader::ReadFrame},
        {"stack", &Reader::ReadStack},
        {"meta", &Reader::ReadMeta},
        {"clock", &Reader::ReadClock},
        {"loss", &Reader::ReadLoss},
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
    std::string known;
    for (const Keyword& s : kStatements) (known += ' ') += s.word;
    return line.Expected("one of" + known);
  }

  Status Count(std::string_view word) {
    const bool event = word == "slice" || word == "instant";
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

  TextLine::Field StringField(std::string_view key, TextLine& line,
                              uint32_t& to) {
    return {key, [this, &line, &to]() -> Status {
              TRY(const std::string text, line.String());
              to = Trace().Intern(text);
              return Ok();
            }};
  }

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
    TRY_OK(line.Fields({IntField("monotonic", line, pair.monotonic_ns),
                        IntField("realtime", line, pair.realtime_ns),
                        IntField("boottime", line, pair.boottime_ns)}));
    Trace().AddClock(pair);
    return Ok();
  }

  Status ReadLoss(TextLine& line) {
    Loss loss;
    TRY(loss.reason, line.String());
    TRY_OK(line.Fields({U64Field("count", line, loss.count),
                        TimeField("from", line, loss.from_ns),
                        TimeField("to", line, loss.to_ns),
                        TextField("detail", line, loss.detail)}));
    Trace().AddLoss(loss);
    return Ok();
  }

  Status ReadProcess(TextLine& line) {
    Process row;
    bool told = false;
    const auto is = [&](Process::Exit exit) {
      row.exit = exit;
      told = true;
    };
    TRY(const int64_t number, line.Int(1, kMaxNumber));
    row.number = static_cast<uint32_t>(number);
    const TextLine::Field exit = {
        "exit", [&]() -> Status {
          if (line.PeekWord() == "unknown") {
            is(Process::Exit::kUnknown);
            line.SkipWord();
            return Ok();
          }
          is(Process::Exit::kExited);
          return Int32Field("exit", line, row.exit_code).take();
        }};
    const TextLine::Field signal = {
        "signal", [&]() -> Status {
          is(Process::Exit::kSignaled);
          return Int32Field("signal", line, row.exit_code).take();
        }};
    const TextLine::Field running = {"running",
                                     [&]() -> Status {
                                       is(Process::Exit::kRunning);
                                       return Ok();
                                     },
                                     true};
    TRY_OK(line.Fields({U32Field("parent", line, row.parent, kMaxNumber),
                        Int32Field("pid", line, row.pid),
                        StringField("name", line, row.name),
                        StringField("cmdline", line, row.cmdline),
                        TimeField("start", line, row.start_ns),
                        TimeField("end", line, row.end_ns), exit, signal,
                        running, U32Field("execs", line, row.execs),
                        TimeField("cpu", line, row.cpu_ns)}));
    if (!told && row.end_ns != kNoTime) row.exit = Process::Exit::kUnknown;
    Trace().PutProcess(row);
    return Ok();
  }

  Status ReadThread(TextLine& line) {
    Thread row;
    TRY(const int64_t number, line.Int(1, kMaxNumber));
    row.number = static_cast<uint32_t>(number);
    TRY_OK(line.Fields({U32Field("process", line, row.process, kMaxNumber),
                        Int32Field("tid", line, row.tid),
                        StringField("name", line, row.name),
                        TimeField("start", line, row.start_ns),
                        TimeField("end", line, row.end_ns),
                        TimeField("cpu", line, row.cpu_ns)}));
    Trace().PutThread(row);
    return Ok();
  }

  Status ReadTrack(TextLine& line) {
    Track row;
    TRY(const uint64_t id, NewId(line, track_ids_));
    const TextLine::Field kind = {
        "kind", [&]() -> Status {
          TRY(const size_t at,
              Choice(line, {"thread", "process", "machine", "custom"}));
          row.kind = static_cast<Track::Kind>(at + 1);
          return Ok();
        }};
    TRY_OK(line.Fields({kind, U32Field("process", line, row.process),
                        U32Field("thread", line, row.thread),
                        StringField("name", line, row.name)}));
    track_ids_[id] = Trace().AddTrack(row);
    waiting_.events.emplace_back();
    return Ok();
  }

  Status ReadSeries(TextLine& line) {
    Series row;
    bool unit_told = false, kind_told = false;
    std::string name, unit;
    TRY(const uint64_t id, NewId(line, series_ids_));
    const TextLine::Field scope = {
        "scope", [&]() -> Status {
          std::string_view word = line.PeekWord();
          const size_t colon = word.find(':');
          if (colon != std::string_view::npos) {
            const auto number = ParseTextUnsigned(word.substr(colon + 1));
            if (!number || *number > UINT32_MAX)
              return line.Expected("a scope like process:1");
            row.scope_id = static_cast<uint32_t>(*number);
            word = word.substr(0, colon);
          }
          size_t kind = 0;
          for (std::string_view known :
               {"machine", "process", "thread", "device"}) {
            ++kind;
            if (word != known) continue;
            row.scope = static_cast<Series::Scope>(kind);
            line.SkipWord();
            return Ok();
          }
          return line.Expected("machine, process:N, thread:N or device:N");
        }};
    const TextLine::Field unit_field = {"unit", [&]() -> Status {
                                          unit_told = true;
                                          TRY(unit, line.String());
                                          return Ok();
                                        }};
    const TextLine::Field kind = {
        "kind", [&]() -> Status {
          kind_told = true;
          TRY(const size_t at, Choice(line, {"gauge", "total"}));
          row.kind = static_cast<Series::Kind>(at + 1);
          return Ok();
        }};
    const TextLine::Field type = {
        "type", [&]() -> Status {
          TRY(const size_t at, Choice(line, {"int", "double"}));
          row.type = static_cast<Series::Type>(at + 1);
          return Ok();
        }};
    TRY_OK(line.Fields({U32Field("group", line, row.group, kMaxGroup), scope,
                        TextField("name", line, name),
                        StringField("label", line, row.label), unit_field, kind,
                        type}));
    if (row.group == 0)
      row.group = row.scope == Series::Scope::kMachine ? 1 : 2;
    if (!kind_told && name.ends_with("_ns")) row.kind = Series::Kind::kTotal;
    if (!unit_told)
      unit = name.ends_with("_ns")      ? "ns"
             : name.ends_with("_bytes") ? "bytes"
                                        : "1";
    row.name = Trace().Intern(name);
    row.unit = Trace().Intern(unit);
    series_ids_[id] = row.id = Trace().AddSeries(row);
    series_.push_back(row);
    groups_.insert(row.group);
    return Ok();
  }

  Status ReadFrame(TextLine& line) {
    StackFrame row;
    TRY(const uint64_t id, NewId(line, frame_ids_));
    TRY_OK(line.Fields({StringField("function", line, row.function),
                        StringField("module", line, row.module),
                        StringField("file", line, row.file),
                        U32Field("line", line, row.line),
                        U64Field("offset", line, row.offset)}));
    frame_ids_[id] = Trace().AddFrame(row);
    return Ok();
  }

  Status ReadStack(TextLine& line) {
    StackNode row;
    TRY(const uint64_t id, NewId(line, stack_ids_));
    TRY_OK(line.Fields({IdField("parent", line, stack_ids_, row.parent),
                        IdField("frame", line, frame_ids_, row.frame)}));
    stack_ids_[id] = Trace().AddStack(row);
    return Ok();
  }

  Status ReadSlice(TextLine& line) {
    WaitingEvent pending;
    TRY(const uint32_t track, Known(line, track_ids_, "track"));
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
    TRY(const uint32_t track, Known(line, track_ids_, "track"));
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
    const TextLine::Field args = {"args", [&]() -> Status {
                                    TRY(event.args, ReadArgs(line, Trace()));
                                    return Ok();
                                  }};
    const TextLine::Field unfinished = {"unfinished",
                                        [&]() -> Status {
                                          event.flags |= Event::kUnfinished;
                                          return Ok();
                                        },
                                        true};
    TRY_OK(
        line.Fields({depth, StringField("cat", line, event.category), args,
                     IdField("stack", line, stack_ids_, event.stack),
                     U64Field("flow_in", line, event.flow_in),
                     U64Field("flow_out", line, event.flow_out), unfinished}));
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
  TextIds track_ids_, series_ids_, frame_ids_, stack_ids_;
  std::vector<Series> series_;
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

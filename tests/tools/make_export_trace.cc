// make_export_trace FILE [N]: a trace with everything an exporter can stumble
// over, and N plain slices more.
// tests/e2e/export_test.py knows its contents; change both together.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "trace/writer.h"

namespace sonde {
namespace {

constexpr int64_t kBegin = 5'000'000'000'123;

// Event names that attack JSON, HTML, terminals, CSV and SQL.
const std::string_view kHostile[] = {
    "</script><script>alert(1)</script>",
    "\x1b[2J\x1b]0;title\x07",
    "bad\xff\xfeutf8\xc3",
    "=cmd()|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    "\tx",
    "\rx",
    "two\nlines, \"quoted\" \\ back",
    std::string_view("nul\0inside\x01\x7f", 12),
    "'); DROP TABLE slice; --",
    "\xe2\x80\xaeright to left",
    "\xc2\x9b"
    "31m c1",
    "\xed\xa0\x80 lone surrogate",
    "\xf0\x9f\x98\x80 smile %s %n",
};

struct Maker {
  explicit Maker(TraceWriter& to) : w(to) {}

  Event Slice(int64_t begin, int64_t dur, std::string_view name,
              uint16_t depth = 0) {
    Event event;
    event.begin_ns = kBegin + begin;
    event.dur_ns = dur;
    event.name = w.Intern(name);
    event.depth = depth;
    return event;
  }

  void Processes() {
    const auto process = [&](uint32_t number, uint32_t parent, int32_t pid,
                             std::string_view name, int64_t from, int64_t to,
                             Process::Exit exit, int32_t code) {
      Process row;
      row.number = number;
      row.parent = parent;
      row.pid = pid;
      row.name = w.Intern(name);
      row.cmdline = w.Intern(std::string(name) + " --flag =1");
      row.start_ns = kBegin + from;
      row.end_ns = to < 0 ? kNoTime : kBegin + to;
      row.exit = exit;
      row.exit_code = code;
      row.execs = 1;
      row.cpu_ns = number == 3 ? -1 : int64_t{1000} * number;
      w.PutProcess(row);
      Thread thread;
      thread.number = number;
      thread.process = number;
      thread.tid = pid;
      thread.name = w.Intern(name);
      thread.start_ns = row.start_ns;
      thread.end_ns = row.end_ns;
      w.PutThread(thread);
    };
    process(1, 0, 1000, "python", 0, 9'000'000, Process::Exit::kExited, 3);
    process(2, 1, 1001, "worker", 1000, 2'000'000, Process::Exit::kSignaled, 9);
    // The kernel gave 1001 away again.
    process(3, 1, 1001, "worker2", 3'000'000, -1, Process::Exit::kRunning, 0);
    process(4, 1, 0, "=HYPERLINK(\"x\")", 4'000'000, 5'000'000,
            Process::Exit::kUnknown, 0);
  }

  uint32_t NewTrack(Track::Kind kind, uint32_t process, uint32_t thread,
                    std::string_view name) {
    Track track;
    track.kind = kind;
    track.process = process;
    track.thread = thread;
    track.name = w.Intern(name);
    track.source = w.Intern(kind == Track::Kind::kProcess   ? "tree"
                            : kind == Track::Kind::kMachine ? "session"
                                                            : "api");
    return w.AddTrack(track);
  }

  // Nested slices, one of no duration, an equal pair, an unfinished one, and
  // arguments of every type.
  void Nested() {
    const uint32_t track = NewTrack(Track::Kind::kThread, 1, 1, "main");
    std::vector<Arg> args(5);
    args[0].key = w.Intern("count");
    args[0].int_value = -42;
    args[1].key = w.Intern("share");
    args[1].type = Arg::Type::kDouble;
    args[1].double_value = 0.25;
    args[2].key = w.Intern("text\x1b");
    args[2].type = Arg::Type::kString;
    args[2].string_value = w.Intern("=a\"b\n");
    args[3].key = w.Intern("nan");
    args[3].type = Arg::Type::kDouble;
    args[3].double_value = std::numeric_limits<double>::quiet_NaN();
    args[4].key = w.Intern("inf");
    args[4].type = Arg::Type::kDouble;
    args[4].double_value = -std::numeric_limits<double>::infinity();
    const uint32_t set = w.AddArgs(args);
    StackFrame frame;
    frame.function = w.Intern("main");
    frame.line = 7;
    const uint32_t main_frame = w.AddFrame(frame);
    frame.function = w.Intern("train<T>");
    const uint32_t train_frame = w.AddFrame(frame);
    const uint32_t stack =
        w.AddStack({w.AddStack({0, main_frame}), train_frame});

    for (int64_t step = 0; step < 100; ++step) {
      const int64_t at = 10'000 + step * 20'000;
      w.AddEvent(track, Slice(at + 100, 0, "nothing", 1));
      Event equal = Slice(at + 200, 3000, "inner twin", 2);
      w.AddEvent(track, equal);
      equal.name = w.Intern("outer twin");
      equal.depth = 1;
      w.AddEvent(track, equal);
      Event op = Slice(at + 4000, 5001, "op", 1);
      op.args = set;
      op.category = w.Intern("cpu_op");
      op.stack = stack;
      op.flow_out = 0xfeed'0000'0000'0000ull + static_cast<uint64_t>(step);
      w.AddEvent(track, op);
      w.AddEvent(track, Slice(at, 15'000, "step"));
    }
    int64_t at = 3'000'000;
    for (const std::string_view name : kHostile) {
      Event event = Slice(at += 1000, 500, name);
      event.category = w.Intern(name);
      w.AddEvent(track, event);
    }
    Event open = Slice(4'000'000, 5'000'000, "open");
    open.flags = Event::kUnfinished;
    w.AddEvent(track, open);
  }

  // A device queue whose slices cross each other, with arrows from the thread;
  // a row that came in the wrong order; arrows that lost a partner.
  void Crossing() {
    const uint32_t track = NewTrack(Track::Kind::kCustom, 1, 0, "stream 7");
    for (int64_t step = 0; step < 100; ++step) {
      Event kernel = Slice(15'500 + step * 20'000, 25'000, "kernel");
      kernel.flow_in = 0xfeed'0000'0000'0000ull + static_cast<uint64_t>(step);
      w.AddEvent(track, kernel);
    }
    const uint32_t late = NewTrack(Track::Kind::kThread, 2, 2, "late");
    for (int64_t i = 50; i-- > 0;)
      w.AddEvent(late, Slice(20'000 + i * 1000, 1700, "reversed"));
    Event lost = Slice(100'000, 10, "ends nothing");
    lost.flow_in = 77;
    w.AddEvent(late, lost);
    lost = Slice(100'100, 10, "begins nothing");
    lost.flow_out = 78;
    w.AddEvent(late, lost);
    // One begin, three ends; and an end that began to wait before its begin.
    const uint32_t fan = NewTrack(Track::Kind::kThread, 3, 3, "fan");
    Event event = Slice(3'100'000, 100, "one");
    event.flow_out = 5;
    w.AddEvent(fan, event);
    for (int64_t i = 1; i <= 3; ++i) {
      event = Slice(3'100'000 + i * 1000, 100, "of three");
      event.flow_in = 5;
      w.AddEvent(fan, event);
    }
    event = Slice(3'200'000, 100, "send");
    event.flow_out = 6;
    w.AddEvent(fan, event);
    const uint32_t waits = NewTrack(Track::Kind::kCustom, 3, 0, "");
    event = Slice(3'190'000, 20'000, "receive");
    event.flow_in = 6;
    w.AddEvent(waits, event);
    event = Slice(3'250'000, 0, "arrived");
    event.kind = Event::Kind::kInstant;
    event.flow_in = 6;
    w.AddEvent(waits, event);
  }

  void Images() {
    for (uint32_t number = 1; number <= 4; ++number) {
      const uint32_t track =
          NewTrack(Track::Kind::kProcess, number, 0, "images");
      Event image = Slice(number * 1000, 1'000'000, "image");
      image.category = w.Intern("process");
      w.AddEvent(track, image);
    }
    const uint32_t session = NewTrack(Track::Kind::kMachine, 0, 0, "session");
    Event mark = Slice(500, 0, "mark");
    mark.kind = Event::Kind::kInstant;
    std::vector<Arg> args(1);
    args[0].key = w.Intern("text");
    args[0].type = Arg::Type::kString;
    args[0].string_value = w.Intern("epoch 1\x1b[31m");
    mark.args = w.AddArgs(args);
    w.AddEvent(session, mark);
    w.AddEvent(session, Slice(600, 1000, "paused"));
    const uint32_t thread = NewTrack(Track::Kind::kThread, 3, 3, "more");
    Event instant = Slice(3'000'500, 0, "tick");
    instant.kind = Event::Kind::kInstant;
    w.AddEvent(thread, instant);
  }

  uint32_t NewSeries(uint32_t group, Series::Scope scope, uint32_t scope_id,
                     std::string_view name, std::string_view label,
                     std::string_view unit, Series::Kind kind,
                     Series::Type type = Series::Type::kInt) {
    Series row;
    row.group = group;
    row.scope = scope;
    row.scope_id = scope_id;
    row.name = w.Intern(name);
    row.label = w.Intern(label);
    row.unit = w.Intern(unit);
    row.kind = kind;
    row.type = type;
    row.source =
        w.Intern(scope == Series::Scope::kMachine ? "machine" : "tasks");
    return w.AddSeries(row);
  }

  void Counters() {
    using Scope = Series::Scope;
    using Kind = Series::Kind;
    const uint32_t user = NewSeries(1, Scope::kMachine, 0, "cpu_user_ns", "0",
                                    "ns", Kind::kTotal);
    const uint32_t system = NewSeries(1, Scope::kMachine, 0, "cpu_system_ns",
                                      "0", "ns", Kind::kTotal);
    const uint32_t idle = NewSeries(1, Scope::kMachine, 0, "cpu_idle_ns", "0",
                                    "ns", Kind::kTotal);
    const uint32_t steal = NewSeries(1, Scope::kMachine, 0, "cpu_steal_ns", "0",
                                     "ns", Kind::kTotal);
    const uint32_t load = NewSeries(1, Scope::kMachine, 0, "load1", "", "1",
                                    Kind::kGauge, Series::Type::kDouble);
    const uint32_t disk = NewSeries(1, Scope::kMachine, 0, "disk_read_bytes",
                                    "=sda\x1b", "bytes", Kind::kTotal);
    const uint32_t cpu =
        NewSeries(2, Scope::kProcess, 1, "cpu_ns", "", "ns", Kind::kTotal);
    const uint32_t rss = NewSeries(2, Scope::kProcess, 2, "rss_bytes", "",
                                   "bytes", Kind::kGauge);
    const uint32_t thread =
        NewSeries(2, Scope::kThread, 3, "cpu_ns", "", "ns", Kind::kTotal);
    // Two series that look the same must stay two.
    const uint32_t again = NewSeries(2, Scope::kProcess, 2, "rss_bytes", "",
                                     "bytes", Kind::kGauge);
    for (int64_t tick = 0; tick < 10; ++tick) {
      w.BeginTick(1, kBegin + tick * 1'000'000);
      w.Set(user, tick * 250'000);
      w.Set(system, tick * 100'000);
      w.Set(idle, tick * 650'000);
      w.Set(steal, 0);
      // 25 % of what JSON has no number for.
      w.SetDouble(load, tick % 4 == 3 ? std::nan("") : 0.5 * tick);
      w.Set(disk, tick < 5 ? 0 : 1'000'000 + tick * 1000);
      w.EndTick();
      w.BeginTick(2, kBegin + tick * 1'000'000 + 7);
      // Busy to tick 4, at rest to tick 7, busy again.
      w.Set(cpu, std::min<int64_t>(tick, 4) * 500'000 +
                     std::max<int64_t>(tick - 7, 0) * 250'000);
      if (tick < 3 || tick > 6)
        w.Set(rss, 1'000'000 + tick * 4096);
      else if (tick == 3)
        w.Gone(rss);
      w.Set(thread, tick * 10'000);
      w.Set(again, 5);
      w.EndTick();
      if (tick == 5) w.Seal();
    }
  }

  TraceWriter& w;
};

int Main(const char* path, int64_t more) {
  FileHeader header;
  header.realtime_ns = 1'700'000'000'000'000'000;
  header.monotonic_ns = kBegin;
  TraceWriter::Options options;
  options.replace = true;
  auto made = TraceWriter::Create(path, header, options);
  if (!made.ok()) {
    std::fprintf(stderr, "%s\n", made.error().what.c_str());
    return 1;
  }
  const auto writer = made.Take();
  Maker maker(*writer);
  maker.Processes();
  maker.Nested();
  maker.Crossing();
  maker.Images();
  maker.Counters();
  if (more > 0) {
    const uint32_t plain = maker.NewTrack(Track::Kind::kCustom, 1, 0, "plain");
    Event event = maker.Slice(0, 500, "plain");
    for (int64_t i = 0; i < more; ++i, event.begin_ns += 1000)
      writer->AddEvent(plain, event);
  }
  // A name that the file does not explain.
  const uint32_t track = maker.NewTrack(Track::Kind::kCustom, 1, 0, "orphans");
  Event orphan = maker.Slice(1000, 10, "x");
  orphan.name = 9999;
  orphan.args = 999;
  orphan.stack = 999;
  writer->AddEvent(track, orphan);
  writer->PutMeta("command", "[\"python\",\"=x\"]");
  writer->PutMeta("started_ns", std::to_string(kBegin));
  writer->PutMeta("host", "a\x1b[0m\"host");
  writer->AddClock({kBegin, header.realtime_ns, kBegin + 5});
  Loss loss;
  loss.reason = "perf-lost";
  loss.detail = "17 records\x1b[2J";
  loss.count = 17;
  loss.from_ns = kBegin + 1000;
  loss.to_ns = kBegin + 2000;
  writer->AddLoss(loss);
  return writer->Close().ok() ? 0 : 1;
}

}  // namespace
}  // namespace sonde

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  return sonde::Main(argv[1], argc > 2 ? std::atoll(argv[2]) : 0);
}

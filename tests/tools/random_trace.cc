#include "tools/random_trace.h"

#include <algorithm>
#include <bit>

namespace sonde {

FileHeader RandomTrace::HeaderOf(uint64_t seed) {
  FileHeader header;
  std::mt19937_64 random(seed ^ 0x5eed);
  for (uint8_t& byte : header.session) byte = static_cast<uint8_t>(random());
  header.realtime_ns =
      1'700'000'000'000'000'000 + static_cast<int64_t>(random() % 1'000'000);
  header.monotonic_ns = static_cast<int64_t>(random() % 1'000'000'000);
  return header;
}

RandomTrace::RandomTrace(uint64_t seed, TraceWriter& writer, bool flushes)
    : random_(seed), writer_(writer), flushes_(flushes) {
  now_ns_ = static_cast<int64_t>(Below(1'000'000'000));
  for (int i = 0; i < 12; ++i)
    names_.push_back(writer_.Intern("op" + std::to_string(i)));
  names_.push_back(writer_.Intern("a name, with \"quotes\" and a = sign"));
  names_.push_back(0);
  series_.resize(4);
  for (int i = 0; i < 12; ++i) AddRow();
}

std::string RandomTrace::AnyString() {
  std::string text;
  const uint64_t size = OneIn(20) ? Below(3000) : Below(12);
  const bool words = !OneIn(3);
  for (uint64_t i = 0; i < size; ++i)
    text += static_cast<char>(words ? 'a' + Below(26) : Below(256));
  return text;
}

uint32_t RandomTrace::Name() {
  if (OneIn(300)) names_.push_back(writer_.Intern(AnyString()));
  return names_[Below(names_.size())];
}

uint32_t RandomTrace::AnyArgs() {
  std::vector<Arg> args(Below(4));
  for (Arg& arg : args) {
    arg.key = writer_.Intern("key" + std::to_string(Below(5)));
    arg.type = static_cast<Arg::Type>(1 + Below(3));
    if (arg.type == Arg::Type::kInt)
      arg.int_value = OneIn(5) ? static_cast<int64_t>(random_())
                               : static_cast<int64_t>(Below(1000)) - 500;
    if (arg.type == Arg::Type::kDouble)
      arg.double_value = OneIn(5) ? std::bit_cast<double>(random_())
                                  : static_cast<double>(Below(100)) / 4;
    if (arg.type == Arg::Type::kString)
      arg.string_value = writer_.Intern(AnyString());
  }
  return writer_.AddArgs(args);
}

uint32_t RandomTrace::AnyStack() {
  if (frames_.empty() || OneIn(20)) {
    StackFrame frame;
    frame.function = writer_.Intern(AnyString());
    frame.module = AnyId(FrameKind::kModules);
    if (OneIn(2)) frame.file = writer_.Intern("src/a.cc");
    frame.line = static_cast<uint32_t>(Below(500));
    frame.offset = OneIn(4) ? random_() : Below(5000);
    frames_.push_back(writer_.AddFrame(frame));
  }
  if (OneIn(3)) {
    stacks_.push_back(writer_.AddStack(
        {stacks_[Below(stacks_.size())], frames_[Below(frames_.size())]}));
  }
  return stacks_[Below(stacks_.size())];
}

void RandomTrace::AddEvents() {
  if (tracks_.empty()) return;
  OpenTrack& track = tracks_[Below(tracks_.size())];
  const uint64_t count = OneIn(30) ? Below(3000) : Below(40);
  for (uint64_t i = 0; i < count; ++i) {
    now_ns_ += static_cast<int64_t>(OneIn(10) ? Below(1'000'000) : Below(900));
    const uint64_t choice = Below(10);
    Event event;
    event.name = Name();
    if (OneIn(8)) event.category = writer_.Intern("cat");
    if (OneIn(10)) event.args = AnyArgs();
    if (OneIn(12)) event.stack = AnyStack();
    if (OneIn(20)) event.flow_in = OneIn(3) ? random_() : Below(99);
    if (OneIn(20)) event.flow_out = Below(99);
    if (OneIn(15)) event.cls = static_cast<Event::Class>(Below(4));
    if (OneIn(15)) event.source = event.name;
    if (choice < 4 && track.begins.size() < 9) {
      track.begins.push_back(now_ns_);
      continue;
    }
    if (choice == 4 || track.begins.empty()) {
      event.kind = Event::Kind::kInstant;
      event.begin_ns = now_ns_;
      event.depth = static_cast<uint16_t>(track.begins.size());
    } else {
      event.begin_ns = track.begins.back();
      track.begins.pop_back();
      event.dur_ns = now_ns_ - event.begin_ns;
      event.depth = static_cast<uint16_t>(track.begins.size());
      if (OneIn(200)) event.flags = Event::kUnfinished;
      if (track.disordered && OneIn(4))
        event.dur_ns = static_cast<int64_t>(
            Below(static_cast<uint64_t>(event.dur_ns) + 1));
    }
    writer_.AddEvent(track.id, event);
  }
}

void RandomTrace::AddTick() {
  const uint32_t group = static_cast<uint32_t>(1 + Below(3));
  if (series_[group].empty()) return;
  now_ns_ += static_cast<int64_t>(Below(2000));
  writer_.BeginTick(group, now_ns_);
  for (const Series& series : series_[group]) {
    if (OneIn(5)) continue;
    if (OneIn(40)) writer_.Gone(series.id);
    if (OneIn(12)) continue;
    const uint64_t value = OneIn(30) ? random_() : Below(4);
    if (series.type == Series::Type::kDouble)
      writer_.SetDouble(series.id, OneIn(40) ? std::bit_cast<double>(random_())
                                             : static_cast<double>(value) / 8);
    else
      writer_.Set(series.id, static_cast<int64_t>(value));
    if (OneIn(60)) writer_.Gone(series.id);
  }
  writer_.EndTick();
}

void RandomTrace::AddRow() {
  const uint32_t process =
      static_cast<uint32_t>(processes_ ? 1 + Below(processes_) : 0);
  const uint32_t thread =
      static_cast<uint32_t>(threads_ ? 1 + Below(threads_) : 0);
  const uint64_t what = Below(11);
  if (what == 0 || processes_ == 0) {
    Process row;
    row.number = OneIn(2) && process ? process : ++processes_;
    row.parent = static_cast<uint32_t>(Below(row.number));
    row.pid = static_cast<int32_t>(Below(100000));
    if (!OneIn(4)) row.start_ns = now_ns_;
    row.name = writer_.Intern(AnyString());
    row.cmdline = OneIn(2) ? writer_.Intern(AnyString()) : 0;
    row.exit = static_cast<Process::Exit>(Below(4));
    if (row.exit != Process::Exit::kRunning) row.end_ns = now_ns_ + 5;
    if (row.exit == Process::Exit::kExited ||
        row.exit == Process::Exit::kSignaled)
      row.exit_code = static_cast<int32_t>(Below(128));
    row.execs = static_cast<uint32_t>(Below(3));
    if (OneIn(2)) row.cpu_ns = static_cast<int64_t>(Below(1'000'000'000));
    writer_.PutProcess(row);
  } else if (what == 1) {
    Thread row;
    row.number = OneIn(2) && thread ? thread : ++threads_;
    row.process = process;
    row.tid = static_cast<int32_t>(Below(100000));
    row.start_ns = now_ns_;
    if (OneIn(2)) row.end_ns = now_ns_ + 99;
    row.name = writer_.Intern(AnyString());
    if (OneIn(2)) row.cpu_ns = static_cast<int64_t>(Below(1'000'000));
    writer_.PutThread(row);
  } else if (what == 2 || tracks_.empty()) {
    if (tracks_.size() > 8) return;
    Track row;
    row.kind = static_cast<Track::Kind>(1 + Below(5));
    row.source = OneIn(3) ? 0 : writer_.Intern("api");
    row.device = AnyId(FrameKind::kDevices);
    if (!tracks_.empty() && OneIn(2)) row.parent = tracks_.back().id;
    row.order = static_cast<uint32_t>(Below(3));
    if (OneIn(4)) row.clock = writer_.Intern("gpu");
    row.process = process;
    row.thread = thread;
    row.name = writer_.Intern(AnyString());
    OpenTrack& track = tracks_.emplace_back();
    track.id = writer_.AddTrack(row);
    track.disordered = OneIn(3);
  } else if (what <= 4) {
    Series row;
    row.group = static_cast<uint32_t>(1 + Below(3));
    if (series_[row.group].size() > 20) return;
    row.scope = static_cast<Series::Scope>(1 + Below(4));
    row.scope_id = row.scope == Series::Scope::kMachine ? 0 : process;
    row.name = writer_.Intern("series" + std::to_string(Below(9)));
    row.label = OneIn(2) ? writer_.Intern(std::to_string(Below(4))) : 0;
    row.unit = OneIn(5) ? 0 : writer_.Intern("bytes");
    row.kind = static_cast<Series::Kind>(1 + Below(2));
    row.type = static_cast<Series::Type>(1 + Below(2));
    row.source = OneIn(3) ? 0 : writer_.Intern(OneIn(2) ? "tasks" : "itt");
    row.device = AnyId(FrameKind::kDevices);
    row.id = writer_.AddSeries(row);
    series_[row.group].push_back(row);
  } else if (what == 5) {
    writer_.PutMeta("key" + std::to_string(Below(6)), AnyString());
  } else if (what == 6) {
    Loss loss;
    loss.reason = OneIn(2) ? "perf-lost" : AnyString();
    loss.detail = AnyString();
    loss.count = Below(100);
    if (OneIn(2)) loss.from_ns = now_ns_;
    if (OneIn(2)) loss.to_ns = now_ns_ + 10;
    if (OneIn(2)) loss.source = AnyString();
    writer_.AddLoss(loss);
  } else if (what == 7) {
    AddPlainRow();
  } else if (what == 8) {
    if (frames_.empty()) return;
    Symbol row;
    row.frame = frames_[Below(frames_.size())];
    row.depth = static_cast<uint32_t>(Below(3));
    row.function = writer_.Intern(AnyString());
    row.line = static_cast<uint32_t>(Below(99));
    row.inlined = static_cast<uint32_t>(Below(2));
    writer_.AddSymbol(row);
  } else if (what == 9) {
    std::vector<NotCollected> rows(Below(3));
    for (NotCollected& row : rows) row = {AnyString(), "why", AnyString()};
    writer_.PutNotCollected(rows);
  } else {
    writer_.AddClock({now_ns_, now_ns_ + 1'700'000'000'000'000'000,
                      static_cast<int64_t>(Below(1000))});
  }
}

// Puts any values into the fields of a row.
class RandomTrace::AnyFields {
 public:
  explicit AnyFields(RandomTrace& trace) : trace_(trace) {}

  template <typename T>
  void Number(const char*, T& v) {
    v = static_cast<T>(trace_.Below(9));
  }
  void Time(const char*, int64_t& v) {
    if (trace_.OneIn(2)) v = trace_.now_ns_;
  }
  void Cost(const char*, int64_t& v) {
    if (trace_.OneIn(2)) v = static_cast<int64_t>(trace_.Below(1'000'000));
  }
  void String(const char*, uint32_t& v) {
    if (!trace_.OneIn(4)) v = trace_.writer_.Intern(trace_.AnyString());
  }
  void Ref(FrameKind kind, const char*, uint32_t& v) { v = trace_.AnyId(kind); }
  template <typename Enum, typename Words>
  void Choice(const char*, Enum& v, const Words& words, Enum first) {
    v = static_cast<Enum>(static_cast<uint64_t>(first) +
                          trace_.Below(words.size()));
  }

 private:
  RandomTrace& trace_;
};

uint32_t RandomTrace::AnyId(FrameKind kind) {
  return static_cast<uint32_t>(Below(plain_[kind] + 1));
}

void RandomTrace::AddPlainRow() {
  AnyFields fields(*this);
  ForEachPlainKind([&]<typename Row>(const PlainKind<Row>& kind) {
    if (OneIn(3)) return;
    Row row;
    VisitFields(fields, row);
    plain_[kind.frame] = writer_.AddRow(row);
  });
}

void RandomTrace::AddSamples() {
  for (uint64_t count = Below(60); count > 0; --count) {
    Sample sample;
    now_ns_ += static_cast<int64_t>(Below(5000));
    sample.time_ns = now_ns_ - static_cast<int64_t>(Below(3000));
    sample.thread = static_cast<uint32_t>(Below(threads_ + 1));
    sample.stack = AnyStack();
    sample.weight_ns = OneIn(9) ? Below(99) : 5'000'000;
    sample.flags = static_cast<uint8_t>(OneIn(5) ? Below(4) : 0);
    writer_.AddSample(sample);
  }
}

void RandomTrace::Step() {
  const uint64_t choice = Below(21);
  if (choice < 9)
    AddEvents();
  else if (choice < 18)
    AddTick();
  else if (choice == 20)
    AddSamples();
  else
    AddRow();
  if (!flushes_) return;
  if (OneIn(9)) writer_.Flush();
  if (OneIn(120)) writer_.Seal();
}

}  // namespace sonde

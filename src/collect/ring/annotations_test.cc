#include "collect/ring/annotations.h"

#include <gtest/gtest.h>
#include <sonde/abi.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tools/trace_contents.h"
#include "trace/text_writer.h"

namespace sonde {
namespace {

using Words = std::vector<uint64_t>;

Words Rec(uint8_t kind, uint64_t time, uint32_t id, uint16_t depth = 0,
          const Words& behind = {}) {
  Words out = {
      time, RecordWord(id, kind, static_cast<uint8_t>(behind.size()), depth)};
  out.insert(out.end(), behind.begin(), behind.end());
  return out;
}

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct AnnotationsTest : testing::Test {
  void SetUp() override {
    bytes = std::make_shared<std::string>();
    out = TraceWriter::CreateInMemory({}, bytes);
    said = New();
    step = Text("step");
    load = Text("load");
    RingName of_label;
    of_label.kind = NameKind::kLabel;
    of_label.name = step;
    of_label.category = Text("ml");
    of_label.color = 0xff00ff00;
    label = Define(of_label);
  }

  std::unique_ptr<Annotations> New() {
    Annotations::Options options;
    options.process = 7;
    options.name_process = [&](std::string_view name) { process_name = name; };
    options.look = [&](uint32_t id) -> std::optional<RingName> {
      return id - kFirstId < names.size() ? std::optional(names[id - kFirstId])
                                          : std::nullopt;
    };
    return std::make_unique<Annotations>(*out, std::move(options));
  }

  StateLimits Limits() const {
    return {out->strings(), out->tracks(), out->series(), out->groups(),
            out->losses()};
  }

  uint32_t Define(const RingName& name) {
    names.push_back(name);
    return kFirstId + static_cast<uint32_t>(names.size() - 1);
  }
  uint32_t Text(const std::string& text) {
    RingName name;
    name.text = text;
    return Define(name);
  }

  TraceContents Close() {
    CHECK(out->Close().ok());
    return TraceContents::OfBytes(bytes);
  }

  // The events of the only row of this kind.
  static std::vector<Event> OnlyRow(const TraceContents& trace,
                                    Track::Kind kind) {
    std::vector<Event> found;
    for (const auto& [id, track] : trace.tracks)
      if (track.kind == kind && trace.events.contains(id)) {
        EXPECT_TRUE(found.empty());
        found = trace.events.at(id);
      }
    return found;
  }

  std::shared_ptr<std::string> bytes;
  std::unique_ptr<TraceWriter> out;
  std::unique_ptr<Annotations> said;
  std::string process_name;
  static constexpr uint32_t kFirstId = 100;
  std::vector<RingName> names;
  uint32_t step = 0, load = 0, label = 0;
};

TEST_F(AnnotationsTest, SlicesNestAndTakeArgumentsOfBothEnds) {
  const Words in = {ArgWord(load, SONDE_ARG_INT, 1, 0), 42};
  const Words text = {ArgWord(load, SONDE_ARG_TEXT, 1, 5), 0};
  Words with_text = text;
  std::memcpy(&with_text[1], "hello", 5);
  said->Take(1, 3, 1000,
             Rec(SONDE_KIND_BEGIN, 100, label, 0, in) +
                 Rec(SONDE_KIND_BEGIN, 110, load, 1) +
                 Rec(SONDE_KIND_END, 120, 0, 1) +
                 Rec(SONDE_KIND_END, 200, 0, 0, with_text));
  said->EndPass(UINT64_MAX);
  const TraceContents trace = Close();
  const auto events = OnlyRow(trace, Track::Kind::kThread);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(trace.strings.at(events[0].name), "load");
  EXPECT_EQ(events[0].depth, 1);
  EXPECT_EQ(events[0].begin_ns, 110);
  EXPECT_EQ(events[0].dur_ns, 10);
  EXPECT_EQ(trace.strings.at(events[1].name), "step");
  EXPECT_EQ(trace.strings.at(events[1].category), "ml");
  EXPECT_EQ(events[1].dur_ns, 100);
  EXPECT_EQ(events[1].flags, 0);
  const auto& args = trace.args.at(events[1].args);
  ASSERT_EQ(args.size(), 3u);
  EXPECT_EQ(args[0].int_value, 42);
  EXPECT_EQ(args[1].int_value, 0xff00ff00);
  EXPECT_EQ(trace.strings.at(args[2].string_value), "hello");
  EXPECT_EQ(said->strange(), 0u);
}

TEST_F(AnnotationsTest, ALostEndDoesNotConfuseWhatFollows) {
  said->Take(1, 3, 1000,
             Rec(SONDE_KIND_BEGIN, 100, step, 0) +
                 Rec(SONDE_KIND_BEGIN, 110, load, 1) +
                 // its end is lost
                 Rec(SONDE_KIND_BEGIN, 150, load, 1) +
                 Rec(SONDE_KIND_END, 160, 0, 1) +
                 Rec(SONDE_KIND_END, 170, 0, 3) +  // its begin is lost
                 Rec(SONDE_KIND_END, 200, 0, 0));
  const TraceContents trace = Close();
  const auto events = OnlyRow(trace, Track::Kind::kThread);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].flags, Event::kUnfinished);
  EXPECT_EQ(events[0].dur_ns, 40);
  EXPECT_EQ(events[1].begin_ns, 150);
  EXPECT_EQ(events[1].flags, 0);
  EXPECT_EQ(events[2].dur_ns, 100);
}

TEST_F(AnnotationsTest, WhatIsOpenAtDeathEndsThereFlagged) {
  said->Take(1, 3, 1000, Rec(SONDE_KIND_BEGIN, 100, step, 0));
  said->Take(2, 4, 1000, Rec(SONDE_KIND_RANGE_BEGIN, 100, step, 0, {77}));
  said->ProcessEnded(500);
  const TraceContents trace = Close();
  for (const Track::Kind kind : {Track::Kind::kThread, Track::Kind::kCustom}) {
    const auto events = OnlyRow(trace, kind);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].dur_ns, 400);
    EXPECT_EQ(events[0].flags, Event::kUnfinished);
  }
}

TEST_F(AnnotationsTest, RangesOfSeveralThreadsAreTakenInOrderOfTime) {
  // The end is read before the begin: its thread's block comes first.
  said->Take(1, 3, 1000, Rec(SONDE_KIND_RANGE_END, 300, 0, 0, {77}));
  said->Take(2, 4, 1000,
             Rec(SONDE_KIND_RANGE_BEGIN, 100, step, 0, {77}) +
                 Rec(SONDE_KIND_RANGE_BEGIN, 150, step, 0, {78}) +
                 Rec(SONDE_KIND_RANGE_END, 310, 0, 0, {78}) +
                 Rec(SONDE_KIND_RANGE_BEGIN, 400, step, 0, {79}) +
                 Rec(SONDE_KIND_RANGE_END, 410, 0, 0, {79}));
  said->EndPass(UINT64_MAX);
  const TraceContents trace = Close();
  // Two at a time need two rows, a third one later none of its own.
  std::vector<size_t> rows;
  for (const auto& [id, events] : trace.events) rows.push_back(events.size());
  EXPECT_EQ(rows, (std::vector<size_t>{2, 1}));
  EXPECT_EQ(said->strange(), 0u);
}

TEST_F(AnnotationsTest, ARangeWhoseBeginIsReadLaterWaitsForIt) {
  // The end was written after the pass began, when the other block was read.
  said->Take(1, 3, 1000, Rec(SONDE_KIND_RANGE_END, 300, 0, 0, {77}));
  said->EndPass(200);
  said->Take(2, 4, 1000, Rec(SONDE_KIND_RANGE_BEGIN, 250, step, 0, {77}));
  said->EndPass(400);
  const TraceContents trace = Close();
  const auto events = OnlyRow(trace, Track::Kind::kCustom);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].dur_ns, 50);
  EXPECT_EQ(said->strange(), 0u);
}

TEST_F(AnnotationsTest, APauseEndsWhatIsOpenAndTheDepthBeginsAnew) {
  said->Take(
      1, 3, 1000,
      Rec(SONDE_KIND_BEGIN, 100, step, 0) + Rec(SONDE_KIND_PAUSE, 150, 0, 1) +
          // Its end was not recorded, so the thread counts from 1.
          Rec(SONDE_KIND_RESUME, 500, 0, 1) +
          Rec(SONDE_KIND_BEGIN, 600, step, 1) + Rec(SONDE_KIND_END, 700, 0, 1));
  const TraceContents trace = Close();
  std::vector<Event> slices;
  for (const Event& event : OnlyRow(trace, Track::Kind::kThread))
    if (event.kind == Event::Kind::kSlice) slices.push_back(event);
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].dur_ns, 50);
  EXPECT_EQ(slices[0].flags, Event::kUnfinished);
  EXPECT_EQ(slices[1].dur_ns, 100);
  EXPECT_EQ(slices[1].depth, 0);
  EXPECT_EQ(slices[1].flags, 0);
}

TEST_F(AnnotationsTest, CountersAddUpAcrossThreads) {
  said->Take(1, 3, 1000, Rec(SONDE_KIND_COUNTER_ADD, 300, load, 0, {5}));
  said->Take(2, 4, 1000,
             Rec(SONDE_KIND_COUNTER, 100, load, 0, {10}) +
                 Rec(SONDE_KIND_COUNTER_ADD, 200, load, 0,
                     {static_cast<uint64_t>(-3)}) +
                 Rec(SONDE_KIND_COUNTER_DOUBLE, 250, step, 0,
                     {std::bit_cast<uint64_t>(0.5)}));
  said->EndPass(UINT64_MAX);
  const TraceContents trace = Close();
  const uint32_t series = trace.FindSeries("load", Series::Scope::kProcess, 7);
  ASSERT_NE(series, 0u);
  const auto& points = trace.points.at(series);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].value, 10);
  EXPECT_EQ(points[1].value, 7);
  EXPECT_EQ(points[2].value, 12);
  EXPECT_EQ(points[2].time_ns, 300);
  const uint32_t real = trace.FindSeries("step", Series::Scope::kProcess, 7);
  ASSERT_NE(real, 0u);
  EXPECT_EQ(trace.series.at(real).type, Series::Type::kDouble);
  EXPECT_EQ(trace.points.at(real)[0].value, std::bit_cast<int64_t>(0.5));
}

TEST_F(AnnotationsTest, ARowWithAClockOfItsOwnIsBroughtToOurs) {
  RingName clock_name;
  clock_name.kind = NameKind::kClock;
  clock_name.name = load;
  clock_name.ticks_per_second = 1'000'000;
  const uint32_t clock = Define(clock_name);
  RingName track_name;
  track_name.kind = NameKind::kTrack;
  track_name.name = step;
  track_name.clock = clock;
  const uint32_t track = Define(track_name);
  const uint64_t on_track = ArgWord(track, SONDE_ARG_TRACK, 0, 0);
  // The device says 1000 at our 5000 ns; its ticks are microseconds.
  said->Take(
      1, 3, 1000,
      Rec(SONDE_KIND_CLOCK_PAIR, 5000, 0, 0, {clock, 1000}) +
          Rec(SONDE_KIND_COMPLETE, 9000, load, 0, {1002, 1003, on_track}));
  said->EndPass(UINT64_MAX);
  const TraceContents trace = Close();
  const auto events = OnlyRow(trace, Track::Kind::kCustom);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].begin_ns, 7000);
  EXPECT_EQ(events[0].dur_ns, 1000);
}

TEST_F(AnnotationsTest, FlowsHangOnTheSliceAroundThem) {
  said->Take(1, 3, 1000,
             Rec(SONDE_KIND_BEGIN, 100, step, 0) +
                 Rec(SONDE_KIND_FLOW_BEGIN, 110, load, 1, {9}) +
                 Rec(SONDE_KIND_END, 120, 0, 0) +
                 Rec(SONDE_KIND_FLOW_END, 130, load, 0, {9}));
  const TraceContents trace = Close();
  const auto events = OnlyRow(trace, Track::Kind::kThread);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_NE(events[0].flow_out, 0u);
  EXPECT_EQ(events[1].kind, Event::Kind::kInstant);
  EXPECT_EQ(events[1].flow_in, events[0].flow_out);
  const auto& args = trace.args.at(events[0].args);
  ASSERT_EQ(args.size(), 1u) << "the slice says the name of the arrow";
  EXPECT_EQ(trace.strings.at(args[0].key), "flow_out");
  EXPECT_EQ(trace.strings.at(args[0].string_value), "load");
}

TEST_F(AnnotationsTest, CountersTakeFiniteNumbersOnly) {
  const auto word = [](double value) {
    return Words{std::bit_cast<uint64_t>(value)};
  };
  constexpr double kInf = std::numeric_limits<double>::infinity();
  said->Take(1, 3, 1000,
             Rec(SONDE_KIND_COUNTER_DOUBLE, 100, load, 0, word(0.5)) +
                 Rec(SONDE_KIND_COUNTER_DOUBLE, 110, load, 0, word(kInf)) +
                 Rec(SONDE_KIND_COUNTER_ADD_DBL, 120, load, 0, word(NAN)) +
                 Rec(SONDE_KIND_COUNTER_ADD_DBL, 130, load, 0, word(0.25)) +
                 Rec(SONDE_KIND_COUNTER_DOUBLE, 140, step, 0, word(-kInf)));
  said->EndPass(UINT64_MAX);
  const TraceContents trace = Close();
  ASSERT_EQ(trace.series.size(), 1u) << "one that never had a value is none";
  ASSERT_EQ(trace.losses.size(), 1u);
  EXPECT_EQ(trace.losses.at(0).reason, "ring-not-a-number");
  EXPECT_EQ(trace.losses.at(0).count, 3u);
  EXPECT_EQ(trace.losses.at(0).from_ns, 110);
  EXPECT_EQ(trace.losses.at(0).to_ns, 140);
}

TEST_F(AnnotationsTest, LossesOfOneReasonThatAreNearAreOne) {
  const uint32_t full = static_cast<uint32_t>(LostWhy::kFull);
  said->Take(1, 3, 1000,
             Rec(SONDE_KIND_LOST, 300, full, 0, {5, 100, 200}) +
                 Rec(SONDE_KIND_LOST, 500, full, 0, {7, 400, 450}));
  const TraceContents trace = Close();
  ASSERT_EQ(trace.losses.size(), 1u);
  EXPECT_EQ(trace.losses.at(0).count, 12u);
  EXPECT_EQ(trace.losses.at(0).from_ns, 100);
  EXPECT_EQ(trace.losses.at(0).to_ns, 450);
  EXPECT_EQ(trace.losses.at(0).reason, "ring-full");
}

TEST_F(AnnotationsTest, RubbishIsCountedAndLeavesTheRestAlone) {
  Words cut = Rec(SONDE_KIND_INSTANT, 50, step, 0, {1, 2, 3});
  cut.resize(3);
  said->Take(1, 3, 1000,
             Rec(99, 10, step) + Rec(SONDE_KIND_COMPLETE, 20, step, 0, {1}) +
                 Rec(SONDE_KIND_INSTANT, 30, step, 0,
                     {ArgWord(load, SONDE_ARG_TEXT, 9, 72)}) +
                 Rec(SONDE_KIND_COUNTER, 35, 0xffffffff, 0, {1}) +
                 Rec(SONDE_KIND_INSTANT, 40, step) + cut);
  said->EndPass(UINT64_MAX);
  EXPECT_EQ(said->strange(), 4u);
  const TraceContents trace = Close();
  EXPECT_EQ(OnlyRow(trace, Track::Kind::kThread).size(), 1u);
}

// Records of two threads that leave something open at nearly every moment.
struct Script {
  uint32_t key;
  Words words;
};
std::vector<Script> MixedScript(uint32_t step, uint32_t load, uint32_t clock,
                                uint32_t track) {
  const uint64_t on_track = ArgWord(track, SONDE_ARG_TRACK, 0, 0);
  const uint32_t full = static_cast<uint32_t>(LostWhy::kFull);
  return {
      {1, Rec(SONDE_KIND_CLOCK_PAIR, 50, 0, 0, {clock, 1000})},
      {1, Rec(SONDE_KIND_BEGIN, 100, step, 0,
              {ArgWord(load, SONDE_ARG_INT, 1, 0), 42})},
      {2, Rec(SONDE_KIND_RANGE_BEGIN, 105, load, 0, {77})},
      {1, Rec(SONDE_KIND_BEGIN, 110, load, 1)},
      {2, Rec(SONDE_KIND_RANGE_BEGIN, 115, load, 0, {78})},
      {1, Rec(SONDE_KIND_BEGIN, 118, load, 2, {on_track})},
      {1, Rec(SONDE_KIND_COUNTER_ADD, 120, load, 0, {5})},
      {2, Rec(SONDE_KIND_LOST, 125, full, 0, {3, 121, 124})},
      {2, Rec(SONDE_KIND_RANGE_END, 130, 0, 0, {77})},
      {1, Rec(SONDE_KIND_COMPLETE, 140, load, 0, {1002, 1003, on_track})},
      {2, Rec(SONDE_KIND_COUNTER_ADD, 150, load, 0, {5})},
      {1, Rec(SONDE_KIND_END, 160, 0, 1)},
      {2, Rec(SONDE_KIND_LOST, 165, full, 0, {4, 161, 164})},
      {1, Rec(SONDE_KIND_END, 170, 0, 2, {on_track})},
      {2, Rec(SONDE_KIND_RANGE_BEGIN, 180, load, 0, {79})},
      {1, Rec(SONDE_KIND_END, 190, 0, 0)},
      {2, Rec(SONDE_KIND_RANGE_END, 200, 0, 0, {79})},
  };
}

TEST_F(AnnotationsTest, AnotherGoesOnFromAnyMomentAsIfNothingHadHappened) {
  RingName named;
  named.kind = NameKind::kClock;
  named.name = load;
  named.ticks_per_second = 1'000'000;
  const uint32_t clock = Define(named);
  named.kind = NameKind::kTrack;
  named.name = step;
  named.clock = clock;
  const uint32_t track = Define(named);
  const std::vector<Script> script = MixedScript(step, load, clock, track);
  std::string whole;
  for (size_t cut = 0; cut <= script.size(); ++cut) {
    bytes = std::make_shared<std::string>();
    out = TraceWriter::CreateInMemory({}, bytes);
    said = New();
    for (size_t i = 0; i < script.size(); ++i) {
      said->Take(script[i].key, script[i].key + 2, 1000, script[i].words);
      said->EndPass(script[i].words[0]);  // the newest one is held back
      if (i + 1 != cut) continue;
      StateArchive saved;
      said->Archive(saved);
      said = New();
      const std::string state = saved.Take();
      StateArchive restored(state, Limits());
      said->Archive(restored);
      ASSERT_TRUE(restored.ok() && restored.AtEnd()) << "behind record " << i;
    }
    said->ProcessEnded(500);
    EXPECT_EQ(said->records(), script.size());
    EXPECT_EQ(said->strange(), 0u);
    CHECK(out->Close().ok());
    const std::string text =
        TextOf(TraceReader::OpenBytes(bytes, "made").Take());
    if (cut == 0) whole = text;
    EXPECT_EQ(text, whole) << "cut behind record " << cut;
  }
}

TEST_F(AnnotationsTest, AStateThatCannotBeIsRefused) {
  said->Take(1, 3, 1000,
             Rec(SONDE_KIND_BEGIN, 100, step, 0) +
                 Rec(SONDE_KIND_COUNTER, 110, load, 0, {1}) +
                 Rec(SONDE_KIND_RANGE_BEGIN, 120, load, 0, {5}));
  said->EndPass(UINT64_MAX);
  StateArchive saved;
  said->Archive(saved);
  const std::string state = saved.Take();
  const auto accepts = [&](std::string_view input, const StateLimits& limits) {
    StateArchive archive(input, limits);
    New()->Archive(archive);
    return archive.ok() && archive.AtEnd();
  };
  EXPECT_TRUE(accepts(state, Limits()));
  for (size_t size = 0; size < state.size(); ++size)
    EXPECT_FALSE(accepts(std::string_view(state).substr(0, size), Limits()));
  // Ids beyond what the trace has.
  for (uint32_t StateLimits::*limit :
       {&StateLimits::strings, &StateLimits::tracks, &StateLimits::series,
        &StateLimits::groups}) {
    StateLimits fewer = Limits();
    fewer.*limit = 0;
    EXPECT_FALSE(accepts(state, fewer));
  }
}

TEST_F(AnnotationsTest, TheProgramNamesItself) {
  said->Take(1, 3, 1000, Rec(SONDE_KIND_PROCESS_NAME, 10, step));
  EXPECT_EQ(process_name, "step");
}

}  // namespace
}  // namespace sonde

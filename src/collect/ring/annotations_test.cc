#include "collect/ring/annotations.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tools/annotations_records.h"

namespace sonde {
namespace {

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

TEST_F(AnnotationsTest, SpeakersOfOneThreadNestAndAreToldApart) {
  const uint32_t call = LabelOf(SONDE_CLASS_CALL, Text("calls"));
  const uint32_t range = LabelOf(SONDE_CLASS_PROGRAM, Text("nvtx"));
  said->Take(1, 3, 1000,
             Rec(SONDE_KIND_BEGIN, 100, load, 0) +
                 Rec(SONDE_KIND_BEGIN, 110, range, 1) +
                 Rec(SONDE_KIND_BEGIN, 120, call, 2) +
                 Rec(SONDE_KIND_INSTANT, 125, range, 3) +
                 Rec(SONDE_KIND_END, 130, 0, 2) +
                 Rec(SONDE_KIND_END, 140, 0, 1) +
                 Rec(SONDE_KIND_END, 150, 0, 0));
  const TraceContents trace = Close();
  const auto events = OnlyRow(trace, Track::Kind::kThread);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].kind, Event::Kind::kInstant);
  EXPECT_EQ(trace.strings.at(events[0].source), "nvtx");
  EXPECT_EQ(events[1].cls, Event::Class::kCall);
  EXPECT_EQ(events[1].depth, 2);
  EXPECT_EQ(trace.strings.at(events[1].source), "calls");
  EXPECT_EQ(events[2].cls, Event::Class::kProgram);
  EXPECT_EQ(trace.strings.at(events[2].source), "nvtx");
  EXPECT_EQ(events[3].cls, Event::Class::kProgram);
  EXPECT_EQ(events[3].source, 0u);
  ASSERT_EQ(trace.tracks.size(), 1u);
  EXPECT_EQ(trace.strings.at(trace.tracks.begin()->second.source), "api");
}

TEST_F(AnnotationsTest, CountersOfTwoSpeakersAreTwo) {
  const uint32_t theirs = LabelOf(SONDE_CLASS_PROGRAM, Text("nvtx"));
  said->Take(1, 3, 1000,
             Rec(SONDE_KIND_COUNTER, 100, step, 0, {10}) +
                 Rec(SONDE_KIND_COUNTER_ADD, 110, theirs, 0, {5}));
  said->EndPass(UINT64_MAX);
  const TraceContents trace = Close();
  ASSERT_EQ(trace.series.size(), 2u);
  for (const auto& [id, row] : trace.series) {
    const bool own = trace.strings.at(row.source) == "api";
    EXPECT_TRUE(own || trace.strings.at(row.source) == "nvtx");
    EXPECT_EQ(trace.points.at(id)[0].value, own ? 10 : 5);
  }
}

TEST_F(AnnotationsTest, AQueueOfADeviceIsARowWhoseTimeIsTheDevices) {
  const uint32_t outer = TrackOf(SONDE_TRACK_ROW, 0);
  const uint32_t queue = TrackOf(SONDE_TRACK_QUEUE, Text("driver"), outer);
  const uint64_t on_queue = ArgWord(queue, SONDE_ARG_TRACK, 0, 0);
  said->Take(1, 3, 1000,
             Rec(SONDE_KIND_COMPLETE, 100, load, 0, {20, 30, on_queue}));
  said->EndPass(UINT64_MAX);
  const TraceContents trace = Close();
  const auto events = OnlyRow(trace, Track::Kind::kQueue);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].cls, Event::Class::kDevice);
  EXPECT_EQ(events[0].source, 0u) << "the track's";
  ASSERT_EQ(trace.tracks.size(), 2u);
  const Track& row = trace.tracks.rbegin()->second;
  EXPECT_EQ(trace.strings.at(row.source), "driver");
  EXPECT_EQ(row.order, 7u);
  EXPECT_EQ(row.parent, trace.tracks.begin()->first);
}

TEST_F(AnnotationsTest, WhoeverCannotBeIsTheProgram) {
  // A class that is none; sources that are no text, nowhere, or the collector.
  const uint32_t tasks = Text("tasks");
  for (const uint32_t id :
       {LabelOf(200, label), LabelOf(UINT32_MAX, UINT32_MAX), LabelOf(4, tasks),
        LabelOf(0, tasks), LabelOf(0, Text("api"))})
    said->Take(1, 3, 1000,
               Rec(SONDE_KIND_INSTANT, 100, id) +
                   Rec(SONDE_KIND_COUNTER, 100, id, 0, {1}));
  // Rows that are each other's parents, of a kind that is none.
  const uint32_t first = TrackOf(200, tasks, kFirstId + 100);
  const uint32_t second = TrackOf(UINT32_MAX, label, first);
  names[first - kFirstId].parent = second;
  for (const uint32_t track : {first, second})
    said->Take(1, 3, 1000,
               Rec(SONDE_KIND_INSTANT, 100, step, 0,
                   {ArgWord(track, SONDE_ARG_TRACK, 0, 0)}));
  said->EndPass(UINT64_MAX);
  EXPECT_EQ(said->strange(), 0u);
  const TraceContents trace = Close();
  for (const auto& [track, events] : trace.events)
    for (const Event& event : events) {
      EXPECT_EQ(event.cls, Event::Class::kProgram);
      EXPECT_EQ(event.source, 0u);
    }
  ASSERT_EQ(trace.tracks.size(), 3u);
  for (const auto& [id, row] : trace.tracks) {
    EXPECT_NE(row.kind, Track::Kind::kQueue);
    EXPECT_EQ(trace.strings.at(row.source), "api");
    EXPECT_LT(row.parent, id);
  }
  ASSERT_EQ(trace.series.size(), 1u);
  EXPECT_EQ(trace.strings.at(trace.series.begin()->second.source), "api");
}

TEST_F(AnnotationsTest, RowsInEndlesslyManyRowsAreCutAtTheTop) {
  uint32_t track = 0;
  for (int i = 0; i < 100'000; ++i) track = TrackOf(0, 0, track);
  said->Take(1, 3, 1000,
             Rec(SONDE_KIND_INSTANT, 100, step, 0,
                 {ArgWord(track, SONDE_ARG_TRACK, 0, 0)}));
  said->EndPass(UINT64_MAX);
  EXPECT_EQ(Close().tracks.size(), 65u);
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

TEST_F(AnnotationsTest, TheProgramNamesItself) {
  said->Take(1, 3, 1000, Rec(SONDE_KIND_PROCESS_NAME, 10, step));
  EXPECT_EQ(process_name, "step");
}

}  // namespace
}  // namespace sonde

#include "store/counter_replay.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "store/test_trace.h"

namespace sonde {
namespace {

// Writes down what it hears: "40: 7=5 8=6* 9!" is the tick at 40, a value, one
// that is repeated, and an end.
class Listener : public CounterHandler {
 public:
  void Tick(const CounterTick& tick) override {
    std::string line = fmt::format("{}:", tick.time_ns);
    for (const CounterValue& v : tick.values)
      line += fmt::format(" {}={}{}", v.slot, v.bits, v.repeated ? "*" : "");
    for (const CounterValue& v : tick.gone) line += fmt::format(" {}!", v.slot);
    heard.push_back(line);
  }
  void Hole(const CounterHole& hole) override {
    std::string line = hole.last_ns == kNoTime
                           ? "hole:"
                           : fmt::format("hole after {}:", hole.last_ns);
    for (const CounterValue& v : hole.lost) line += fmt::format(" {}", v.slot);
    heard.push_back(line);
  }

  std::vector<std::string> heard;
};

using Lines = std::vector<std::string>;

// Ticks at 0, 10 ... 70 of group 1, two in a chunk, with two series: one counts
// ticks, the other is 9 and ends at 50. Group 2 has a third, in between.
struct CounterReplayTest : testing::Test {
  CounterReplayTest() {
    auto writer = TraceWriter::CreateInMemory({}, bytes);
    Series row;
    row.group = 1;
    steps = writer->AddSeries(row);
    still = writer->AddSeries(row);
    row.group = 2;
    other = writer->AddSeries(row);
    for (int tick = 0; tick < 8; ++tick) {
      writer->BeginTick(1, tick * 10);
      writer->Set(steps, tick);
      if (tick < 5) writer->Set(still, 9);
      if (tick == 5) writer->Gone(still);
      writer->EndTick();
      writer->BeginTick(2, tick * 10 + 5);
      writer->Set(other, 3);
      writer->EndTick();
      if (tick % 2 == 1) writer->Seal();
    }
    CHECK(writer->Close().ok());
  }

  // Where the chunk of group 1 lies that begins with this tick.
  size_t ChunkOf(uint64_t ordinal) const {
    const auto store = Store::OfBytes(bytes, "t").Take();
    size_t at = 0;
    while (store->counter_chunks()[at].counters.group != 1 ||
           store->counter_chunks()[at].counters.first_ordinal != ordinal)
      ++at;
    return at;
  }
  std::shared_ptr<const Store> Open() const {
    return Store::OfBytes(bytes, "t").Take();
  }

  std::shared_ptr<std::string> bytes = std::make_shared<std::string>();
  uint32_t steps = 0, still = 0, other = 0;
};

TEST_F(CounterReplayTest, WhatAChunkRepeatsIsToldFromWhatIsNew) {
  const auto store = Open();
  CounterReplay replay(*store);
  Listener one;
  replay.Want(one, still, 7);
  replay.Want(one, steps, 8);
  replay.Run();
  EXPECT_EQ(one.heard,
            (Lines{"0: 8=0 7=9", "10: 8=1", "20: 8=2 7=9*", "30: 8=3",
                   "40: 8=4 7=9*", "50: 8=5 7!", "60: 8=6", "70: 8=7"}));
}

TEST_F(CounterReplayTest, HandlersOfOnePassHearWhatTheyWant) {
  const auto store = Open();
  CounterReplay replay(*store);
  Listener one, two, all;
  replay.Want(one, still, 1);
  replay.Want(two, still, 2);
  replay.Want(two, still, 3);
  replay.WantAll(all);
  replay.Run();
  EXPECT_EQ(one.heard, (Lines{"0: 1=9", "10:", "20: 1=9*", "30:", "40: 1=9*",
                              "50: 1!", "60:", "70:"}));
  EXPECT_EQ(two.heard, (Lines{"0: 2=9 3=9", "10:", "20: 2=9* 3=9*", "30:",
                              "40: 2=9* 3=9*", "50: 2! 3!", "60:", "70:"}));
  EXPECT_EQ(all.heard.size(), 16u);
  EXPECT_EQ(store->counter_decodes(), store->counter_chunks().size());
}

TEST_F(CounterReplayTest, OnlyChunksOfWantedGroupsAreRead) {
  const auto store = Open();
  CounterReplay replay(*store);
  Listener one;
  replay.Want(one, other, 1);
  replay.Run();
  EXPECT_EQ(one.heard.size(), 8u);
  EXPECT_EQ(store->counter_decodes(), store->counter_chunks().size() / 2);
  CounterReplay nothing(*store);
  EXPECT_FALSE(nothing.Next());
}

TEST_F(CounterReplayTest, ADamagedChunkIsAHole) {
  bytes = WithDamagedCounters(bytes, {ChunkOf(2)});
  const auto store = Open();
  CounterReplay replay(*store);
  Listener one, two;
  replay.Want(one, steps, 8);
  replay.Want(one, still, 7);
  replay.Want(two, other, 1);
  replay.Run();
  EXPECT_EQ(one.heard,
            (Lines{"0: 8=0 7=9", "10: 8=1", "hole after 10: 8 7", "40: 8=4 7=9",
                   "50: 8=5 7!", "60: 8=6", "70: 8=7"}));
  EXPECT_EQ(two.heard.size(), 8u) << "the other group has none";
}

TEST_F(CounterReplayTest, AnEndOfTheFileIsNoHole) {
  bytes = WithDamagedCounters(bytes, {ChunkOf(6)});
  const auto store = Open();
  CounterReplay replay(*store);
  Listener one;
  replay.Want(one, still, 7);
  replay.Run();
  EXPECT_EQ(one.heard.back(), "50: 7!") << "nothing comes after the hole";
}

TEST_F(CounterReplayTest, AWindowReadsTheChunkBeforeItToo) {
  const auto store = Open();
  CounterReplay replay(*store, {45, 55});
  Listener one;
  replay.Want(one, still, 7);
  replay.Run();
  EXPECT_EQ(one.heard,
            (Lines{"hole:", "20: 7=9", "30:", "40: 7=9*", "50: 7!"}));
}

}  // namespace
}  // namespace sonde

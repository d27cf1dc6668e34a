#include "analyze/verdict/hot_place.h"

#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"

namespace sonde {
namespace {

TEST(HotPlace, AStallOfSavingNamesTheLineThatWaitsForTheDisk) {
  const Facts facts = FactsOfText(R"(
meta started_ns 0
meta ended_ns 10000000000
meta rate_hz 10
process 1 pid=100 name=python3 start=0 end=10s exit=0
thread 1 process=1 tid=100 name=python3 start=0 end=10s
series 1 scope=process:1 name=cpu_ns
ramp 1 from=0 to=10s slope=500ms/s
frame 1 function=save file=/home/u/train.py line=12
frame 2 function=fsync file=[kernel]
stack 1 frame=1
stack 2 parent=1 frame=2
sample 9s thread=1 stack=2 weight=4s waiting
)");
  Finding f;
  f.rule = "checkpoint_stall";
  PutHotPlace(facts, f);
  EXPECT_EQ(f.where.process, 1u) << "or nobody is shown the function";
  EXPECT_EQ(f.where.function, "save");
  EXPECT_EQ(f.where.line, 12u);
  ASSERT_EQ(f.evidence.size(), 1u);
  EXPECT_NE(f.evidence[0].text.find("until data was on the disk"),
            std::string::npos)
      << f.evidence[0].text;
}

// train.py works and saves; tee waits for what it prints, all the time.
constexpr std::string_view kPiped = R"(
meta started_ns 0
meta ended_ns 10000000000
meta rate_hz 10
process 1 pid=100 name=bash start=0 end=10s exit=0
process 2 pid=101 name=tee parent=1 start=0 end=10s exit=0
process 3 pid=102 name=python3 parent=1 start=0 end=10s exit=0
thread 1 process=1 tid=100 name=bash start=0 end=10s
thread 2 process=2 tid=101 name=tee start=0 end=10s
thread 3 process=3 tid=102 name=python3 start=0 end=10s
series 1 scope=process:3 name=cpu_ns
ramp 1 from=0 to=10s slope=500ms/s
series 2 scope=process:1 name=cpu_ns
ramp 2 from=0 to=10s slope=1ms/s
series 3 scope=process:2 name=cpu_ns
ramp 3 from=0 to=10s slope=1ms/s
module 1 path=/usr/bin/tee
module 2 path=/usr/bin/bash
frame 1 function=save file=/home/u/train.py line=12
frame 2 function=read file=[kernel]
frame 3 function=copy module=1
frame 4 function=wait4 file=[kernel]
frame 5 function=wait_for module=2
frame 6 function=write file=[kernel]
stack 1 frame=1
stack 2 parent=1 frame=6
stack 3 frame=3
stack 4 parent=3 frame=2
stack 5 frame=5
stack 6 parent=5 frame=4
sample 9s thread=1 stack=6 weight=9500ms waiting
sample 9s thread=2 stack=4 weight=9s waiting
sample 9s thread=3 stack=2 weight=6s waiting
)";

TEST(HotPlace, AnotherProcessThatWaitsLongerIsNotTheOne) {
  const Facts facts = FactsOfText(kPiped);
  for (const char* const rule : {"checkpoint_stall", "input_bound"}) {
    for (const uint32_t named : {0, 3}) {
      Finding f;
      f.rule = rule;
      f.where.process = named;
      PutHotPlace(facts, f);
      EXPECT_EQ(f.where.function, "save") << rule << named;
    }
    Finding other;
    other.rule = rule;
    other.where.process = 1;
    PutHotPlace(facts, other);
    EXPECT_EQ(other.where.function, "") << "it waits for no file";
  }
}

TEST(HotPlace, WhoReadsDoesNotSave) {
  const std::string piped(kPiped);
  // Python saves without waiting.
  const Facts facts =
      FactsOfText(piped.substr(0, piped.find("sample 9s thread=3")));
  Finding f;
  f.rule = "checkpoint_stall";
  PutHotPlace(facts, f);
  EXPECT_EQ(f.where.function, "") << "tee has read all the time";
}

TEST(HotPlace, AHangIsWhereTheProcessStandsThatWorked) {
  const Facts facts = FactsOfText(kPiped);
  Finding f;
  f.rule = "hung";
  f.where.process = 3;
  f.from_ns = 0;
  f.to_ns = 10'000'000'000;
  PutHotPlace(facts, f);
  EXPECT_EQ(f.where.function, "save");
  ASSERT_EQ(f.evidence.size(), 1u);
  const std::string& text = f.evidence[0].text;
  EXPECT_LT(text.find("save"), text.find("copy")) << text;
  EXPECT_LT(text.find("copy"), text.find("wait_for")) << text;
}

}  // namespace
}  // namespace sonde

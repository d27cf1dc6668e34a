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

}  // namespace
}  // namespace sonde

#include "report/functions.h"

#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"

namespace sonde {
namespace {

// A program that waits for its input, beside a pool of three that waits for
// work.
constexpr std::string_view kPool =
    "process 1 pid=10 name=train start=0 end=10s exit=0\n"
    "process 2 pid=11 name=serve start=0 end=10s exit=0\n"
    "thread 1 process=1 tid=10 start=0 end=10s\n"
    "thread 2 process=1 tid=12 start=0 end=10s\n"
    "thread 3 process=1 tid=13 start=0 end=10s\n"
    "thread 4 process=2 tid=11 start=0 end=10s\n"
    "module 1 path=/usr/lib/libgomp.so.1\n"
    "frame 1 function=read_batch file=train.py line=7\n"
    "frame 2 function=read file=[kernel]\n"
    "frame 3 function=gomp_barrier_wait module=1\n"
    "frame 4 function=futex file=[kernel]\n"
    "stack 1 frame=1\n"
    "stack 2 parent=1 frame=2\n"
    "stack 3 frame=3\n"
    "stack 4 parent=3 frame=4\n";

TEST(WaitLines, APoolThatWaitsForWorkComesLast) {
  const Facts facts =
      FactsOfText(kPool,
                  "sample 1s thread=1 stack=2 weight=4s waiting\n"
                  "sample 1s thread=2 stack=4 weight=9s waiting\n"
                  "sample 1s thread=3 stack=4 weight=9s waiting\n"
                  "sample 1s thread=4 stack=4 weight=90s waiting\n");
  std::string text;
  for (const std::string& line : WaitLines(facts, 10)) text += line + "\n";
  const size_t own = text.find("read_batch (train.py:7)");
  ASSERT_NE(own, std::string::npos) << text;
  EXPECT_LT(own, text.find("gomp_barrier_wait")) << text;
  EXPECT_LT(text.find("Waiting of 1"), text.find("Waiting of 2")) << text;
}

}  // namespace
}  // namespace sonde

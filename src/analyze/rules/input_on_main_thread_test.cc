#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"
#include "analyze/rules/made_case.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

// Ten seconds of training in one thread, which fetched for `fetching` of the
// time; in a process of workers if `worker`.
Facts Training(double fetching, bool worker = false) {
  const std::string torch = "/v/site-packages/torch/utils/data/";
  std::string text = fmt::format(
      R"(
meta started_ns 0
meta ended_ns 10000000000
meta rate_hz 10
meta cores 2
meta allowed_cores 2
process 1 pid=100 name=python3 cmdline="python3 train.py" start=0 end=10s exit=0
thread 1 process=1 tid=100 name=python3 start=0 end=10s
series 1 scope=process:1 name=cpu_ns
series 2 scope=thread:1 name=cpu_ns
ramp 1 to=10s slope=1s/s
ramp 2 to=10s slope=1s/s
frame 1 function=main file=/home/u/train.py line=30
frame 2 function=next file={0}{1} line=700
frame 3 function=fetch file={0}_utils/fetch.py line=50
frame 4 function=__getitem__ file=/home/u/train.py line=12
frame 5 function=augment file=/home/u/train.py line=5
frame 6 function=augment.<locals>.<listcomp> file=/home/u/train.py line=6
stack 1 frame=1
stack 2 parent=1 frame=2
stack 3 parent=2 frame=3
stack 4 parent=3 frame=4
stack 5 parent=4 frame=5
stack 6 parent=5 frame=6
)",
      torch, worker ? "_utils/worker.py" : "dataloader.py");
  for (int k = 1; k <= 1000; ++k)
    text += fmt::format("sample {}ms thread=1 stack={} weight=10ms\n", k * 9,
                        k > 1000 * fetching ? 1
                        : k % 10 == 0       ? 4
                                            : 6);
  return FactsOfText(text);
}

TEST(InputOnMainThread, SaysTheTransformAndHowManyWorkers) {
  const Judgement judgement = Judge(Training(0.8));
  const Finding& f = judgement.findings.at(0);
  EXPECT_EQ(f.rule, "input_on_main_thread");
  EXPECT_EQ(f.summary,
            "Input on the main thread: python3 train.py loads its data itself "
            "for 80.0 % of the time, most of all in augment (train.py:5).");
  EXPECT_NE(f.advice.find("num_workers=2"), std::string::npos);
  EXPECT_EQ(f.where.function, "augment");
  ASSERT_TRUE(f.gain.has_value());
  EXPECT_NEAR(f.gain->share, 0.5, 0.01) << "two cores have all the work";
  EXPECT_EQ(judgement.findings.at(1).rule, "one_core_bound");
}

TEST(InputOnMainThread, SilentWhereItTrainsOrWorkersLoad) {
  EXPECT_TRUE(Ask(InputOnMainThread, Training(0.2)).findings.empty());
  EXPECT_TRUE(Ask(InputOnMainThread, Training(0.9, true)).findings.empty());
}

}  // namespace
}  // namespace sonde

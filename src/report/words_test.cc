#include "report/words.h"

#include <gtest/gtest.h>

#include "base/time.h"
#include "report/made_report.h"

namespace sonde {
namespace {

TEST(Words, WhatWasNotCollectedIsADashAndZeroIsANumber) {
  EXPECT_EQ(Duration({}), "-");
  EXPECT_EQ(Bytes({}), "-");
  EXPECT_EQ(Share({}), "-");
  EXPECT_EQ(Cores({}), "-");
  EXPECT_EQ(Duration(0), "0 ns");
  EXPECT_EQ(Bytes(0), "0 B");
  EXPECT_EQ(Share(0), "0.0 %");
  EXPECT_EQ(Cores(0), "0.00");
}

TEST(Words, AStretchIsCountedFromTheStartOfTheRun) {
  RunFacts run;
  run.begin_ns = 100 * kNsPerSec;
  EXPECT_EQ(Stretch(run, 101 * kNsPerSec, 102'500'000'000), " [1.0 to 2.5 s]");
  EXPECT_EQ(Stretch(run, kNoTime, 102 * kNsPerSec), "");
  EXPECT_EQ(Stretch(run, 101 * kNsPerSec, kNoTime), "");
}

TEST(Words, AnExitThatNobodySawIsNotAnExitWithZero) {
  Process row;
  row.exit = Process::Exit::kUnknown;
  EXPECT_EQ(ExitOf(row), "-");
  row.exit = Process::Exit::kExited;
  EXPECT_EQ(ExitOf(row), "0");
  row.exit = Process::Exit::kSignaled;
  row.exit_code = 9;
  EXPECT_EQ(ExitOf(row), "sig 9");
  row.exit = Process::Exit::kRunning;
  EXPECT_EQ(ExitOf(row), "runs");
}

TEST(Words, OfShortProcessesFailuresAreCountedAndUnknownEndsShown) {
  ShortProcesses some;
  some.count = 5;
  EXPECT_EQ(ExitsOf(some), "");
  some.exit_unknown = 1;
  EXPECT_EQ(ExitsOf(some), "-");
  some.failed = 2;
  EXPECT_EQ(ExitsOf(some), "2+ bad");
  some.exit_unknown = 0;
  EXPECT_EQ(ExitsOf(some), "2 bad");
}

TEST(Words, ALossSaysWhatHowMuchAndWhen) {
  const Report report = ReportOfText(
      kShortRun,
      "loss perf-lost count=12 from=2s to=3s detail=\"a\\x1b[2Jb\"\n"
      "loss max-size detail=gone\n");
  ASSERT_EQ(report.losses.size(), 2u);
  EXPECT_EQ(LossText(report, report.losses[0]),
            "perf-lost: a\\x1b[2Jb: 12 [2.0 to 3.0 s]");
  EXPECT_EQ(LossText(report, report.losses[1]), "max-size: gone")
      << "no number where none is known";
}

TEST(Words, WhatIsMissingIsCalledNotCollected) {
  const Report report = ReportOfText(
      "meta started_ns 0\nmeta ended_ns 10000000000\n"
      "process 1 pid=100 name=main start=0 end=10s\n");
  EXPECT_EQ(RunText(report), "10.0 s wall, CPU not collected");
  EXPECT_EQ(MachineText(report.facts, false), "not collected");
  EXPECT_TRUE(OverheadText(report).starts_with("cost - and - of memory; "));
  EXPECT_EQ(CommandText(report), "");
  EXPECT_EQ(WatchedText(report), "");
}

TEST(Words, ACommandIsOneThatAShellTakes) {
  const Report report = ReportOfText(
      kShortRun, "meta command [\"sh\",\"-c\",\"rm 'a b'\\u001b\"]\n");
  ASSERT_EQ(report.command.size(), 3u);
  EXPECT_EQ(report.command[2], "rm 'a b'\x1b");
  const std::string text = CommandText(report);
  EXPECT_TRUE(text.starts_with("sh -c ")) << text;
  EXPECT_EQ(text.find('\x1b'), text.npos) << text;
}

TEST(Words, RulesThatCouldNotJudgeStandWithTheReasonTheyShare) {
  constexpr Rule kOne = {"one", "", nullptr}, kTwo = {"two", "", nullptr},
                 kThree = {"three", "", nullptr};
  using State = RuleState::State;
  Judgement judgement;
  judgement.rules = {{&kOne, State::kNotEnoughData, "no disks"},
                     {&kThree, State::kSilent, ""},
                     {&kTwo, State::kNotEnoughData, "no disks"}};
  const std::map<std::string, std::string> want = {{"no disks", "one, two"}};
  EXPECT_EQ(NotJudged(judgement), want);
}

}  // namespace
}  // namespace sonde

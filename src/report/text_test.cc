#include "report/text.h"

#include <gtest/gtest.h>

#include <sstream>

#include "report/devices.h"
#include "report/head.h"
#include "report/made_report.h"

namespace sonde {
namespace {

Lines LinesOf(const std::string& text) {
  Lines out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// Names of a program that wants to be more than a name, in all places.
std::string HostileRun() {
  std::string wide;
  for (int i = 0; i < 100; ++i) wide += "界";
  const std::string name = "\"\\x1b[31m\\x0d\\n" + wide + "\"";
  std::string text = "meta host " + wide + "\nmeta watched " + wide +
                     "\nmeta steady_why " + wide + "\n";
  text += kShortRun;
  text += "process 1 pid=100 name=" + name + " cmdline=" + name +
          " start=0 end=10s exit=0\nthread 1 process=1 tid=100 name=" + name +
          " start=0 end=10s\ntrack 1 kind=thread process=1 thread=1\n"
          "slice 1 0 1s " +
          name + "\nloss " + name + " detail=" + name + "\n";
  return text;
}

TEST(ReportText, NoLineIsLongerThan80ColumnsAndNoNameReachesTheTerminal) {
  const Report report = ReportOfText(HostileRun());
  for (const std::string& text :
       {ReportText(report, {}), SummaryText(report)}) {
    ASSERT_NE(text.find("\\x1b[31m"), text.npos) << "it is told";
    for (const std::string& line : LinesOf(text)) {
      EXPECT_LE(ColumnsOf(line), kColumns) << line;
      for (const char c : line)
        EXPECT_TRUE(static_cast<unsigned char>(c) >= ' ') << line;
    }
  }
}

TEST(ReportText, WhatFailedAndWhatIsLostComesBeforeTheVerdict) {
  const Report report = ReportOfText(
      kShortRun,
      "meta exit exit 2\nloss max-size count=3 detail=gone\nunfinished\n");
  for (const std::string& text :
       {ReportText(report, {}), SummaryText(report)}) {
    const size_t failed = text.find("The command failed (exit 2).");
    const size_t end = text.find("Lost: the end of the recording");
    const size_t lost = text.find("Lost: max-size: gone: 3");
    const size_t verdict = text.find(report.judgement.verdict.substr(0, 40));
    EXPECT_EQ(failed, 0u) << text;
    EXPECT_LT(failed, end);
    EXPECT_LT(end, lost);
    EXPECT_LT(lost, verdict);
    ASSERT_NE(verdict, text.npos) << text;
  }
}

TEST(ReportText, RowsAndMoreAndUnattributedSumToAll) {
  const Report report = ReportOfText(kShortRun, R"(
meta tree_cpu_ns 10000000000
process 2 parent=1 pid=101 name=two start=0 end=10s exit=0
process 3 parent=1 pid=102 name=three start=0 end=10s exit=0
process 4 parent=1 pid=103 name=four start=0 end=10s exit=0
series 2 scope=process:2 name=cpu_ns
series 3 scope=process:3 name=cpu_ns
series 4 scope=process:4 name=cpu_ns
ramp 2 from=0 to=10s slope=0.05s/s
ramp 3 from=0 to=10s slope=0.04s/s
ramp 4 from=0 to=10s slope=0.01s/s
)");
  TextOptions options;
  options.top = 2;
  const std::string text = ReportText(report, options);
  for (const char* row : {"\n1 main                      7.00 s  70.0 %",
                          "\n2 two                       500 ms   5.0 %",
                          "\nand 2 more                  500 ms   5.0 %\n",
                          "\nunattributed                2.00 s  20.0 %\n",
                          "\nall                         10.0 s 100.0 %"})
    EXPECT_NE(text.find(row), text.npos) << row << text;
}

TEST(ReportText, WhatWasNotCollectedIsADash) {
  const std::string text = ReportText(ReportOfText(kShortRun), {});
  EXPECT_NE(text.find("1 main                      7.00 s 100.0 %   0.70       "
                      "-       -       -      0\n"),
            text.npos)
      << text;
}

TEST(ReportText, ASummaryHas25LinesAtMost) {
  std::string many = HostileRun();
  for (int i = 0; i < 60; ++i)
    many += "not_collected " + std::string(40, 'y') + "\n";
  for (int i = 0; i < 40; ++i)
    many += "loss damaged count=1 detail=\"" + std::string(300, 'x') + "\"\n";
  const Report report = ReportOfText(many);
  EXPECT_LE(LinesOf(SummaryText(report)).size(), 25u);
  EXPECT_GT(LinesOf(ReportText(report, {})).size(), 40u) << "all are told";
}

TEST(ReportHead, IsEmptyIfAllWentWell) {
  EXPECT_TRUE(HeadLines(ReportOfText(kShortRun)).empty());
  EXPECT_TRUE(HeadLines(ReportOfText(kShortRun, "meta exit exit 0\n")).empty());
}

TEST(ReportHead, SaysHowTheCommandFailedIfThatIsWellFormed) {
  const auto head = [](const std::string& exit) {
    return HeadLines(ReportOfText(kShortRun, "meta exit " + exit + "\n"));
  };
  EXPECT_EQ(head("signal 11"), Lines{"The command was killed by SIGSEGV."});
  EXPECT_EQ(head("signal 77"), Lines{"The command was killed by signal 77."});
  for (const char* const wrong :
       {"exit", "exit x", "exit 2x", "exit -3", "exit 99999999999999999999"})
    EXPECT_EQ(head(wrong), Lines{}) << wrong;
}

TEST(ReportHead, SaysOnceThatTheDiskWasFull) {
  EXPECT_EQ(HeadLines(ReportOfText(kShortRun,
                                   "loss disk-full detail=a\n"
                                   "loss disk-full detail=b\n")),
            Lines{"The disk became full: the recording ends after 10.0 s."});
}

TEST(ReportDevices, WhatADeviceDoesNotTellIsADash) {
  Facts facts;
  EXPECT_TRUE(DeviceLines(facts).empty());
  DeviceFacts device;
  device.index = 3;
  device.name = "Simulated\x1b";
  device.busy_mean = 0;
  facts.devices = {device};
  EXPECT_EQ(
      DeviceLines(facts).at(1),
      "3 Simulated\\x1b              0.0 %       -       -        -        -"
      "         -");
}

}  // namespace
}  // namespace sonde

#include <gtest/gtest.h>

#include "analyze/facts/made_devices.h"
#include "analyze/rules/made_case.h"

namespace sonde {
namespace {

// Devices with shares of busy time and memory, for a hundred seconds.
struct Share {
  double busy, memory;
};
Facts At(const std::vector<Share>& shares) {
  MadeRun run;
  run.seconds = 100;
  run.workers = {{.name = "train", .cores = run.Always(1)}};
  std::vector<MadeDevice> devices;
  for (const Share& s : shares)
    devices.push_back(
        {.busy = run.Always(s.busy), .memory = run.Always(s.memory)});
  return WithDevices(run, devices);
}

// Uneven, both free, memory full: 1 where the rule finds something.
std::vector<int> Found(const Facts& facts) {
  std::vector<int> out;
  for (const auto rule :
       {&GpuMemoryUneven, &GpuAndMemoryFree, &GpuMemoryFullGpuFree})
    out.push_back(Ask(rule, facts).findings.empty() ? 0 : 1);
  return out;
}
using Votes = std::vector<int>;

TEST(GpuMemoryTest, OneDevice) {
  EXPECT_EQ(Found(At({{0.50, 0.45}})), (Votes{0, 1, 0}));
  EXPECT_EQ(Found(At({{0.50, 0.80}})), (Votes{0, 0, 1}));
  EXPECT_EQ(Found(At({{0.85, 0.45}})), (Votes{0, 0, 0}));
  EXPECT_EQ(Found(At({{0.849, 0.45}})), (Votes{0, 1, 0}));
}

TEST(GpuMemoryTest, TwoDevices) {
  EXPECT_EQ(Found(At({{0.95, 0.50}, {0.95, 0.34}})), (Votes{1, 0, 0}));
  EXPECT_EQ(Found(At({{0.95, 0.50}, {0.95, 0.36}})), (Votes{1, 0, 0}))
      << "by the share of the fullest";
  EXPECT_EQ(Found(At({{0.95, 0.95}, {0.95, 0.81}})), (Votes{0, 0, 0}));
  EXPECT_EQ(Found(At({{0.95, 0.95}, {0.95, 0.79}})), (Votes{1, 0, 0}));
  EXPECT_EQ(Found(At({{0.95, 0.009}, {0.95, 0.001}})), (Votes{0, 0, 0}));
  EXPECT_EQ(Found(At({{0.95, 0.02}, {0.95, 0}})), (Votes{1, 0, 0}));
}

TEST(GpuMemoryTest, EveryDeviceIsJudgedNotTheFirstOnly) {
  const Facts facts = At({{0.95, 0.45}, {0.50, 0.45}});
  EXPECT_EQ(Found(facts), (Votes{0, 1, 0}));
  EXPECT_EQ(Ask(GpuAndMemoryFree, facts).findings[0].summary,
            "Both GPU 1 and its memory have room to spare.");
}

TEST(GpuMemoryTest, EightOfTenStretchesAreMost) {
  MadeRun run;
  run.seconds = 100;
  run.workers = {{.name = "train", .cores = run.Always(1)}};
  const auto free_for = [&](double seconds) {
    return WithDevices(
        run, {{.busy = [=](double s) { return s < 100 - seconds ? 0.95 : 0.5; },
               .memory = run.Always(0.45)}});
  };
  const Outcome most = Ask(GpuAndMemoryFree, free_for(80));
  ASSERT_EQ(most.findings.size(), 1u);
  EXPECT_EQ(most.findings[0].severity, Severity::kWarning);
  EXPECT_EQ(most.findings[0].evidence.back().text,
            "The finding held in 8 of 10 stretches of the time.");
  EXPECT_EQ(Ask(GpuAndMemoryFree, free_for(70)).findings.at(0).severity,
            Severity::kInfo);
  EXPECT_TRUE(Ask(GpuAndMemoryFree, free_for(20)).findings.empty());
}

TEST(GpuMemoryTest, FullFromNinetyPercentOn) {
  EXPECT_TRUE(Ask(DeviceMemoryFull, At({{0.95, 0.90}})).findings.empty());
  const Outcome outcome =
      Ask(DeviceMemoryFull, At({{0.95, 0.5}, {0.95, 0.95}}));
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].summary,
            "The memory of GPU 1 is at its limit: a little more, and the run "
            "fails or slows down.");
}

TEST(GpuMemoryTest, ADeviceOfOthersIsNotJudged) {
  Facts facts = At({{0.95, 0.5}, {0.3, 0.95}});
  facts.devices[0].holders = {1};
  EXPECT_EQ(Found(facts), (Votes{0, 0, 0}));
  EXPECT_TRUE(Ask(DeviceMemoryFull, facts).findings.empty());
}

TEST(GpuMemoryTest, SaysWhenItCannotKnow) {
  MadeRun run;
  run.workers = {{.name = "train", .cores = run.Always(1)}};
  const Facts busy =
      WithDevices(run, {{.busy = run.Always(0.5)}, {.busy = run.Always(0.5)}});
  for (const auto rule : {&DeviceMemoryFull, &GpuMemoryUneven,
                          &GpuAndMemoryFree, &GpuMemoryFullGpuFree}) {
    EXPECT_EQ(Ask(rule, busy).not_enough_data,
              "the memory of the accelerators was not collected");
    EXPECT_EQ(Ask(rule, run.Make()).not_enough_data, "");
  }
}

TEST(GpuMemoryTest, MemoryThatNobodyKnowsIsNotEmpty) {
  MadeRun run;
  run.workers = {{.name = "train", .cores = run.Always(0.1)}};
  const auto with = [&](double second) {
    return WithDevices(
        run, {{.busy = run.Always(0.95), .memory = run.Always(0.5)},
              {.busy = run.Always(0.95), .memory = run.Always(second)},
              {.busy = run.Always(0.95)}});
  };
  EXPECT_TRUE(Ask(GpuMemoryUneven, with(0.5)).findings.empty());
  EXPECT_EQ(Ask(GpuMemoryUneven, with(0.25)).findings.at(0).summary,
            "The work is spread unevenly: GPU 0 uses 50.0 % of its memory, GPU "
            "1 only 25.0 %.");
}

}  // namespace
}  // namespace sonde

#include "analyze/charts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "analyze/judge.h"
#include "analyze/made_run.h"
#include "analyze/made_text.h"
#include "analyze/pattern/run_series.h"

namespace sonde {
namespace {

const ChartPlot* Find(const Charts& charts, const std::string& group,
                      const std::string& plot) {
  for (const ChartGroup& g : charts.groups)
    for (const ChartPlot& p : g.plots)
      if (g.name == group && p.title == plot) return &p;
  return nullptr;
}

// Of the windows [from, to) of ten a second.
double MeanOf(const RegularSeries& line, double from_s, double to_s) {
  const auto at = [&](double s) {
    return static_cast<size_t>(s * 1e9 /
                               static_cast<double>(line.grid.step_ns));
  };
  const std::vector<double> known =
      line.Part(at(from_s), at(to_s)).KnownValues();
  double sum = 0;
  for (const double v : known) sum += v;
  return known.empty() ? -1 : sum / static_cast<double>(known.size());
}

constexpr char kRun[] =
    "meta started_ns 0\nmeta ended_ns 10000000000\nmeta rate_hz 10\n"
    "meta cores 4\nmeta allowed_cores 4\n"
    "process 1 pid=10 name=a start=0 end=10s exit=0\n"
    "process 2 pid=11 name=b start=4s end=8s exit=0\n"
    "series 1 scope=process:1 name=cpu_ns\n"
    "series 2 scope=process:2 name=cpu_ns\n"
    "ramp 1 to=10s slope=1s/s\n"
    "ramp 2 from=4s to=8s slope=2s/s\n";

TEST(Charts, TheProgramsCoresAreThoseOfItsProcesses) {
  const Charts charts = ChartsOf(FactsOfText(kRun), {});
  const ChartPlot* const plot = Find(charts, "cpu", "Cores in use");
  ASSERT_NE(plot, nullptr);
  EXPECT_EQ(plot->full_scale, 4);
  EXPECT_NEAR(MeanOf(plot->lines[0], 1, 3), 1, 0.01);
  EXPECT_NEAR(MeanOf(plot->lines[0], 5, 7), 3, 0.01);
  EXPECT_NEAR(MeanOf(plot->lines[0], 9, 10), 1, 0.01);
}

TEST(Charts, AStartUpThatIsNotJudgedIsDrawn) {
  const Charts charts =
      ChartsOf(FactsOfText(kRun, "meta steady_ns 6000000000\n"), {});
  const ChartPlot* const plot = Find(charts, "cpu", "Cores in use");
  ASSERT_NE(plot, nullptr);
  EXPECT_NEAR(MeanOf(plot->lines[0], 1, 3), 1, 0.01);
  EXPECT_EQ(plot->lines[0].KnownCount(), plot->lines[0].size());
}

TEST(Charts, ProcessesThatEndAreNotZeroAfterwards) {
  const Charts charts =
      ChartsOf(FactsOfText(kRun, "tick 2 8100ms 2=gone\n"), {});
  const ChartPlot* const plot = Find(charts, "processes", "Cores in use");
  ASSERT_NE(plot, nullptr);
  ASSERT_EQ(plot->lines.size(), 2u);
  const RegularSeries& b =
      plot->lines[plot->lines[0].name.starts_with("2") ? 0 : 1];
  EXPECT_NEAR(MeanOf(b, 5, 7), 2, 0.01);
  EXPECT_EQ(MeanOf(b, 9, 10), -1);
  EXPECT_EQ(MeanOf(b, 1, 3), -1);
}

TEST(Charts, WhenSamplingStopsThereIsAGap) {
  const Charts charts = ChartsOf(
      FactsOfText(kRun,
                  "series 3 scope=machine name=net_rx_bytes label=eth0 "
                  "kind=total\n"
                  "ramp 3 to=4s slope=5MB/s\n"
                  "ramp 3 from=6s to=10s value=20MB slope=5MB/s\n"),
      {});
  const ChartPlot* const plot = Find(charts, "network", "Received");
  ASSERT_NE(plot, nullptr);
  EXPECT_NEAR(MeanOf(plot->lines[0], 1, 3), 5e6, 1e4);
  EXPECT_EQ(MeanOf(plot->lines[0], 4.5, 5.5), -1);
  EXPECT_NEAR(MeanOf(plot->lines[0], 7, 9), 5e6, 1e4);
}

TEST(Charts, AGapIsOneInChartsAndPatternsAlike) {
  const auto gaps = [](const char* resumes) {
    const Facts facts = FactsOfText(
        kRun, std::string("series 3 scope=machine name=net_rx_bytes label=eth0 "
                          "kind=total\nramp 3 to=4s slope=5MB/s\n"
                          "ramp 3 value=20MB slope=5MB/s to=10s from=") +
                  resumes + "\n");
    const RegularSeries line =
        Find(ChartsOf(facts, {}), "network", "Received")->lines[0];
    const RegularSeries& pattern = *facts.series->Find("net_receive");
    EXPECT_EQ(line.KnownCount(), pattern.KnownCount()) << resumes;
    return line.size() - line.KnownCount();
  };
  EXPECT_EQ(gaps("4600ms"), 0u);
  EXPECT_GT(gaps("5200ms"), 0u);
}

TEST(Charts, WhatAProgramSetsHoldsUntilItSetsItAnew) {
  const Charts charts = ChartsOf(
      FactsOfText(kRun,
                  "series 3 scope=process:1 name=batch group=9 source=api\n"
                  "tick 9 1s 3=32\ntick 9 6s 3=64\n"),
      {});
  const ChartPlot* const plot = Find(charts, "counters", "batch");
  ASSERT_NE(plot, nullptr);
  EXPECT_EQ(MeanOf(plot->lines[0], 0, 0.9), -1);
  EXPECT_EQ(MeanOf(plot->lines[0], 2, 6), 32);
  EXPECT_EQ(MeanOf(plot->lines[0], 7, 10), 64);
}

TEST(Charts, DevicesHaveAGroupEachAndUnknownSeriesTheirPlot) {
  const Charts charts = ChartsOf(
      FactsOfText(kRun,
                  "series 3 scope=device:1 name=gpu_busy_pct label=\"Card X\" "
                  "unit=% group=5\n"
                  "series 4 scope=device:1 name=fan_rpm unit=rpm group=5\n"
                  "series 5 scope=machine name=odd_things unit=1\n"
                  "ramp 3 to=10s value=40\nramp 4 to=10s value=900\n"
                  "ramp 5 to=10s value=7\n"),
      {});
  ASSERT_NE(Find(charts, "gpu1", "Time busy"), nullptr);
  EXPECT_NEAR(MeanOf(Find(charts, "gpu1", "Time busy")->lines[0], 1, 9), 40,
              0.01);
  ASSERT_NE(Find(charts, "gpu1", "Fan rpm"), nullptr);
  EXPECT_EQ(Find(charts, "gpu1", "Fan rpm")->unit, "rpm");
  EXPECT_NE(Find(charts, "machine", "Odd things"), nullptr);
  const auto group =
      std::find_if(charts.groups.begin(), charts.groups.end(),
                   [](const ChartGroup& g) { return g.name == "gpu1"; });
  EXPECT_EQ(group->title, "Accelerator 1: Card X");
}

TEST(Charts, LongLabelsAreLinesOfTheirOwnAndKeepTheirEnds) {
  const std::string pod = "/kubepods.slice/kubepods-burstable.slice/pod-7";
  const Charts charts = ChartsOf(
      FactsOfText(
          kRun,
          "series 3 scope=machine name=cgroup_memory_bytes label=" + pod +
              "\nseries 4 scope=machine name=cgroup_memory_bytes label=" + pod +
              "/app\nramp 3 to=10s value=400\nramp 4 to=10s value=300\n"
              "series 5 scope=machine name=cgroup_memory_bytes label=/" +
              std::string(50, 'x') + "é\nramp 5 to=10s value=7\n"),
      {});
  const ChartPlot* const plot = Find(charts, "cgroup", "Cgroup memory bytes");
  ASSERT_NE(plot, nullptr);
  ASSERT_EQ(plot->lines.size(), 3u);
  EXPECT_EQ(plot->lines[0].name, "…/kubepods-burstable.slice/pod-7");
  EXPECT_NEAR(MeanOf(plot->lines[0], 1, 9), 400, 1e-6);
  EXPECT_EQ(plot->lines[1].name, "…/pod-7/app");
  EXPECT_NEAR(MeanOf(plot->lines[1], 1, 9), 300, 1e-6);
  EXPECT_EQ(plot->lines[2].name, "…" + std::string(31, 'x') + "é");
}

// `count` series of the machine, each with the name or the label that `of`
// gives.
Charts Many(size_t count, const std::function<std::string(size_t)>& of) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += fmt::format("series {0} {1}\nramp {0} to=10s value=1\n", 100 + i,
                        of(i));
  return ChartsOf(FactsOfText(kRun, text), {});
}
size_t LinesIn(const Charts& charts) {
  size_t out = 0;
  for (const ChartGroup& group : charts.groups)
    for (const ChartPlot& plot : group.plots) out += plot.lines.size();
  return out;
}

TEST(Charts, OfManyLabelsTheFirstAreDrawn) {
  const Charts charts = Many(40, [](size_t i) {
    return fmt::format("scope=machine name=net_rx_bytes kind=total label=n{}",
                       i);
  });
  const ChartPlot* const plot =
      Find(charts, "network", "Received (the first 32 of 40)");
  ASSERT_NE(plot, nullptr);
  EXPECT_EQ(plot->lines.size(), 32u);
  EXPECT_EQ(charts.left_out, "");
}

TEST(Charts, OfManyNamesTheFirstAreDrawn) {
  const auto title = [](const Charts& charts, const std::string& name) {
    for (const ChartGroup& g : charts.groups)
      if (g.name == name) return g.title;
    return std::string("missing");
  };
  EXPECT_EQ(title(Many(50,
                       [](size_t i) {
                         return fmt::format("scope=machine name=odd{}", i);
                       }),
                  "machine"),
            "The machine, other (the first 32 of 50)");
  EXPECT_EQ(title(Many(50,
                       [](size_t i) {
                         return fmt::format("scope=process:1 name=odd{}", i);
                       }),
                  "program"),
            "The program, other (the first 32 of 50)");
  EXPECT_EQ(title(Many(50,
                       [](size_t i) {
                         return fmt::format("scope=device:0 name=odd{} group=5",
                                            i);
                       }),
                  "gpu0"),
            "Accelerator 0 (the first 32 of 50)");
}

TEST(Charts, HoweverManySeriesMemoryIsThatOfSomeLines) {
  const Charts names = Many(3000, [](size_t i) {
    return fmt::format("scope=machine name={}odd{} label=l{}",
                       i % 2 ? "" : "cgroup_", i % 60, i);
  });
  EXPECT_LE(LinesIn(names), 610u);
  EXPECT_NE(names.left_out.find(" lines"), std::string::npos);
  const Charts devices = Many(100, [](size_t i) {
    return fmt::format("scope=device:{} name=gpu_busy_pct group=5", i);
  });
  EXPECT_EQ(devices.left_out, "Drawn: the first 32 of 100 accelerators");
}

TEST(Charts, OfManyMarksTheFirstAreDrawn) {
  Facts facts = FactsOfText(kRun);
  for (int i = 0; i < 250; ++i) facts.marks.push_back({i * kNsPerMs, "m"});
  const Charts charts = ChartsOf(facts, {});
  EXPECT_EQ(std::count_if(charts.marks.begin(), charts.marks.end(),
                          [](const ChartMark& mark) {
                            return mark.kind == ChartMark::Kind::kMark;
                          }),
            100);
  EXPECT_EQ(charts.left_out, "Drawn: the first 100 of 250 marks");
}

TEST(Charts, FindingsAndPhasesAreMarked) {
  MadeRun run;
  run.seconds = 20;
  run.workers = {{1, "work", [](double s) { return s < 4 ? 0.1 : 1.0; }},
                 {1, "work", [](double s) { return s < 4 ? 0.1 : 1.0; }}};
  const Facts facts = run.Make();
  const Judgement judgement = Judge(facts);
  ASSERT_FALSE(judgement.findings.empty());
  const Charts charts = ChartsOf(facts, judgement.findings);
  bool finding = false, steady = false;
  for (const ChartMark& mark : charts.marks) {
    finding |= mark.kind == ChartMark::Kind::kFinding &&
               mark.label == judgement.findings[0].rule;
    steady |=
        mark.kind == ChartMark::Kind::kPhase && mark.label == "steady" &&
        std::abs(mark.from_ns - MadeRun::kBeginNs - 4 * kNsPerSec) < kNsPerSec;
  }
  EXPECT_TRUE(finding);
  EXPECT_TRUE(steady);
}

TEST(Charts, ATraceWithoutSamplesHasNone) {
  EXPECT_TRUE(ChartsOf(FactsOfText(""), {}).groups.empty());
}

}  // namespace
}  // namespace sonde

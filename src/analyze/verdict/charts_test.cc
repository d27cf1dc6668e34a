#include "analyze/verdict/charts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "analyze/facts/made_run.h"
#include "analyze/facts/made_text.h"
#include "analyze/series/run_series.h"
#include "analyze/verdict/judge.h"
#include "base/time.h"
#include "store/test_trace.h"

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

// Two programs' counters and a disk over 30 s, ten of them in a chunk: a gauge
// that is 5, and totals of 10 a second.
std::shared_ptr<std::string> ThreeChunks() {
  auto bytes = std::make_shared<std::string>();
  const auto writer = TraceWriter::CreateInMemory(FileHeader{}, bytes);
  writer->PutMeta("started_ns", "0");
  writer->PutMeta("ended_ns", std::to_string(30 * kNsPerSec));
  Process process;
  process.number = 1;
  process.start_ns = 0;
  writer->PutProcess(process);
  Series row;
  row.group = 8;
  row.scope = Series::Scope::kProcess;
  row.scope_id = 1;
  row.name = writer->Intern("queue");
  const uint32_t queue = writer->AddSeries(row);
  row.kind = Series::Kind::kTotal;
  row.name = writer->Intern("requests");
  const uint32_t requests = writer->AddSeries(row);
  row.group = 2;
  row.source = writer->Intern("tasks");
  row.name = writer->Intern("read_bytes");
  const uint32_t read = writer->AddSeries(row);
  for (int tick = 0; tick < 300; ++tick) {
    writer->BeginTick(8, tick * 100 * kNsPerMs);
    writer->Set(queue, 5);
    writer->Set(requests, tick);
    writer->EndTick();
    writer->BeginTick(2, tick * 100 * kNsPerMs);
    writer->Set(read, tick);
    writer->EndTick();
    if (tick % 100 == 99) writer->Seal();
  }
  CHECK(writer->Close().ok());
  return bytes;
}

TEST(ChartsTest, ALostChunkIsAGapAlsoOfWhatHoldsItsValue) {
  const auto bytes = WithDamagedCounters(ThreeChunks(), {2, 3});
  const Charts charts =
      ChartsOf(FactsOf(Store::OfBytes(bytes, "made").Take()), {});
  const std::pair<const char*, const char*> kPlots[] = {
      {"counters", "queue"},
      {"counters", "requests"},
      {"disk", "The program, from and to storage"}};
  for (const auto& [group, title] : kPlots) {
    const ChartPlot* const plot = Find(charts, group, title);
    ASSERT_NE(plot, nullptr) << title;
    const RegularSeries& line = plot->lines[0];
    for (size_t i = 0; i < line.size(); ++i) {
      const int64_t from_ns = line.grid.TimeOf(i);
      // From the last tick before to the first after.
      const bool lost = from_ns >= 9900 * kNsPerMs && from_ns < 20 * kNsPerSec;
      if (from_ns > 29 * kNsPerSec) break;
      EXPECT_EQ(line.known[i] != 0, !lost) << title << " " << from_ns;
      if (!lost && from_ns > 0) {
        EXPECT_NEAR(line.values[i], title == kPlots[0].second ? 5 : 10, 1e-6)
            << title << " " << from_ns;
      }
    }
  }
}

TEST(ChartsTest, LinesAreReadWithTheFacts) {
  const auto store = Store::OfBytes(ThreeChunks(), "made").Take();
  const Charts alone = ChartsOf(FactsOf(store), {});
  const uint64_t before = store->counter_decodes();
  ChartLines lines;
  const Facts facts = FactsOf(store, lines.Of(store));
  const Charts charts = ChartsOf(facts, {}, &lines);
  EXPECT_EQ(store->counter_decodes() - before, store->counter_chunks().size());
  ASSERT_EQ(charts.groups.size(), alone.groups.size());
  for (size_t g = 0; g < charts.groups.size(); ++g) {
    ASSERT_EQ(charts.groups[g].plots.size(), alone.groups[g].plots.size());
    for (size_t p = 0; p < charts.groups[g].plots.size(); ++p) {
      const auto& one = charts.groups[g].plots[p].lines;
      const auto& other = alone.groups[g].plots[p].lines;
      ASSERT_EQ(one.size(), other.size());
      for (size_t i = 0; i < one.size(); ++i) {
        EXPECT_EQ(one[i].name, other[i].name);
        EXPECT_EQ(one[i].values, other[i].values) << one[i].name;
      }
    }
  }
}

}  // namespace
}  // namespace sonde

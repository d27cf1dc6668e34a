#include "analyze/facts/facts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "analyze/facts/made_run.h"
#include "analyze/facts/made_text.h"
#include "analyze/verdict/judge.h"

namespace sonde {
namespace {

int64_t SumOfParts(const Facts& facts) {
  int64_t sum = facts.run.unattributed_cpu_ns.value_or(0);
  for (const ProcessFacts& p : facts.processes) sum += p.cpu_ns.value_or(0);
  for (const ShortProcesses& s : facts.short_processes)
    sum += s.cpu_ns.value_or(0);
  return sum;
}

TEST(FactsTest, CpuOfAProcessIsTheGrowthOfItsTotal) {
  MadeRun run;
  run.workers = {{.name = "main", .cores = run.Always(0.5)},
                 {.process = 2,
                  .name = "late",
                  .cores = run.Always(1),
                  .from_s = 4,
                  .to_s = 6}};
  const Facts facts = run.Make();
  EXPECT_EQ(facts.run.wall_ns, 10 * kNsPerSec);
  ASSERT_EQ(facts.processes.size(), 2u);
  EXPECT_EQ(facts.processes[0].name, "main");
  EXPECT_EQ(facts.processes[0].cpu_ns, 5 * kNsPerSec);
  EXPECT_NEAR(*facts.processes[0].cpu_share, 5.0 / 7, 1e-6);
  EXPECT_NEAR(static_cast<double>(*facts.processes[1].cpu_ns), 2e9, 1e3);
  EXPECT_NEAR(*facts.processes[1].cores_used, 1, 1e-6) << "of its own life";
  EXPECT_NEAR(*facts.run.cores_used, 0.7, 1e-6);
  EXPECT_EQ(facts.run.cpu_from, "processes");
  EXPECT_EQ(facts.run.unattributed_cpu_ns, 0);
}

TEST(FactsTest, ExactCpuOfARowIsBelievedBeforeTheSeries) {
  MadeRun run;
  run.workers = {{.cores = run.Always(0.5), .exact_ns = 5'100'000'000}};
  const Facts facts = run.Make();
  EXPECT_EQ(facts.processes[0].cpu_ns, 5'100'000'000);
  EXPECT_TRUE(facts.processes[0].cpu_exact);
}

TEST(FactsTest, AProcessFromBeforeTheRunCountsFromItsFirstValue) {
  MadeRun run;
  run.workers = {{.cores = run.Always(0.5), .from_s = -5}};
  // Its total at the first tick is 0 here, so shift what counts as the run.
  run.meta["started_ns"] = std::to_string(MadeRun::kBeginNs + 2 * kNsPerSec);
  const Facts facts = run.Make();
  EXPECT_EQ(facts.processes[0].cpu_ns, 5 * kNsPerSec);
}

TEST(FactsTest, PartsSumToTheKernelsAccount) {
  MadeRun run;
  run.workers = {{.cores = run.Always(0.5)}};
  run.meta["tree_cpu_ns"] = "7000000000";
  const Facts facts = run.Make();
  EXPECT_EQ(facts.run.cpu_from, "rusage");
  EXPECT_EQ(facts.run.cpu_ns, 7'000'000'000);
  EXPECT_EQ(facts.run.unattributed_cpu_ns, 2'000'000'000);
  EXPECT_EQ(SumOfParts(facts), *facts.run.cpu_ns);
}

TEST(FactsTest, UnattributedIsNeverNegative) {
  MadeRun run;
  run.workers = {{.cores = run.Always(0.5)}};
  run.meta["tree_cpu_ns"] = "3000000000";  // a child nobody waited for
  const Facts facts = run.Make();
  EXPECT_EQ(facts.run.cpu_from, "processes");
  EXPECT_EQ(facts.run.unattributed_cpu_ns, 0);
  EXPECT_EQ(SumOfParts(facts), *facts.run.cpu_ns);
}

TEST(FactsTest, TwoThousandShortProcessesAreOneLine) {
  MadeRun run;
  run.workers = {{.name = "sh", .cores = run.Always(0.1)}};
  for (uint32_t i = 0; i < 2000; ++i)
    run.workers.push_back({.process = 2 + i,
                           .name = "true",
                           .cores = run.Always(0),
                           .from_s = 0.004 * i,
                           .to_s = 0.004 * i + 0.002,
                           .exact_ns = i == 7 ? -1 : 1'000'000,
                           .sampled = false});
  const Facts facts = run.Make();
  EXPECT_EQ(facts.processes.size(), 1u);
  ASSERT_EQ(facts.short_processes.size(), 1u);
  const ShortProcesses& s = facts.short_processes[0];
  EXPECT_EQ(s.name, "true");
  EXPECT_EQ(s.count, 2000u);
  EXPECT_EQ(s.cpu_unknown, 1u);
  EXPECT_EQ(s.cpu_ns, 1'999'000'000);
  EXPECT_EQ(SumOfParts(facts), *facts.run.cpu_ns);
}

TEST(FactsTest, TheCommandIsShownEvenIfItWasTooShort) {
  MadeRun run;
  run.seconds = 0.01;
  run.machine_series = false;
  run.workers = {{.name = "true", .cores = run.Always(0), .sampled = false}};
  const Facts facts = run.Make();
  ASSERT_EQ(facts.processes.size(), 1u);
  EXPECT_FALSE(facts.processes[0].sampled);
  EXPECT_FALSE(facts.processes[0].cpu_ns.has_value()) << "not 0";
  EXPECT_FALSE(facts.run.cpu_ns.has_value()) << "not 0";
}

TEST(FactsTest, WindowsUseTrueElapsedTimes) {
  MadeRun run;
  run.jitter_s = 0.04;  // ticks 140 and 60 ms apart
  run.workers = {{.cores = run.Always(0.8)}};
  const Facts facts = run.Make();
  ASSERT_EQ(facts.windows.size(), 100u);
  for (const CpuWindow& w : facts.windows) {
    ASSERT_TRUE(w.known);
    ASSERT_NEAR(w.tree_cores, 0.8, 1e-6);
    ASSERT_NEAR(w.thread_cores, 0.8, 1e-6);
  }
}

TEST(FactsTest, ShortRunsHaveShorterWindowsAsFarAsTicksAllow) {
  MadeRun run;
  run.workers = {{.cores = run.Always(0.8)}};
  run.seconds = 0.25;
  run.rate_hz = 1000;
  EXPECT_EQ(run.Make().windows.size(), 20u);
  run.rate_hz = 50;
  EXPECT_EQ(run.Make().windows.size(), 13u) << "20 ms each";
  run.seconds = 10;
  run.rate_hz = 1000;
  EXPECT_EQ(run.Make().windows.size(), 100u);
}

TEST(FactsTest, ThreadsOfAProcessAreSortedByCpu) {
  MadeRun run;
  run.workers = {{.cores = run.Always(0.1)},
                 {.cores = run.Always(0.6), .wait = run.Always(0.2)}};
  const Facts facts = run.Make();
  ASSERT_EQ(facts.processes.size(), 1u);
  const auto& threads = facts.processes[0].threads;
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_EQ(threads[0].row.number, 2u);
  EXPECT_NEAR(*threads[0].cores_used, 0.6, 1e-6);
  EXPECT_NEAR(static_cast<double>(*threads[0].wait_ns), 2e9, 1e3);
  EXPECT_FALSE(threads[1].wait_ns.has_value());
  EXPECT_EQ(facts.windows[50].thread, 2u);
  EXPECT_NEAR(facts.windows[50].thread_wait_cores, 0.2, 1e-6);
  EXPECT_NEAR(facts.windows[50].second_cores, 0.1, 1e-6);
}

TEST(FactsTest, OtherProgramsAreToldApartFromOurs) {
  MadeRun run;
  run.workers = {{.cores = run.Always(0.5)}};
  run.others = MadeRun::Always(0.4);
  run.steal = MadeRun::Always(0.2);
  const Facts facts = run.Make();
  EXPECT_EQ(facts.machine.cores, 2u);
  EXPECT_NEAR(*facts.machine.busy_cores, 0.9, 0.01);
  EXPECT_NEAR(*facts.machine.other_cores, 0.4, 0.01);
  EXPECT_NEAR(*facts.machine.steal_cores, 0.2, 0.01);
  EXPECT_FALSE(facts.machine.mem_peak_bytes.has_value());
}

TEST(FactsTest, AMachineThatWasNotSampledIsAbsent) {
  MadeRun run;
  run.machine_series = false;
  run.workers = {{.cores = run.Always(0.5)}};
  const Facts facts = run.Make();
  EXPECT_FALSE(facts.machine.busy_cores.has_value());
  EXPECT_FALSE(facts.machine.other_cores.has_value());
  EXPECT_FALSE(facts.windows[3].machine_known);
}

TEST(FactsTest, MeansOfTheMachineAreOverTheTimeItWasSampled) {
  MadeRun run;
  run.workers = {{.cores = run.Always(0.5)}};
  run.others = MadeRun::Always(0.4);
  run.machine_to_s = 6;
  const Facts facts = run.Make();
  EXPECT_EQ(facts.machine.covered_ns, 6 * kNsPerSec);
  EXPECT_NEAR(*facts.machine.busy_cores, 0.9, 0.01);
  EXPECT_NEAR(*facts.machine.other_cores, 0.4, 0.01);
}

TEST(FactsTest, OthersAreNotSaidOfARunThatWasMostlyNotSeen) {
  MadeRun run;
  run.workers = {{.cores = run.Always(0.5)}};
  run.machine_from_s = 6;
  const Facts facts = run.Make();
  EXPECT_EQ(facts.machine.covered_ns, 4 * kNsPerSec);
  EXPECT_NEAR(*facts.machine.busy_cores, 0.5, 0.01);
  EXPECT_FALSE(facts.machine.other_cores.has_value()) << "not 0";
}

TEST(FactsTest, AccountsThatContradictEachOtherLeaveOthersUnknown) {
  MadeRun run;
  run.workers = {{.cores = run.Always(0.9)}};
  run.others = MadeRun::Always(-0.04);  // the cores say a little less
  EXPECT_EQ(run.Make().machine.other_cores, 0);
  run.others = MadeRun::Always(-0.5);
  EXPECT_FALSE(run.Make().machine.other_cores.has_value());
}

// A trace by hand.
struct ByHand {
  std::shared_ptr<std::string> bytes = std::make_shared<std::string>();
  std::unique_ptr<TraceWriter> w =
      TraceWriter::CreateInMemory(FileHeader{}, bytes);

  uint32_t AddSeries(Series::Scope scope, uint32_t id, const char* name,
                     Series::Type type = Series::Type::kInt,
                     uint32_t group = 2) {
    Series s;
    s.group = group;
    s.scope = scope;
    s.scope_id = id;
    s.name = w->Intern(name);
    s.kind = Series::Kind::kTotal;
    s.type = type;
    s.source =
        w->Intern(scope == Series::Scope::kMachine ? "machine" : "tasks");
    return w->AddSeries(s);
  }
  Facts Make() {
    EXPECT_TRUE(w->Close().ok());
    auto store = Store::OfBytes(bytes, "by hand");
    EXPECT_TRUE(store.ok());
    return FactsOf(store.Take());
  }
};

TEST(FactsTest, PausedTimeIsNotJudged) {
  ByHand t;
  t.w->PutMeta("started_ns", "0");
  t.w->PutMeta("ended_ns", "10000000000");
  t.w->PutMeta("rate_hz", "10");
  Process p;
  p.number = 1;
  p.start_ns = 0;
  t.w->PutProcess(p);
  const uint32_t cpu = t.AddSeries(Series::Scope::kProcess, 1, "cpu_ns");
  for (int64_t i = 0; i <= 100; ++i) {
    if (i > 20 && i < 60) continue;
    t.w->BeginTick(2, i * 100'000'000);
    t.w->Set(cpu, i * 100'000'000);
    t.w->EndTick();
  }
  Track track;
  track.kind = Track::Kind::kMachine;
  track.name = t.w->Intern("session");
  track.source = t.w->Intern("session");
  Event paused;
  paused.begin_ns = 2'000'000'000;
  paused.dur_ns = 4'000'000'000;
  paused.name = t.w->Intern("paused");
  const uint32_t session = t.w->AddTrack(track);
  t.w->AddEvent(session, paused);
  paused.begin_ns = 3'000'000'000;  // one of a damaged trace, inside the other
  paused.dur_ns = 1'000'000'000;
  t.w->AddEvent(session, paused);
  const Facts facts = t.Make();
  ASSERT_EQ(facts.windows.size(), 100u);
  EXPECT_EQ(facts.run.paused_ns, 4'000'000'000);
  EXPECT_TRUE(facts.windows[19].known);
  EXPECT_FALSE(facts.windows[20].known);
  EXPECT_FALSE(facts.windows[59].known);
  EXPECT_TRUE(facts.windows[60].known);
  EXPECT_TRUE(facts.said.slices.empty())
      << "our own slices are not the program's";
}

TEST(FactsTest, MarksAreInTimeOrderWithTheirTexts) {
  ByHand t;
  Track track;
  track.kind = Track::Kind::kMachine;
  track.name = t.w->Intern("session");
  track.source = t.w->Intern("session");
  const uint32_t session = t.w->AddTrack(track);
  const auto mark = [&](uint32_t on, int64_t at_ns, const char* text) {
    Arg arg;
    arg.key = t.w->Intern("text");
    arg.type = Arg::Type::kString;
    arg.string_value = t.w->Intern(text);
    Event event;
    event.kind = Event::Kind::kInstant;
    event.begin_ns = at_ns;
    event.name = t.w->Intern("mark");
    if (*text != '\0') event.args = t.w->AddArgs({arg});
    t.w->AddEvent(on, event);
  };
  mark(session, 5, "epoch 2");
  mark(session, 3, "epoch 1");
  mark(session, 9, "");
  mark(t.w->AddTrack({}), 4, "the program's own");
  const Facts facts = t.Make();
  ASSERT_EQ(facts.marks.size(), 3u);
  EXPECT_EQ(facts.marks[0].time_ns, 3);
  EXPECT_EQ(facts.marks[0].text, "epoch 1");
  EXPECT_EQ(facts.marks[1].text, "epoch 2");
  EXPECT_EQ(facts.marks[2].text, "");
}

TEST(FactsTest, PressureIsOfTheTimeItWasSampled) {
  ByHand t;
  t.w->PutMeta("started_ns", "0");
  t.w->PutMeta("ended_ns", "10000000000");
  const uint32_t cpu =
      t.AddSeries(Series::Scope::kMachine, 0, "psi_cpu_some_ns");
  const uint32_t io = t.AddSeries(Series::Scope::kMachine, 0, "psi_io_some_ns");
  for (int64_t i = 50; i <= 90; ++i) {
    t.w->BeginTick(2, i * 100'000'000);
    // It stops growing half-way; that was seen as well.
    t.w->Set(cpu, std::min<int64_t>(i, 70) * 50'000'000);
    if (i == 90) t.w->Set(io, 7);
    t.w->EndTick();
  }
  const Facts facts = t.Make();
  EXPECT_NEAR(*facts.machine.psi_cpu_some, 0.25, 1e-9);
  EXPECT_FALSE(facts.machine.psi_io_some.has_value()) << "one value, no time";
}

TEST(FactsTest, BytesThatPassTwoNetworksCountOnce) {
  const Facts facts = FactsOfText(
      "meta started_ns 0\nmeta ended_ns 10000000000\nmeta rate_hz 10\n"
      "series 3 scope=machine name=net_rx_bytes label=eth0 kind=total\n"
      "series 4 scope=machine name=net_rx_bytes label=eth1 kind=total\n"
      "series 5 scope=machine name=net_rx_bytes label=eth0@4026532 kind=total\n"
      "ramp 3 to=10s slope=5MB/s\nramp 4 to=10s slope=1MB/s\n"
      "ramp 5 to=10s slope=5MB/s\n");
  EXPECT_NEAR(*facts.machine.net_rx_bytes, 60e6, 1e6);
  EXPECT_FALSE(facts.machine.net_tx_bytes.has_value());
}

TEST(FactsTest, SlicesOfTheProgramAreSummedOverItsTracks) {
  ByHand t;
  const uint32_t step = t.w->Intern("step"), load = t.w->Intern("load");
  for (int i = 0; i < 2; ++i) {
    const uint32_t track = t.w->AddTrack({});
    Event e;
    e.begin_ns = 10;
    e.dur_ns = 30;
    e.name = load;
    e.depth = 1;
    t.w->AddEvent(track, e);
    e = {};
    e.begin_ns = 0;
    e.dur_ns = 100;
    e.name = step;
    t.w->AddEvent(track, e);
  }
  const Facts facts = t.Make();
  ASSERT_EQ(facts.said.slices.size(), 2u);
  EXPECT_EQ(facts.said.slices[0].name, "step");
  EXPECT_EQ(facts.said.slices[0].count, 2u);
  EXPECT_EQ(facts.said.slices[0].total_ns, 200u);
  EXPECT_EQ(facts.said.slices[0].self_ns, 140);
  EXPECT_NEAR(facts.said.slices[0].share, 0.7, 1e-9);
}

TEST(FactsTest, SlicesAndCountersOfThreadsAreToldApart) {
  ByHand t;
  Thread thread;
  thread.number = 5;
  thread.process = 1;
  thread.name = t.w->Intern("loader");
  t.w->PutThread(thread);
  Track row;
  row.process = 1;
  row.thread = 5;
  const uint32_t loader = t.w->AddTrack(row);
  row.kind = Track::Kind::kCustom;
  row.thread = 0;
  row.name = t.w->Intern("gpu queue");
  const uint32_t queue = t.w->AddTrack(row);
  Event e;
  e.name = t.w->Intern("load");
  e.dur_ns = 30;
  t.w->AddEvent(loader, e);
  e.name = t.w->Intern("kernel");
  e.dur_ns = 70;
  t.w->AddEvent(queue, e);
  Series series;
  series.group = t.w->AddGroup();
  series.scope = Series::Scope::kProcess;
  series.scope_id = 1;
  series.name = t.w->Intern("depth");
  series.unit = t.w->Intern("1");
  const uint32_t depth = t.w->AddSeries(series);
  for (const int64_t now_s : {0, 1, 3}) {
    t.w->BeginTick(series.group, now_s * 1'000'000'000);
    t.w->Set(depth, now_s == 1 ? 8 : 2);
    t.w->EndTick();
  }
  const AnnotationFacts said = t.Make().said;
  ASSERT_EQ(said.tracks.size(), 2u);
  EXPECT_EQ(said.tracks[0].name, "gpu queue");
  EXPECT_EQ(said.tracks[1].name, "loader");
  EXPECT_EQ(said.tracks[1].thread, 5u);
  EXPECT_EQ(said.tracks[1].slices[0].name, "load");
  EXPECT_EQ(said.tracks[1].slices[0].share, 1);
  ASSERT_EQ(said.counters.size(), 1u);
  EXPECT_EQ(said.counters[0].name, "depth");
  EXPECT_EQ(said.counters[0].max, 8);
  EXPECT_EQ(said.counters[0].last, 2);
  EXPECT_NEAR(said.counters[0].mean, (2 * 1 + 8 * 2) / 3.0, 1e-9);
}

TEST(FactsTest, ValuesThatCannotBeAreAsIfNotCollected) {
  ByHand t;
  t.w->PutMeta("started_ns", "0");
  t.w->PutMeta("ended_ns", "10000000000");
  t.w->PutMeta("allowed_cores", "-3");
  t.w->PutMeta("cores", "two");
  t.w->PutMeta("cpu_limit_cores", "nan");
  t.w->PutMeta("tree_cpu_ns", "999999999999999999999999");
  const auto kDouble = Series::Type::kDouble;
  for (uint32_t number : {1u, 2u, 70'000u}) {
    Process p;
    p.number = number;
    p.parent = number;
    p.start_ns = number == 2 ? kNoTime : number == 1 ? INT64_MAX : -1;
    p.end_ns = number == 1 ? INT64_MIN + 1 : kNoTime;
    p.name = 77'777;
    t.w->PutProcess(p);
    if (number > 2) break;
  }
  const uint32_t ids[] = {
      t.AddSeries(Series::Scope::kProcess, 1, "cpu_ns", kDouble),
      t.AddSeries(Series::Scope::kProcess, 2, "cpu_ns"),
      t.AddSeries(Series::Scope::kProcess, 9, "cpu_ns", kDouble),
      t.AddSeries(Series::Scope::kThread, 5, "cpu_ns", kDouble),
      t.AddSeries(Series::Scope::kThread, 5, "wait_ns"),
      t.AddSeries(Series::Scope::kMachine, 0, "cpu_idle_ns", kDouble),
      t.AddSeries(Series::Scope::kMachine, 0, "mem_total_bytes", kDouble),
      t.AddSeries(Series::Scope::kMachine, 0, "mem_available_bytes"),
      t.AddSeries(Series::Scope::kProcess, 1, "rss_bytes", kDouble)};
  const double values[] = {
      std::nan(""), -1,   1e300, std::numeric_limits<double>::infinity(), 5,
      -0.0,         9e18, 3};
  const int64_t times[] = {0,         5,         4, INT64_MAX,    INT64_MIN + 1,
                           INT64_MAX, 1'000'000, 7, 9'000'000'000};
  for (size_t tick = 0; tick < std::size(times); ++tick) {
    t.w->BeginTick(2, times[tick]);
    for (size_t i = 0; i < std::size(ids); ++i)
      t.w->SetDouble(ids[i], values[(tick + i) % std::size(values)]);
    t.w->EndTick();
  }
  const Facts facts = t.Make();
  EXPECT_FALSE(facts.run.capacity_cores.has_value());
  for (const ProcessFacts& p : facts.processes) {
    if (p.cpu_ns) {
      EXPECT_GE(*p.cpu_ns, 0);
    }
    if (p.cores_used) {
      EXPECT_TRUE(std::isfinite(*p.cores_used));
    }
  }
  for (const CpuWindow& w : facts.windows)
    EXPECT_TRUE(std::isfinite(w.tree_cores) && w.tree_cores >= 0);
  EXPECT_FALSE(Judge(facts).verdict.empty());
}

// A device works while the host does: the two times are no sum.
TEST(FactsTest, TimeOfADevicesQueueIsNotTheHosts) {
  const Facts facts = FactsOfText(
      "meta started_ns 0\nmeta ended_ns 10s\n"
      "process 1 pid=1 start=0 end=10s name=python3\n"
      "thread 1 process=1 tid=1 start=0 end=10s\n"
      "track 1 kind=thread process=1 thread=1 source=api\n"
      "track 2 kind=queue process=1 name=q source=api\n"
      "slice 1 0 1s gemm\n"
      "slice 2 0 8s gemm\n");
  ASSERT_EQ(facts.said.slices.size(), 1u);
  EXPECT_EQ(facts.said.slices[0].total_ns, kNsPerSec);
  ASSERT_EQ(facts.said.tracks.size(), 2u);
  EXPECT_EQ(facts.said.tracks[0].slices[0].total_ns, 8 * kNsPerSec);
}

TEST(FactsTest, ARunWithoutAnythingHasFactsToo) {
  ByHand t;
  const Facts facts = t.Make();
  EXPECT_EQ(facts.run.wall_ns, 0);
  EXPECT_TRUE(facts.processes.empty());
  EXPECT_EQ(Judge(facts).verdict,
            "Nothing was recorded of any process: there is nothing to judge.");
}

}  // namespace
}  // namespace sonde

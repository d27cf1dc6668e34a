#include "analyze/series/run_series.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "analyze/facts/made_run.h"
#include "analyze/facts/made_text.h"
#include "analyze/facts/part_series.h"
#include "analyze/facts/run_patterns.h"
#include "analyze/series/cgroup_sums.h"
#include "base/check.h"
#include "store/test_trace.h"

namespace sonde {
namespace {

constexpr int64_t kBegin = MadeRun::kBeginNs;

TEST(RunSeriesTest, CpuIsWhatTheRulesJudge) {
  MadeRun run;
  run.seconds = 20;
  run.cores = 4;
  run.workers = {
      {.cores = [](double t) { return std::fmod(t, 2) < 1 ? 0.9 : 0.1; }},
      {.process = 2, .cores = run.Always(0.3)}};
  const Facts facts = run.Make();
  const RunSeries series = RunSeriesOf(facts);
  const RegularSeries* cpu = series.Find("tree_cpu");
  ASSERT_NE(cpu, nullptr);
  EXPECT_EQ(cpu->size(), 200u);
  EXPECT_EQ(cpu->KnownCount(), 200u);
  EXPECT_NEAR(cpu->values[5], 1.2, 0.01);
  EXPECT_NEAR(cpu->values[15], 0.4, 0.01);
  EXPECT_NEAR(series.Find("busiest_thread")->values[5], 0.9, 0.01);
  EXPECT_NEAR(series.Find("machine_cpu")->values[5], 1.2, 0.01);
  EXPECT_EQ(series.Find("tree_read"), nullptr) << "was not collected";
  const Pattern p = PatternOf(*cpu, ContextOf(facts, *cpu));
  EXPECT_EQ(NameOf(p.kind), "wave") << p.text;
  EXPECT_NEAR(*p.period_s, 2, 0.02);
}

TEST(RunSeriesTest, NeverMoreWindowsThanAskedAndFinerForAPart) {
  MadeRun run;
  run.seconds = 100;
  run.workers = {{.cores = run.Always(0.5)}};
  const Facts facts = run.Make();
  EXPECT_EQ(RunSeriesOf(facts, {}, 64).grid.size(), 64u);
  const RunSeries part = RunSeriesOf(
      facts, {kBegin + 40 * kNsPerSec, kBegin + 46 * kNsPerSec}, 64);
  EXPECT_EQ(part.grid.size(), 60u);
  EXPECT_EQ(part.grid.begin_ns, kBegin + 40 * kNsPerSec);
  EXPECT_NEAR(part.Find("tree_cpu")->values[30], 0.5, 1e-6);
  EXPECT_TRUE(RunSeriesOf(Facts{}).all.empty());
}

// A trace of ten seconds with whatever counters a test wants, ten ticks a
// second.
class CountersTest : public testing::Test {
 protected:
  CountersTest() {
    w_->PutMeta("started_ns", std::to_string(kBegin));
    w_->PutMeta("ended_ns", std::to_string(kBegin + 10 * kNsPerSec));
  }

  uint32_t Add(Series::Scope scope, uint32_t id, const char* name,
               Series::Kind kind) {
    Series s;
    s.group = scope == Series::Scope::kMachine ? 1 : 2;
    s.scope = scope;
    s.scope_id = id;
    s.name = w_->Intern(name);
    s.label = w_->Intern(std::to_string(++labels_));
    s.kind = kind;
    s.source =
        w_->Intern(scope == Series::Scope::kMachine ? "machine" : "tasks");
    return w_->AddSeries(s);
  }
  void PutProcess(uint32_t number, double start_s) {
    Process p;
    p.number = number;
    p.start_ns = kBegin + static_cast<int64_t>(start_s * 1e9);
    w_->PutProcess(p);
  }
  void Tick(uint32_t group, int tick, const std::function<void()>& values) {
    w_->BeginTick(group, kBegin + tick * 100 * kNsPerMs);
    values();
    w_->EndTick();
  }
  RunSeries Read(TimeRange range = {}) {
    CHECK(w_->Close().ok());
    auto store = Store::OfBytes(bytes_, "made");
    CHECK(store.ok());
    // The windows come from CPU times, which these traces have not.
    Facts facts = FactsOf(store.Take());
    CHECK(!facts.windows.empty());
    return RunSeriesOf(facts, range);
  }

  std::shared_ptr<std::string> bytes_ = std::make_shared<std::string>();
  std::unique_ptr<TraceWriter> w_ =
      TraceWriter::CreateInMemory(FileHeader{}, bytes_);
  int labels_ = 0;
};

TEST_F(CountersTest, RatesOfTheMachineAreSummedOverDevices) {
  constexpr auto kMachine = Series::Scope::kMachine;
  constexpr auto kTotal = Series::Kind::kTotal;
  const uint32_t a = Add(kMachine, 0, "disk_write_bytes", kTotal),
                 b = Add(kMachine, 0, "disk_write_bytes", kTotal),
                 psi = Add(kMachine, 0, "psi_io_some_ns", kTotal);
  for (int i = 0; i <= 100; ++i) {
    Tick(1, i, [&] {
      w_->Set(a, 1'000'000'000 + (i < 50 ? 0 : (i - 50) * 1000));
      w_->Set(b, i * 500);
      w_->Set(psi, i * 25 * kNsPerMs);
    });
  }
  const RunSeries series = Read();
  const RegularSeries* disk = series.Find("disk_write");
  ASSERT_NE(disk, nullptr);
  EXPECT_EQ(disk->KnownCount(), disk->size());
  EXPECT_NEAR(disk->values[20], 5'000, 1) << "what it was at first is no rate";
  EXPECT_NEAR(disk->values[80], 15'000, 1);
  EXPECT_NEAR(series.Find("psi_io")->values[70], 0.25, 1e-6);
  EXPECT_EQ(series.Find("disk_read"), nullptr);
}

TEST_F(CountersTest, OfDisksTheBusiestCounts) {
  constexpr auto kMachine = Series::Scope::kMachine;
  constexpr auto kTotal = Series::Kind::kTotal;
  const uint32_t a = Add(kMachine, 0, "disk_busy_ns", kTotal),
                 b = Add(kMachine, 0, "disk_busy_ns", kTotal);
  for (int i = 0; i <= 100; ++i) {
    Tick(1, i, [&] {
      w_->Set(a, i * 40 * kNsPerMs);
      w_->Set(b, i < 50 ? 0 : (i - 50) * 70 * kNsPerMs);
    });
  }
  const RunSeries series = Read();
  EXPECT_NEAR(series.Find("disk_busy")->values[20], 0.4, 1e-6);
  EXPECT_NEAR(series.Find("disk_busy")->values[80], 0.7, 1e-6);
}

TEST_F(CountersTest, MemoryOfTheTreeFollowsBirthAndDeath) {
  constexpr auto kProcess = Series::Scope::kProcess;
  PutProcess(1, 0);
  PutProcess(2, 3);
  const uint32_t a = Add(kProcess, 1, "rss_bytes", Series::Kind::kGauge),
                 b = Add(kProcess, 2, "rss_bytes", Series::Kind::kGauge);
  for (int i = 0; i <= 100; ++i) {
    Tick(2, i, [&] {
      w_->Set(a, 1000);
      if (i >= 30 && i < 60) w_->Set(b, 500);
      if (i == 60) w_->Gone(b);
    });
  }
  const RegularSeries memory = *Read().Find("tree_memory");
  EXPECT_NEAR(memory.values[20], 1000, 1e-6)
      << "it does not change, it is there";
  EXPECT_NEAR(memory.values[45], 1500, 1e-6);
  EXPECT_NEAR(memory.values[80], 1000, 1e-6);
}

TEST_F(CountersTest, WhatAProcessReadBeforeItsFirstTickCounts) {
  constexpr auto kProcess = Series::Scope::kProcess;
  constexpr auto kTotal = Series::Kind::kTotal;
  PutProcess(1, 0);
  PutProcess(2, 4.95);
  PutProcess(3, -100);
  PutProcess(4, 1);
  const uint32_t a = Add(kProcess, 1, "read_bytes", kTotal),
                 b = Add(kProcess, 2, "read_bytes", kTotal),
                 c = Add(kProcess, 3, "read_bytes", kTotal),
                 d = Add(kProcess, 4, "read_bytes", kTotal);
  for (int i = 0; i <= 100; ++i) {
    Tick(2, i, [&] {
      w_->Set(a, 0);
      if (i >= 50) w_->Set(b, 7000);
      if (i >= 70) w_->Set(c, 9'000'000);
      if (i >= 40) w_->Set(d, 5'000'000);
    });
  }
  const RegularSeries read = *Read().Find("tree_read");
  double sum = 0;
  for (const double v : read.values) sum += v / 10;
  EXPECT_NEAR(sum, 7000, 1) << "but not what was read nobody knows when";
  EXPECT_NEAR(read.values[49], 70'000, 1);
}

TEST(CgroupSums, OwnCgroupsDoNotHoldEachOther) {
  using Paths = std::vector<std::string>;
  EXPECT_EQ(OwnCgroups({"/", "/pod", "/pod/job"}, "/pod/job"),
            Paths{"/pod/job"});
  EXPECT_EQ(OwnCgroups({"/", "/pod", "/pod/job"}, ""), Paths{"/pod/job"});
  EXPECT_EQ(OwnCgroups({"/pod", "/pod/a", "/pod/b"}, "/pod/a"),
            (Paths{"/pod/a", "/pod/b"}));
  EXPECT_EQ(OwnCgroups({"/pod", "/pod/a", "/podium"}, "/pod"),
            (Paths{"/pod", "/podium"}))
      << "what is below is counted in it";
  EXPECT_EQ(OwnCgroups({"/"}, "/elsewhere"), Paths{"/"});
}

// Ten seconds of cgroups in and beside each other.
constexpr char kCgroups[] =
    "meta started_ns 0\nmeta ended_ns 10000000000\nmeta rate_hz 10\n"
    "process 1 pid=10 name=a start=0 end=10s exit=0\n"
    "series 1 scope=process:1 name=cpu_ns\nramp 1 to=10s slope=1s/s\n"
    "series 2 scope=machine name=cgroup_memory_bytes label=/pod\n"
    "series 3 scope=machine name=cgroup_memory_bytes label=/pod/a\n"
    "series 4 scope=machine name=cgroup_cpu_throttled_ns label=/pod\n"
    "series 5 scope=machine name=cgroup_cpu_throttled_ns label=/pod/a\n"
    "series 6 scope=machine name=cgroup_psi_io_some_ns label=/pod\n"
    "series 7 scope=machine name=cgroup_psi_io_some_ns label=/pod/a\n"
    "ramp 2 to=10s value=400MB\nramp 3 to=10s value=300MB\n"
    "ramp 4 to=10s slope=400ms/s\nramp 5 to=10s slope=300ms/s\n"
    "ramp 6 to=10s slope=500ms/s\nramp 7 to=10s slope=200ms/s\n";

TEST(CgroupSums, ACgroupIsNotAddedToTheOneItIsIn) {
  const Facts facts = FactsOfText(kCgroups, "meta cgroup /pod/a\n");
  EXPECT_NEAR(facts.series->Find("cgroup_memory")->values[50], 300e6, 1);
  EXPECT_NEAR(facts.series->Find("cgroup_throttled")->values[50], 0.4, 1e-6)
      << "the limit above holds it back as well";
  EXPECT_NEAR(facts.series->Find("cgroup_psi_io")->values[50], 0.2, 1e-6)
      << "above, others wait too";
}

TEST(CgroupSums, CgroupsBesideEachOtherAreAdded) {
  const Facts facts = FactsOfText(
      kCgroups,
      "meta cgroup /pod/a\n"
      "series 8 scope=machine name=cgroup_memory_bytes label=/pod/b\n"
      "series 9 scope=machine name=cgroup_psi_io_some_ns label=/pod/b\n"
      "ramp 8 from=5s to=10s value=50MB\n"
      "ramp 9 from=5s to=10s slope=300ms/s\n");
  const RegularSeries* const memory = facts.series->Find("cgroup_memory");
  EXPECT_NEAR(memory->values[20], 300e6, 1);
  EXPECT_NEAR(memory->values[80], 350e6, 1);
  EXPECT_EQ(memory->KnownCount(), memory->size());
  EXPECT_NEAR(facts.series->Find("cgroup_psi_io")->values[80], 0.3, 1e-6);
}

// Eight devices, of which the fourth works, and others as a test wants.
std::string EightDevices(double other_pct) {
  std::string out =
      "meta started_ns 0\nmeta ended_ns 10000000000\nmeta rate_hz 10\n"
      "process 1 pid=10 name=a start=0 end=10s exit=0\n"
      "series 1 scope=process:1 name=cpu_ns\nramp 1 to=10s slope=1s/s\n";
  for (int i = 0; i < 8; ++i)
    out += fmt::format(
        "series {0} scope=device:{1} name=gpu_busy_pct group=5\n"
        "ramp {0} to=10s value={2}\n",
        10 + i, i, i == 3 ? 75 : other_pct);
  return out;
}

TEST(Accelerator, IsTheMeanOfTheDevicesThatTheRunUses) {
  const auto busy = [](const Facts& facts) {
    return facts.series->Find("accelerator")->values[50];
  };
  EXPECT_NEAR(busy(FactsOfText(EightDevices(0))), 0.75, 1e-6);
  EXPECT_NEAR(busy(FactsOfText(EightDevices(35))), 0.40, 1e-6)
      << "nobody tells whose they are";
  const Facts told = FactsOfText(
      EightDevices(35),
      "device 1 number=3\n"
      "series 2 scope=process:1 name=gpu_mem_used_bytes device=1 group=5\n"
      "ramp 2 to=10s value=1GB\n");
  EXPECT_NEAR(busy(told), 0.75, 1e-6);
  EXPECT_NEAR(RunSeriesOf(told, {2 * kNsPerSec, 4 * kNsPerSec})
                  .Find("accelerator")
                  ->values[5],
              0.75, 1e-6);
}

TEST(Accelerator, OfDevicesThatDoLittleItIsThoseThatWork) {
  std::string text = EightDevices(0);
  text.replace(text.find("value=75"), 8, "value=4");
  const Facts little = FactsOfText(text);
  EXPECT_NEAR(little.series->Find("accelerator")->values[50], 0.04, 1e-6);
  text.replace(text.find("value=4"), 7, "value=0");
  const Facts none = FactsOfText(text);
  ASSERT_NE(none.series->Find("accelerator"), nullptr);
  EXPECT_EQ(none.series->Find("accelerator")->values[50], 0);
}

TEST_F(CountersTest, AStallOfHalfASecondIsNoGap) {
  const uint32_t a =
      Add(Series::Scope::kMachine, 0, "net_rx_bytes", Series::Kind::kTotal);
  for (int i = 0; i <= 100; ++i)
    if (i <= 30 || i >= 36) Tick(1, i, [&] { w_->Set(a, i * 100); });
  const RegularSeries net = *Read().Find("net_receive");
  EXPECT_EQ(net.KnownCount(), net.size());
}

TEST_F(CountersTest, OneTickAChunkIsNoGap) {
  const uint32_t a =
      Add(Series::Scope::kMachine, 0, "net_rx_bytes", Series::Kind::kTotal);
  for (int i = 0; i <= 100; i += 20) {
    Tick(1, i, [&] { w_->Set(a, i * 100); });
    w_->Seal();
  }
  const RunSeries series = Read();
  ASSERT_NE(series.Find("net_receive"), nullptr);
  EXPECT_NEAR(series.Find("net_receive")->values[50], 1000, 1e-6);
}

TEST_F(CountersTest, APauseIsNotKnown) {
  const uint32_t a =
      Add(Series::Scope::kMachine, 0, "net_rx_bytes", Series::Kind::kTotal);
  for (int i = 0; i <= 100; ++i)
    if (i <= 30 || i >= 60) Tick(1, i, [&] { w_->Set(a, i * 100); });
  const RegularSeries net = *Read().Find("net_receive");
  EXPECT_TRUE(net.known[29]);
  EXPECT_FALSE(net.known[31]);
  EXPECT_FALSE(net.known[58]);
  EXPECT_TRUE(net.known[61]);
  EXPECT_NEAR(net.values[61], 1000, 1e-6);
}

TEST_F(CountersTest, TheTreeComesFirstThenTheMachine) {
  constexpr auto kTotal = Series::Kind::kTotal;
  PutProcess(1, 0);
  const uint32_t cpu = Add(Series::Scope::kProcess, 1, "cpu_ns", kTotal),
                 read = Add(Series::Scope::kProcess, 1, "read_bytes", kTotal),
                 user = Add(Series::Scope::kMachine, 0, "cpu_user_ns", kTotal),
                 net = Add(Series::Scope::kMachine, 0, "net_rx_bytes", kTotal);
  for (int i = 0; i <= 100; ++i) {
    Tick(1, i, [&] {
      w_->Set(user, i * 50 * kNsPerMs);
      w_->Set(net, i);
    });
    Tick(2, i, [&] {
      w_->Set(cpu, i * 50 * kNsPerMs);
      w_->Set(read, i);
    });
  }
  std::string names;
  for (const RegularSeries& series : Read().all) names += series.name + " ";
  EXPECT_EQ(names,
            "tree_cpu busiest_thread tree_read machine_cpu iowait "
            "net_receive ");
}

TEST_F(CountersTest, WhoEndedInALostChunkHasEnded) {
  constexpr auto kProcess = Series::Scope::kProcess;
  PutProcess(1, 0);
  PutProcess(2, 0);
  const uint32_t a = Add(kProcess, 1, "rss_bytes", Series::Kind::kGauge),
                 b = Add(kProcess, 2, "rss_bytes", Series::Kind::kGauge);
  for (int i = 0; i <= 100; ++i) {
    Tick(2, i, [&] {
      w_->Set(a, 1000);
      if (i < 45) w_->Set(b, 500);
      if (i == 45) w_->Gone(b);
    });
    if (i % 10 == 9) w_->Seal();
  }
  CHECK(w_->Close().ok());
  // The fifth chunk, ticks 40 to 49.
  auto store = Store::OfBytes(WithDamagedCounters(bytes_, {4}), "made");
  CHECK(store.ok());
  const RunSeries series = RunSeriesOf(FactsOf(store.Take()));
  const RegularSeries memory = *series.Find("tree_memory");
  EXPECT_NEAR(memory.values[35], 1500, 1e-6);
  EXPECT_FALSE(memory.known[44]);
  EXPECT_NEAR(memory.values[60], 1000, 1e-6);
}

TEST_F(CountersTest, TheSameBytesInAnotherNetworkCountOnce) {
  const uint32_t own =
      Add(Series::Scope::kMachine, 0, "net_rx_bytes", Series::Kind::kTotal);
  Series s;
  s.group = 1;
  s.scope = Series::Scope::kMachine;
  s.name = w_->Intern("net_rx_bytes");
  s.label = w_->Intern("eth0@4026532000");
  s.kind = Series::Kind::kTotal;
  s.source = w_->Intern("machine");
  const uint32_t other = w_->AddSeries(s);
  for (int i = 0; i <= 100; ++i)
    Tick(1, i, [&] {
      w_->Set(own, i * 100);
      w_->Set(other, i * 100);
    });
  EXPECT_NEAR(Read().Find("net_receive")->values[50], 1000, 1e-6);
}

TEST_F(CountersTest, APartDoesNotCountWhatWasBefore) {
  const uint32_t a =
      Add(Series::Scope::kMachine, 0, "net_rx_bytes", Series::Kind::kTotal);
  for (int i = 0; i <= 100; ++i) {
    Tick(1, i, [&] { w_->Set(a, i * 100); });
    if (i % 10 == 9) w_->Seal();
  }
  const RegularSeries net =
      *Read({kBegin + 4 * kNsPerSec, kBegin + 6 * kNsPerSec})
           .Find("net_receive");
  EXPECT_EQ(net.KnownCount(), net.size());
  for (const double v : net.values) EXPECT_NEAR(v, 1000, 1e-6);
}

}  // namespace
}  // namespace sonde

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "analyze/facts/made_text.h"
#include "base/check.h"
#include "base/time.h"
#include "export/pai/log.h"
#include "export/pai/png.h"
#include "export/pai/table.h"
#include "export/pai/votes.h"
#include "trace/writer.h"

namespace sonde {
namespace {

using Of = std::function<double(size_t row)>;

Of Always(double value) {
  return [value](size_t) { return value; };
}

// A GPU with 16 GiB of memory.
struct MadeGpu {
  Of busy_pct = Always(95);
  double memory = 0.5;  // share in use
};

// Rows every 20 ms, as the origin took them.
PaiTable Made(size_t rows, const Of& cpu_pct, const std::vector<MadeGpu>& gpus,
              const Of& read = Always(0)) {
  const Grid grid = {0, static_cast<int64_t>(rows) * 20 * kNsPerMs,
                     20 * kNsPerMs};
  const auto column = [&](const Of& of) {
    RegularSeries out{"", "", grid, {}, std::vector<uint8_t>(rows, 1)};
    for (size_t i = 0; i < rows; ++i) out.values.push_back(of(i));
    return out;
  };
  PaiTable out;
  out.grid = grid;
  out.cpu_pct = column(cpu_pct);
  out.mem_used_gib = column(Always(1));
  out.mem_total_gib = column(Always(8));
  out.read_kib_s = column(read);
  out.write_kib_s = out.receive_kib_s = out.transmit_kib_s = column(Always(0));
  for (const MadeGpu& gpu : gpus)
    out.gpus.push_back({column(gpu.busy_pct), column(Always(0)),
                        column(Always(16 * gpu.memory)), column(Always(16)),
                        100 * gpu.memory});
  return out;
}

using Shown = std::array<bool, kPaiPhenomena>;

Shown OneGpu(double busy_pct, double memory) {
  return PaiJudge(Made(500, Always(100), {{Always(busy_pct), memory}}));
}
Shown TwoGpus(double first, double second) {
  return PaiJudge(
      Made(500, Always(100), {{Always(95), first}, {Always(95), second}}));
}

TEST(PaiVotes, FreeGpuAndMemory) {
  EXPECT_EQ(OneGpu(50, 0.45), (Shown{false, true, false, false}));
}

TEST(PaiVotes, MemoryIsFullFromEightyPercentOn) {
  EXPECT_EQ(OneGpu(50, 0.80), (Shown{false, false, true, false}));
  EXPECT_EQ(OneGpu(50, 0.79), (Shown{false, true, false, false}));
}

TEST(PaiVotes, AGpuIsFreeBelowEightyFivePercent) {
  EXPECT_EQ(OneGpu(85, 0.45), Shown{});
  EXPECT_EQ(OneGpu(84.9, 0.45), (Shown{false, true, false, false}));
}

TEST(PaiVotes, UnevenMemoryByAmountOrByShare) {
  const Shown uneven = {true, false, false, false};
  EXPECT_EQ(TwoGpus(0.50, 0.34), uneven);
  EXPECT_EQ(TwoGpus(0.50, 0.36), uneven) << "by share of the larger";
  EXPECT_EQ(TwoGpus(0.95, 0.81), Shown{});
  EXPECT_EQ(TwoGpus(0.95, 0.79), uneven);
  EXPECT_EQ(TwoGpus(0.009, 0.001), Shown{}) << "idle";
  EXPECT_EQ(TwoGpus(0.02, 0), uneven);
}

TEST(PaiVotes, EveryGpuIsJudged) {
  const Shown shown =
      PaiJudge(Made(500, Always(100), {{Always(95), 0.5}, {Always(20), 0.5}}));
  EXPECT_TRUE(shown[1]) << "the second, too";
}

TEST(PaiVotes, WordsFollowTheShareOfWindows) {
  const PaiTable free = Made(50, Always(100), {{Always(50), 0.45}});
  const PaiTable busy = Made(50, Always(100), {{Always(95), 0.45}});
  PaiVotes votes;
  EXPECT_STREQ(votes.Word(1), "NO") << "before any window";
  for (int i = 0; i < 8; ++i) votes.Add(free);
  for (int i = 0; i < 2; ++i) votes.Add(busy);
  EXPECT_EQ(votes.total, 10u);
  EXPECT_EQ(votes.windows[1].size(), 8u);
  EXPECT_STREQ(votes.Word(0), "NO");
  EXPECT_STREQ(votes.Word(1), "MOST") << "80 % is most";
  votes.Add(busy);
  EXPECT_STREQ(votes.Word(1), "SEVERAL");
  PaiVotes few;
  few.Add(free);
  for (int i = 0; i < 3; ++i) few.Add(busy);
  EXPECT_STREQ(few.Word(1), "A LITTLE");
}

// Square waves of a period of 100 rows, the second by `shift` rows later.
Of Square(double high, double low, size_t shift) {
  return [=](size_t row) { return (row + shift) % 100 < 50 ? high : low; };
}

TEST(PaiVotes, TurnsOfCpuAndGpuAreSeen) {
  EXPECT_TRUE(
      PaiJudge(Made(500, Square(350, 50, 0), {{Square(95, 5, 50), 0.5}}))[3]);
  EXPECT_FALSE(
      PaiJudge(Made(500, Square(350, 50, 0), {{Square(95, 5, 0), 0.5}}))[3])
      << "they rise together";
}

TEST(PaiVotes, TurnsOfADiskAndAGpuAreSeen) {
  EXPECT_TRUE(PaiJudge(Made(500, Always(100), {{Square(95, 5, 50), 0.5}},
                            Square(90'000, 0, 0)))[3]);
}

TEST(PaiVotes, NoiseIsNoTurns) {
  int together = 0, noise = 0, turns = 0;
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> cpu(-20, 20), gpu(-5, 5), any(0, 80);
    const auto noisy = [&](Of of, auto& by) {
      return [&, of](size_t row) { return of(row) + by(random); };
    };
    turns += PaiJudge(Made(500, noisy(Square(350, 50, 0), cpu),
                           {{noisy(Square(90, 10, 50), gpu), 0.5}}))[3];
    together += PaiJudge(Made(500, noisy(Square(350, 50, 0), cpu),
                              {{noisy(Square(90, 10, 0), gpu), 0.5}}))[3];
    noise += PaiJudge(
        Made(500, noisy(Always(100), any), {{noisy(Always(0), any), 0.5}}))[3];
  }
  EXPECT_EQ(turns, 50);
  EXPECT_EQ(together, 0);
  EXPECT_LE(noise, 1);
}

TEST(PaiVotes, WindowsAreTenSecondsAndAShortRunIsOne) {
  const auto windows = [](size_t rows) {
    return PaiVotesOf(Made(rows, Always(1), {{Always(50), 0.4}})).total;
  };
  EXPECT_EQ(windows(1500), 3u);
  EXPECT_EQ(windows(1600), 3u) << "two seconds are too few";
  EXPECT_EQ(windows(1750), 4u);
  EXPECT_EQ(windows(100), 1u);
  EXPECT_EQ(windows(0), 0u);
}

// An hour and 40 minutes in which CPU and GPU take turns every second, ten
// samples a second.
Facts LongRun() {
  constexpr int64_t kSeconds = 6000;
  auto bytes = std::make_shared<std::string>();
  auto w = TraceWriter::CreateInMemory(FileHeader{}, bytes);
  w->PutMeta("started_ns", "0");
  w->PutMeta("ended_ns", std::to_string(kSeconds * kNsPerSec));
  w->PutMeta("rate_hz", "10");
  Process p;
  p.number = 1;
  p.start_ns = 0;
  w->PutProcess(p);
  const auto add = [&](Series::Scope scope, uint32_t group, uint32_t id,
                       const char* name, Series::Kind kind) {
    Series s;
    s.group = group;
    s.scope = scope;
    s.scope_id = id;
    s.name = w->Intern(name);
    s.kind = kind;
    s.source = w->Intern(scope == Series::Scope::kMachine  ? "machine"
                         : scope == Series::Scope::kDevice ? "devices"
                                                           : "tasks");
    return w->AddSeries(s);
  };
  const uint32_t cpu = add(Series::Scope::kProcess, 2, 1, "cpu_ns",
                           Series::Kind::kTotal),
                 gpu = add(Series::Scope::kDevice, 5, 0, "gpu_busy_pct",
                           Series::Kind::kGauge);
  int64_t used_ns = 0;
  for (int64_t tick = 0; tick <= kSeconds * 10; ++tick) {
    const bool cpu_works = tick / 10 % 2 == 0;
    w->BeginTick(2, tick * 100 * kNsPerMs);
    w->Set(cpu, used_ns);
    w->EndTick();
    w->BeginTick(5, tick * 100 * kNsPerMs);
    w->Set(gpu, cpu_works ? 5 : 95);
    w->EndTick();
    used_ns += (cpu_works ? 95 : 5) * kNsPerMs;
    if (tick % 100 == 99) w->Seal();
  }
  CHECK(w->Close().ok());
  auto store = Store::OfBytes(bytes, "made");
  CHECK(store.ok());
  return FactsOf(store.Take());
}

TEST(PaiVotes, TurnsInALongRunAreSeen) {
  const Facts facts = LongRun();
  const PaiTable table = PaiTableOf(facts);
  EXPECT_GT(table.grid.step_ns, 250 * kNsPerMs) << "too few rows a window";
  const PaiVotes votes = PaiVotesOf(facts, table);
  EXPECT_EQ(votes.total, 600u);
  EXPECT_EQ(votes.window_ns, kPaiWindowNs);
  EXPECT_STREQ(votes.Word(3), "MOST") << votes.windows[3].size();
  const std::string log = PaiLog(table, votes);
  EXPECT_NE(log.find(" 0-10 10-20 "), log.npos) << log;
}

TEST(PaiVotes, ATraceThatClaimsThirtyYearsIsNotReadInTenSeconds) {
  const Facts facts = FactsOfText(
      "meta started_ns 0\nmeta ended_ns 900000000000000000\nmeta rate_hz 10\n"
      "process 1 pid=10 name=a start=0 end=10s exit=0\n"
      "series 1 scope=process:1 name=cpu_ns\nramp 1 to=10s slope=1s/s\n");
  EXPECT_LE(PaiVotesOf(facts, PaiTableOf(facts)).total, 20'000u);
}

TEST(PaiTable, AGapInTheNumbersOfDevicesHidesNone) {
  const Facts facts = FactsOfText(
      "meta started_ns 0\nmeta ended_ns 10000000000\nmeta rate_hz 10\n"
      "process 1 pid=10 name=a start=0 end=10s exit=0\n"
      "series 1 scope=process:1 name=cpu_ns\nramp 1 to=10s slope=1s/s\n"
      "series 2 scope=device:1 name=gpu_busy_pct group=5\n"
      "series 3 scope=device:4 name=gpu_busy_pct group=5\n"
      "ramp 2 to=10s value=40\nramp 3 to=10s value=60\n");
  const PaiTable table = PaiTableOf(facts);
  ASSERT_EQ(table.gpus.size(), 2u);
  EXPECT_NEAR(table.gpus[0].busy_pct.values[50], 40, 1e-6);
  EXPECT_NEAR(table.gpus[1].busy_pct.values[50], 60, 1e-6);
}

TEST(PaiTable, HeaderAndColumns) {
  EXPECT_EQ(PaiHeader(1),
            "timestamp,cpu_usage(%),mem_used(GiByte),mem_total(GiByte),"
            "IO_read(KiByte/s),IO_write(KiByte/s),network_receive(KiByte/s),"
            "network_transmit(KiByte/s),gpu_usage_0,gpu_mem_usage_0,"
            "gpu_mem_used_0,gpu_mem_total_0\n");
  PaiTable table = Made(3, Always(150), {{}, {}});
  const std::string line = PaiLine(table, 1);
  EXPECT_EQ(std::count(line.begin(), line.end(), ','), 8 + 4 * 2 - 1);
  EXPECT_TRUE(line.starts_with("0.040000,150,1,8,0,")) << line;
  table.cpu_pct.known[1] = 0;
  EXPECT_TRUE(PaiLine(table, 1).starts_with("0.040000,,1,8,"))
      << "not known is not 0";
}

TEST(PaiLog, ProgressBar) {
  EXPECT_EQ(PaiProgress(0.123), "[" + std::string(11, '-') + ">" +
                                    std::string(88, '=') +
                                    "]12.30% has been finished\n");
  EXPECT_EQ(PaiProgress(0),
            "[>" + std::string(99, '=') + "]0.00% has been finished\n");
  EXPECT_EQ(PaiProgress(1),
            "[" + std::string(99, '-') + ">]100.00% has been finished\n");
  EXPECT_EQ(PaiProgress(7), PaiProgress(1));
}

TEST(PaiLog, SaysWhatTheOriginSaid) {
  const PaiTable table = Made(
      1000, [](size_t row) { return row < 500 ? 50.0 : 150.0; },
      {{Always(50), 0.45}}, [](size_t row) { return row < 500 ? 0 : 100.0; });
  const std::string log = PaiLog(table, PaiVotesOf(table));
  for (const char* text :
       {"We have finished the analyzing 2 times and the result is as follow.\n",
        "There is  MOST  sample showing that ' Both the GPU and GPU memory "
        "have free resource. '\n",
        "There is  NO  sample showing that ' IO, CPU and GPU raise "
        "alternately. '\n",
        "The max value of the CPU Utilization is 150%\n",
        "The min value of the CPU Utilization is 50%\n",
        "The average value of the CPU Utilization is 100%\n",
        "The standard deviation of the CPU Utilization is 50%\n",
        "Less than 50% value is more than 150%\n",
        "The min value of the Disk read (without zero) is 100KBps\n",
        "The total read volume of the Disk is 1000KB\n",
        "The total number of the GPU cards is 1\n",
        "The memory Utilization of Card Index  0 is 45.0000%\n",
        " 0-10 10-20\n", "50.00% has been finished\n",
        "100.00% has been finished\n"})
    EXPECT_NE(log.find(text), log.npos) << text << "\nin\n" << log;
}

TEST(PaiLog, NumbersHaveNoExponent) {
  const PaiTable table = Made(
      1000, [](size_t row) { return row < 500 ? 0.00005 : 100.0 / 3; }, {},
      Always(1953125));
  const std::string log = PaiLog(table, PaiVotesOf(table));
  for (const char* text :
       {"The max value of the CPU Utilization is 33.333333%\n",
        "The min value of the CPU Utilization is 0.00005%\n",
        "The max value of the Disk read is 1953125KBps\n",
        "The total read volume of the Disk is 39062500KB\n",
        "The total write volume of the Disk is 0KB\n"})
    EXPECT_NE(log.find(text), log.npos) << text << "\nin\n" << log;
}

TEST(PaiLog, AVolumeThatNobodyKnowsIsNotPrinted) {
  PaiTable table = Made(100, Always(1), {});
  std::fill(table.receive_kib_s.known.begin(), table.receive_kib_s.known.end(),
            0);
  const std::string log = PaiLog(table, PaiVotesOf(table));
  EXPECT_NE(log.find("The Network Inbound was not collected\n"), log.npos);
  EXPECT_EQ(log.find("total Inbound volume"), log.npos) << log;
  EXPECT_NE(log.find("The total Outbound volume of the Network is 0KB\n"),
            log.npos);
}

TEST(PaiLog, ARunWithoutGpusOrSamplesIsNoFailure) {
  const PaiTable none = Made(100, Always(1), {});
  EXPECT_NE(PaiLog(none, PaiVotesOf(none)).find("cards is 0\n"),
            std::string::npos);
  const PaiTable empty = Made(0, Always(1), {});
  const std::string log = PaiLog(empty, PaiVotesOf(empty));
  EXPECT_NE(log.find("analyzing 0 times"), log.npos);
  EXPECT_NE(log.find("The CPU Utilization was not collected\n"), log.npos);
}

TEST(PaiPng, IsOne) {
  const PaiTable table = Made(500, Square(350, 50, 0), {{Square(95, 5, 50)}});
  const PngLine lines[] = {{&table.cpu_pct, "cpu"},
                           {&table.gpus[0].busy_pct, "gpu", true}};
  const auto png = DrawPng({"A title", "CPU(%)", "GPU(%)"}, lines);
  ASSERT_TRUE(png.ok());
  EXPECT_TRUE(png.value().starts_with("\x89PNG\r\n"));
  EXPECT_GT(png.value().size(), 1000u);
  EXPECT_TRUE(DrawPng({"Nothing", "", ""}, {}).ok());
}

}  // namespace
}  // namespace sonde

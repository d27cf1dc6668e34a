#include "analyze/series/counter_scan.h"

#include <gtest/gtest.h>

#include <string>

#include "analyze/facts/annotation_facts.h"
#include "analyze/facts/made_text.h"
#include "analyze/series/run_series.h"
#include "analyze/verdict/judge.h"
#include "base/time.h"
#include "store/test_trace.h"

namespace sonde {
namespace {

// One thread uses 0.99 of 4 cores for 20 s, beside a process that does little.
constexpr std::string_view kBusy =
    "meta cores 4\nmeta allowed_cores 4\nmeta rate_hz 10\n"
    "process 1 pid=10 name=burn start=0s end=20s exit=0 cpu=19.8s\n"
    "thread 1 process=1 tid=10 name=burn start=0s end=20s cpu=19.8s\n"
    "process 2 parent=1 pid=11 name=other start=0s end=20s exit=0 cpu=1s\n"
    "series 1 scope=process:1 name=cpu_ns\n"
    "series 2 scope=thread:1 name=cpu_ns\n"
    "ramp 1 to=20s slope=990ms/s\n"
    "ramp 2 to=20s slope=990ms/s\n"
    "series 5 group=1 scope=machine name=cpu_user_ns\n"
    "series 6 group=1 scope=machine name=cpu_idle_ns\n"
    "ramp 5 to=20s slope=1s/s\n"
    "ramp 6 to=20s slope=3s/s\n";

// A counter of process 2 in this group, ten times as often as the rest.
std::string CounterIn(uint32_t group) {
  return "series 9 group=" + std::to_string(group) +
         " scope=process:2 name=queue unit=1 kind=gauge\n"
         "ramp 9 to=20s step=10ms slope=1\n";
}

TEST(ScanTest, TicksOfAGroupAreToldFromThoseOfAnyOther) {
  const Facts few = FactsOfText(kBusy, CounterIn(10));
  // 64 more than the group of the processes.
  const Facts many = FactsOfText(kBusy, CounterIn(66));
  EXPECT_EQ(many.ticks, few.ticks);
  ASSERT_EQ(many.windows.size(), few.windows.size());
  for (size_t i = 0; i < few.windows.size(); ++i)
    EXPECT_NEAR(many.windows[i].thread_cores, few.windows[i].thread_cores, 1e-6)
        << i;
}

// A sleeping program that counts under names which samplers use as well.
constexpr std::string_view kIdle =
    "meta cores 2\nmeta allowed_cores 2\nmeta rate_hz 10\n"
    "process 1 pid=10 name=idle start=0s end=20s exit=0\n"
    "thread 1 process=1 tid=10 name=idle start=0s end=20s\n"
    "series 1 scope=process:1 name=cpu_ns\n"
    "series 2 scope=process:1 name=rss_bytes kind=gauge\n"
    "series 3 scope=process:1 name=read_bytes\n"
    "series 4 scope=thread:1 name=cpu_ns\n"
    "ramp 1 to=20s slope=1ms/s\n"
    "ramp 2 to=20s slope=1\n"
    "ramp 3 to=20s slope=1\n"
    "ramp 4 to=20s slope=1ms/s\n"
    "series 5 group=1 scope=machine name=cpu_user_ns\n"
    "series 6 group=1 scope=machine name=cpu_idle_ns\n"
    "ramp 5 to=20s slope=1ms/s\n"
    "ramp 6 to=20s slope=2s/s\n";
constexpr std::string_view kItsCounters =
    "series 11 group=8 source=api scope=process:1 name=cpu_ns\n"
    "series 12 group=8 source=api scope=process:1 name=rss_bytes kind=gauge\n"
    "series 13 group=8 source=api scope=process:1 name=read_bytes\n"
    "series 14 group=8 source=api scope=thread:1 name=cpu_ns\n"
    "series 15 group=8 source=api scope=thread:1 name=wait_ns\n"
    "series 16 group=8 source=api scope=machine name=cpu_user_ns\n"
    "series 17 group=8 source=api scope=machine name=cpu_idle_ns label=7\n"
    "series 18 group=8 source=api scope=machine name=disk_busy_ns label=sda\n"
    "series 19 group=8 source=api scope=machine name=psi_io_some_ns\n"
    "series 20 group=8 source=api scope=machine name=net_rx_bytes label=eth0\n"
    "series 21 group=8 source=api scope=machine name=cgroup_oom_kills "
    "label=/a\n"
    "series 22 group=8 source=api scope=device:0 name=gpu_busy_pct kind=gauge\n"
    "series 23 group=8 source=api scope=process:1 name=gpu_mem_used_bytes "
    "kind=gauge\n"
    "ramp 11 to=20s step=10ms slope=4s/s\n"
    "ramp 12 to=20s step=10ms slope=5000000000\n"
    "ramp 13 to=20s step=10ms slope=10000000000\n"
    "ramp 14 to=20s step=10ms slope=4s/s\n"
    "ramp 15 to=20s step=10ms slope=4s/s\n"
    "ramp 16 to=20s step=10ms slope=2s/s\n"
    "ramp 17 to=20s step=10ms slope=1s/s\n"
    "ramp 18 to=20s step=10ms slope=1s/s\n"
    "ramp 19 to=20s step=10ms slope=1s/s\n"
    "ramp 20 to=20s step=10ms slope=1000000000\n"
    "ramp 21 to=20s step=10ms slope=1\n"
    "ramp 22 to=20s step=10ms slope=5\n"
    "ramp 23 to=20s step=10ms slope=5\n";

TEST(ScanTest, CountersOfAProgramAreNotTakenForOurs) {
  const Facts alone = FactsOfText(kIdle);
  const Facts facts = FactsOfText(kIdle, kItsCounters);
  EXPECT_EQ(facts.run.cpu_ns, alone.run.cpu_ns);
  EXPECT_EQ(facts.ticks, alone.ticks);
  EXPECT_EQ(facts.machine.cores, alone.machine.cores);
  EXPECT_EQ(facts.machine.busy_cores, alone.machine.busy_cores);
  ASSERT_EQ(facts.processes.size(), 1u);
  EXPECT_EQ(facts.processes[0].rss_peak_bytes,
            alone.processes[0].rss_peak_bytes);
  EXPECT_EQ(facts.processes[0].io.read_bytes, alone.processes[0].io.read_bytes);
  EXPECT_TRUE(facts.devices.empty());
  EXPECT_TRUE(facts.cgroups.empty());
  ASSERT_EQ(facts.series->all.size(), alone.series->all.size());
  for (size_t i = 0; i < alone.series->all.size(); ++i) {
    EXPECT_EQ(facts.series->all[i].name, alone.series->all[i].name);
    EXPECT_EQ(facts.series->all[i].values, alone.series->all[i].values)
        << alone.series->all[i].name;
  }
  EXPECT_EQ(Judge(facts).verdict, Judge(alone).verdict);
  EXPECT_EQ(AnnotationsOf(*facts.store).counters.size(), 4u)
      << "of the process";
}

// Process 1 uses 0.5 of a core for 30 s and waits as long; the machine's core
// is as busy. Ten seconds in a chunk.
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
  row.kind = Series::Kind::kTotal;
  row.group = 2;
  row.scope = Series::Scope::kProcess;
  row.scope_id = 1;
  row.name = writer->Intern("cpu_ns");
  row.source = writer->Intern("tasks");
  const uint32_t cpu = writer->AddSeries(row);
  row.source = writer->Intern("machine");
  row.group = 1;
  row.scope = Series::Scope::kMachine;
  row.scope_id = 0;
  row.name = writer->Intern("cpu_user_ns");
  const uint32_t user = writer->AddSeries(row);
  for (int tick = 0; tick < 300; ++tick) {
    for (const uint32_t group : {1, 2}) {
      writer->BeginTick(group, tick * 100 * kNsPerMs);
      writer->Set(group == 1 ? user : cpu, tick * 50 * kNsPerMs);
      writer->EndTick();
    }
    if (tick % 100 == 99) writer->Seal();
  }
  CHECK(writer->Close().ok());
  return bytes;
}

TEST(ScanTest, InALostChunkNothingIsKnown) {
  const Facts whole = FactsOf(Store::OfBytes(ThreeChunks(), "made").Take());
  // The second chunk of each group: chunks are sealed together.
  const auto bytes = WithDamagedCounters(ThreeChunks(), {2, 3});
  const Facts facts = FactsOf(Store::OfBytes(bytes, "made").Take());
  ASSERT_EQ(facts.windows.size(), whole.windows.size());
  for (const CpuWindow& w : facts.windows) {
    // From the last tick before to the first after. The last of all is at 29.9.
    const bool lost = w.from_ns >= 9900 * kNsPerMs && w.to_ns <= 20 * kNsPerSec;
    if (w.from_ns >= 29900 * kNsPerMs) break;
    EXPECT_EQ(w.known, !lost) << w.from_ns;
    EXPECT_EQ(w.machine_known, !lost) << w.from_ns;
    if (lost) {
      EXPECT_EQ(w.tree_cores, 0) << w.from_ns;
      EXPECT_EQ(w.thread_cores, 0) << w.from_ns;
    } else if (w.from_ns > 0) {
      EXPECT_NEAR(w.tree_cores, 0.5, 1e-6) << w.from_ns;
    }
  }
  EXPECT_EQ(facts.processes[0].cpu_ns, whole.processes[0].cpu_ns)
      << "a total is known whoever saw it grow";
}

TEST(ScanTest, TheCountersAreDecodedOnce) {
  const auto store = Store::OfBytes(ThreeChunks(), "made").Take();
  const Facts facts = FactsOf(store);
  EXPECT_EQ(store->counter_decodes(), store->counter_chunks().size());
}

}  // namespace
}  // namespace sonde

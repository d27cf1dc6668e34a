// verdict_bench [--quick]
//
// How long the verdict takes after a recording: one hour at ten samples a
// second, 20 processes, 8 GPUs, about ten million values. From opening the
// trace to the findings, as `sonde run` does it at the end.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "analyze/judge.h"
#include "base/check.h"
#include "base/time.h"
#include "trace/sources.h"
#include "trace/writer.h"

namespace sonde {
namespace {

constexpr int64_t kBeginNs = 1'000 * kNsPerSec;
constexpr int kProcesses = 20, kCores = 16, kGpus = 8;

uint32_t AddSeries(TraceWriter& out, uint32_t group, Series::Scope scope,
                   uint32_t scope_id, const char* name, bool total,
                   const std::string& label = "") {
  Series row;
  row.group = group;
  row.scope = scope;
  row.scope_id = scope_id;
  row.name = out.Intern(name);
  row.label = out.Intern(label);
  row.kind = total ? Series::Kind::kTotal : Series::Kind::kGauge;
  row.source = out.Intern(scope == Series::Scope::kMachine  ? source::kMachine
                          : scope == Series::Scope::kDevice ? source::kDevices
                                                            : source::kTasks);
  return out.AddSeries(row);
}

// What is sampled of one thing, and how much it grows at a tick.
struct Value {
  uint32_t series;
  int64_t step;  // 0: a gauge that wavers
  int64_t value = 0;
};

std::vector<Value> ProcessValues(TraceWriter& out, uint32_t number) {
  std::vector<Value> values;
  for (const char* name : {"cpu_ns", "cpu_user_ns", "cpu_system_ns"})
    values.push_back(
        {AddSeries(out, 2, Series::Scope::kProcess, number, name, true),
         60'000'000});
  for (const char* name :
       {"read_chars", "write_chars", "read_bytes", "write_bytes", "read_calls"})
    values.push_back(
        {AddSeries(out, 2, Series::Scope::kProcess, number, name, true), 9999});
  values.push_back(
      {AddSeries(out, 2, Series::Scope::kProcess, number, "rss_bytes", false),
       0});
  Thread thread;
  thread.number = number;
  thread.process = number;
  thread.tid = static_cast<int32_t>(number);
  thread.start_ns = kBeginNs;
  out.PutThread(thread);
  for (const char* name : {"cpu_ns", "wait_ns"})
    values.push_back(
        {AddSeries(out, 2, Series::Scope::kThread, number, name, true),
         60'000'000});
  return values;
}

// Returns how many values are in it.
uint64_t Make(const std::string& path, int64_t ticks) {
  auto created = TraceWriter::Create(path, FileHeader{}, {});
  CHECK(created.ok());
  const auto out = created.Take();
  const int64_t end_ns = kBeginNs + ticks * 100 * kNsPerMs;
  for (const auto& [key, value] :
       {std::pair<const char*, int64_t>{"started_ns", kBeginNs},
        {"ended_ns", end_ns},
        {"cores", kCores},
        {"allowed_cores", kCores}})
    out->PutMeta(key, std::to_string(value));
  std::vector<Value> groups[6];
  for (uint32_t number = 1; number <= kProcesses; ++number) {
    Process process;
    process.number = number;
    process.parent = number == 1 ? 0 : 1;
    process.pid = static_cast<int32_t>(number);
    process.start_ns = kBeginNs;
    process.name = out->Intern("worker");
    out->PutProcess(process);
    const auto values = ProcessValues(*out, number);
    groups[2].insert(groups[2].end(), values.begin(), values.end());
  }
  for (int core = 0; core < kCores; ++core)
    for (const char* name : {"cpu_user_ns", "cpu_idle_ns"})
      groups[1].push_back({AddSeries(*out, 1, Series::Scope::kMachine, 0, name,
                                     true, std::to_string(core)),
                           50'000'000});
  for (uint32_t gpu = 0; gpu < kGpus; ++gpu)
    for (const char* name :
         {"gpu_busy_pct", "gpu_mem_busy_pct", "gpu_mem_used_bytes",
          "gpu_clock_mhz", "gpu_power_w", "gpu_temp_c"})
      groups[5].push_back(
          {AddSeries(*out, 5, Series::Scope::kDevice, gpu, name, false), 0});

  std::mt19937_64 random(1);
  uint64_t count = 0;
  for (int64_t tick = 0; tick < ticks; ++tick) {
    const int64_t now_ns = kBeginNs + tick * 100 * kNsPerMs;
    for (const uint32_t group : {1u, 2u, 5u}) {
      out->BeginTick(group, now_ns);
      for (Value& value : groups[group]) {
        const auto noise = static_cast<int64_t>(random() % 64);
        value.value =
            value.step ? value.value + value.step - noise : 30 + noise;
        out->Set(value.series, value.value);
        ++count;
      }
      out->EndTick();
    }
    if (tick % 100 == 99) out->Seal();
  }
  CHECK(out->Close().ok());
  return count;
}

int Main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  std::string folder = "/tmp/verdict_bench_XXXXXX";
  CHECK(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/t.sonde";
  const uint64_t values = Make(path, quick ? 600 : 36'000);
  std::vector<double> took_ms;
  size_t rules = 0;
  for (int round = 0; round < (quick ? 1 : 5); ++round) {
    const int64_t begin_ns = NowNs();
    auto store = Store::Open(path);
    CHECK(store.ok());
    const Facts facts = FactsOf(store.Take());
    rules = Judge(facts).rules.size();
    took_ms.push_back(static_cast<double>(NowNs() - begin_ns) / 1e6);
  }
  ::unlink(path.c_str());
  ::rmdir(folder.c_str());
  std::sort(took_ms.begin(), took_ms.end());
  const double value = took_ms[took_ms.size() / 2];
  constexpr double kLimitMs = 1000;
  std::printf(
      "{\"bar\":\"verdict_1h_ms\",\"value\":%.1f,\"unit\":\"ms\",\"limit\":%g,"
      "\"ok\":%s,\"peers\":{},\"values\":%llu,\"rules\":%zu}\n",
      value, kLimitMs, value <= kLimitMs ? "true" : "false",
      static_cast<unsigned long long>(values), rules);
  return value <= kLimitMs || quick ? 0 : 1;
}

}  // namespace
}  // namespace sonde

int main(int argc, char** argv) { return sonde::Main(argc, argv); }

// verdict_bench [--quick]
//
// What the verdict costs after a recording: one hour at ten samples a second,
// 20 processes, 8 GPUs, about ten million values. From opening the trace to the
// findings, as `sonde run` does it at the end; and how often a report reads the
// counters.

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "analyze/facts/run_patterns.h"
#include "analyze/verdict/charts.h"
#include "analyze/verdict/judge.h"
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

double CpuMs() {
  timespec now{};
  CHECK(::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
  return static_cast<double>(now.tv_sec) * 1e3 +
         static_cast<double>(now.tv_nsec) / 1e6;
}

std::shared_ptr<const Store> Open(const std::string& path) {
  auto store = Store::Open(path);
  CHECK(store.ok());
  return store.Take();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Decoding every counter chunk once and doing nothing with it: less is not
// possible.
double BareDecodeMs(const std::string& path) {
  const double begin_ms = CpuMs();
  const auto store = Open(path);
  CounterTicks ticks;
  for (const FrameRef& chunk : store->counter_chunks())
    CHECK(store->ReadTicks(chunk, ticks));
  return CpuMs() - begin_ms;
}

double VerdictMs(const std::string& path, size_t& rules) {
  const double begin_ms = CpuMs();
  const Facts facts = FactsOf(Open(path));
  rules = Judge(facts).rules.size();
  return CpuMs() - begin_ms;
}

// How often a report with its curves decodes each counter chunk.
double ReportDecodes(const std::string& path) {
  const auto store = Open(path);
  ChartLines lines;
  const Facts facts = FactsOf(store, lines.Of(store));
  const Judgement judgement = Judge(facts);
  const RunShape shape = ShapeOf(facts);
  const Charts charts = ChartsOf(facts, judgement.findings, &lines);
  CHECK(!shape.series.empty() && !charts.groups.empty());
  return static_cast<double>(store->counter_decodes()) /
         static_cast<double>(store->counter_chunks().size());
}

bool Say(const char* bar, double value, const char* unit, double limit,
         const std::string& more) {
  const bool ok = value <= limit;
  std::printf(
      "{\"bar\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",\"limit\":%g,"
      "\"ok\":%s,\"peers\":{}%s}\n",
      bar, value, unit, limit, ok ? "true" : "false", more.c_str());
  return ok;
}

int Main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  std::string folder = "/tmp/verdict_bench_XXXXXX";
  CHECK(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/t.sonde";
  const uint64_t values = Make(path, quick ? 600 : 36'000);
  std::vector<double> verdict_ms, decode_ms;
  size_t rules = 0;
  for (int round = 0; round < (quick ? 1 : 5); ++round) {
    decode_ms.push_back(BareDecodeMs(path));
    verdict_ms.push_back(VerdictMs(path, rules));
  }
  const double decodes = ReportDecodes(path);
  ::unlink(path.c_str());
  ::rmdir(folder.c_str());
  bool ok = Say("verdict_1h_ms", Median(verdict_ms), "ms of CPU", 450,
                ",\"bare_decode_ms\":" + std::to_string(Median(decode_ms)) +
                    ",\"values\":" + std::to_string(values) +
                    ",\"rules\":" + std::to_string(rules));
  ok &= Say("report_decodes", decodes, "decodes of a chunk", 1, "");
  return ok || quick ? 0 : 1;
}

}  // namespace
}  // namespace sonde

int main(int argc, char** argv) { return sonde::Main(argc, argv); }

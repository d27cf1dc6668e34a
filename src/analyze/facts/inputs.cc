#include "analyze/facts/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "analyze/facts/accelerators.h"
#include "analyze/facts/facts.h"
#include "analyze/facts/steady_series.h"
#include "analyze/series/run_series.h"

namespace sonde {
namespace {

bool HasSeries(const Collected& run, std::string_view name) {
  const RegularSeries* const series = run.facts.series->Find(name);
  return series != nullptr && (!run.steady.not_enough_data.empty() ||
                               run.series.Of(*series).collected());
}

// Links of networks that are not the command's own are in no sum of the run.
bool HasNetwork(const Collected& run) {
  const Store& store = *run.facts.store;
  return HasSeries(run, "net_receive") || HasSeries(run, "net_send") ||
         !store.Sampled(Series::Scope::kMachine, "net_rx_bytes").empty();
}

bool HasClocks(const Collected& run) {
  for (const Accelerator& one : run.accelerators.used)
    for (const char* const what : {"clock", "throttle"})
      if (run.facts.series->Find(
              fmt::format("gpu{}_{}", one.facts->index, what)) != nullptr)
        return true;
  return false;
}

// An input as a sentence calls it, and the series of the run that it is; none:
// IsThere() says how it is known.
struct Row {
  Input input;
  const char* words;  // "WORDS was not collected"
  const char* series = nullptr;
};
constexpr Row kRows[] = {
    {Input::kProcessCpu, "the CPU time of processes", "tree_cpu"},
    {Input::kThreadCpu, "the CPU time of threads"},
    {Input::kThreadWait, "how long threads waited for a core", "tree_wait"},
    {Input::kSwitches, "how often threads lost their core", "tree_switched"},
    {Input::kSleeps, "how often threads slept"},
    {Input::kCores, "how busy the cores were", "machine_cpu"},
    {Input::kAllowedCores, "how many cores the program may use"},
    {Input::kReads, "what the program read", "tree_read"},
    {Input::kWrites, "what the program wrote", "tree_write"},
    {Input::kReadCalls, "how often the program read"},
    {Input::kFaults, "how often pages came from a disk", "tree_faults"},
    {Input::kSwap, "how full swap was"},
    {Input::kMemory, "the memory of processes", "tree_memory"},
    {Input::kIoPressure, "I/O pressure"},
    {Input::kDisks, "how busy the disks were", "disk_busy"},
    {Input::kNetwork, "network traffic"},
    {Input::kThrottling, "how long the cgroup was throttled"},
    {Input::kMemoryKills, "how many processes were killed for lack of memory"},
    {Input::kReadAgain, "what the cgroup read again"},
    {Input::kShm, "how full /dev/shm was"},
    {Input::kAcceleratorUse, "how busy the accelerators were"},
    {Input::kAcceleratorMemory, "the memory of the accelerators"},
    {Input::kAcceleratorClocks, "the clock of the accelerators"},
    {Input::kStacks, "where in its code the program ran"},
};

bool IsThere(const Collected& run, const Row& row) {
  const MachineFacts& machine = run.facts.machine;
  const std::vector<Accelerator>& used = run.accelerators.used;
  const auto process = [&](bool (*test)(const ProcessFacts&)) {
    return std::any_of(run.facts.processes.begin(), run.facts.processes.end(),
                       test);
  };
  const auto cgroup = [&](bool (*test)(const CgroupFacts&)) {
    return std::any_of(run.facts.cgroups.begin(), run.facts.cgroups.end(),
                       test);
  };
  switch (row.input) {
    case Input::kThreadCpu:
      return process([](const auto& p) { return !p.threads.empty(); });
    case Input::kSleeps:
      return process([](const auto& p) { return !!p.voluntary_switches; });
    case Input::kReadCalls:
      return process([](const auto& p) { return !!p.io.read_calls; }) ||
             HasSeries(run, "tree_read_calls");
    case Input::kAllowedCores:
      return run.facts.run.capacity_cores.has_value();
    case Input::kSwap:
      return machine.swap_total_bytes.has_value();
    case Input::kShm:
      return machine.shm_total_bytes.has_value();
    case Input::kMemoryKills:
      return machine.oom_kills ||
             cgroup([](const auto& c) { return !!c.oom_kills; });
    case Input::kThrottling:
      return cgroup([](const auto& c) { return !!c.throttled_ns; });
    case Input::kReadAgain:
      return cgroup([](const auto& c) { return !!c.refaulted_pages; });
    case Input::kIoPressure:
      return HasSeries(run, "psi_io") || HasSeries(run, "cgroup_psi_io");
    case Input::kNetwork:
      return HasNetwork(run);
    case Input::kAcceleratorUse:
      return used.empty() ? HasSeries(run, "accelerator")
                          : run.accelerators.busy_known();
    case Input::kAcceleratorMemory:
      return std::any_of(used.begin(), used.end(),
                         [](const auto& one) { return one.memory_known(); });
    case Input::kAcceleratorClocks:
      return HasClocks(run);
    case Input::kStacks:
      return run.facts.code.samples > 0;
    default:
      return HasSeries(run, row.series);
  }
}

}  // namespace

std::string MissingFrom(const Collected& run, Input alternatives) {
  std::vector<const char*> words;
  for (const Row& row : kRows) {
    if ((alternatives | row.input) != alternatives) continue;
    if (IsThere(run, row)) return "";
    words.push_back(row.words);
  }
  if (words.empty()) return "";
  if (words.size() == 1) return fmt::format("{} was not collected", words[0]);
  std::string out = fmt::format("neither {}", words[0]);
  for (size_t i = 1; i < words.size(); ++i)
    out += (i + 1 < words.size() ? ", " : " nor ") + std::string(words[i]);
  return out + " was collected";
}

}  // namespace sonde

#include "export/pai/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "analyze/facts/part_series.h"
#include "analyze/series/counter_scan.h"
#include "analyze/series/run_series.h"

namespace sonde {
namespace {

constexpr double kGiB = 1 << 30, kKiB = 1 << 10;
// As many as facts.windows has at most.
constexpr size_t kMaxTableRows = 20'000;

// The first of these series that was collected, times `factor`; else one that
// knows nothing.
RegularSeries Take(const RunSeries& run,
                   std::initializer_list<std::string> names, double factor) {
  for (const std::string& name : names) {
    const RegularSeries* const found = run.Find(name);
    if (found == nullptr) continue;
    RegularSeries out = *found;
    for (double& v : out.values) v *= factor;
    return out;
  }
  RegularSeries out;
  out.grid = run.grid;
  out.values.resize(run.grid.size());
  out.known.resize(run.grid.size());
  return out;
}

// What the program may use: the machine's memory, or less by a limit.
RegularSeries MemoryTotal(const Facts& facts, const RunSeries& run) {
  RegularSeries out = Take(run, {}, 1);
  MaybeNumber bytes = facts.machine.mem_total_bytes;
  if (const MaybeNumber limit = MetaNumber(*facts.store, "memory_limit_bytes"))
    bytes = std::min(bytes.value_or(*limit), *limit);
  if (!bytes) return out;
  std::fill(out.values.begin(), out.values.end(), *bytes / kGiB);
  std::fill(out.known.begin(), out.known.end(), 1);
  return out;
}

PaiTable TableOf(const Facts& facts, const RunSeries& run) {
  PaiTable out;
  out.grid = run.grid;
  out.cpu_pct = Take(run, {"tree_cpu"}, 100);
  out.mem_used_gib = Take(run, {"cgroup_memory", "tree_memory"}, 1 / kGiB);
  out.mem_total_gib = MemoryTotal(facts, run);
  out.read_kib_s = Take(run, {"tree_read", "disk_read"}, 1 / kKiB);
  out.write_kib_s = Take(run, {"tree_write", "disk_write"}, 1 / kKiB);
  out.receive_kib_s = Take(run, {"net_receive"}, 1 / kKiB);
  out.transmit_kib_s = Take(run, {"net_send"}, 1 / kKiB);
  // Every device that the trace has, so that parts have the same ones.
  for (const DeviceFacts& device : facts.devices) {
    const std::string gpu = fmt::format("gpu{}_", device.index);
    if (facts.series->Find(gpu + "busy") == nullptr &&
        facts.series->Find(gpu + "memory") == nullptr)
      continue;
    out.gpus.push_back({Take(run, {gpu + "busy"}, 100),
                        Take(run, {gpu + "memory_busy"}, 100),
                        Take(run, {gpu + "memory"}, 1 / kGiB),
                        Take(run, {gpu + "memory_total"}, 1 / kGiB)});
    if (device.memory_peak_share)
      out.gpus.back().mem_peak_pct = *device.memory_peak_share * 100;
  }
  return out;
}

}  // namespace

PaiTable PaiTable::Part(size_t from, size_t to) const {
  PaiTable out{grid,
               cpu_pct.Part(from, to),
               mem_used_gib.Part(from, to),
               mem_total_gib.Part(from, to),
               read_kib_s.Part(from, to),
               write_kib_s.Part(from, to),
               receive_kib_s.Part(from, to),
               transmit_kib_s.Part(from, to),
               {}};
  out.grid = out.cpu_pct.grid;
  for (const Gpu& gpu : gpus)
    out.gpus.push_back(
        {gpu.busy_pct.Part(from, to), gpu.mem_busy_pct.Part(from, to),
         gpu.mem_used_gib.Part(from, to), gpu.mem_total_gib.Part(from, to)});
  return out;
}

PaiTable PaiTableOf(const Facts& facts) {
  return TableOf(facts, RunSeriesOf(facts, {}, kMaxTableRows));
}

PaiTable PaiTableOf(const Facts& facts, const Grid& grid) {
  return TableOf(facts, FineSeriesOf(facts, grid));
}

std::string PaiHeader(size_t gpus) {
  std::string out =
      "timestamp,cpu_usage(%),mem_used(GiByte),mem_total(GiByte),"
      "IO_read(KiByte/s),IO_write(KiByte/s),network_receive(KiByte/s),"
      "network_transmit(KiByte/s)";
  for (size_t i = 0; i < gpus; ++i)
    out += fmt::format(
        ",gpu_usage_{0},gpu_mem_usage_{0},gpu_mem_used_{0},gpu_mem_total_{0}",
        i);
  return out + "\n";
}

std::string PaiLine(const PaiTable& table, size_t window) {
  const int64_t end =
      std::min(table.grid.TimeOf(window + 1), table.grid.end_ns);
  std::string out = fmt::format(
      "{:.6f}", static_cast<double>(Elapsed(table.grid.begin_ns, end)) / 1e9);
  const auto cell = [&](const RegularSeries& column) {
    out += ',';
    if (column.known[window])
      fmt::format_to(std::back_inserter(out), "{:.7g}", column.values[window]);
  };
  for (const RegularSeries* column :
       {&table.cpu_pct, &table.mem_used_gib, &table.mem_total_gib,
        &table.read_kib_s, &table.write_kib_s, &table.receive_kib_s,
        &table.transmit_kib_s})
    cell(*column);
  for (const PaiTable::Gpu& gpu : table.gpus)
    for (const RegularSeries* column : {&gpu.busy_pct, &gpu.mem_busy_pct,
                                        &gpu.mem_used_gib, &gpu.mem_total_gib})
      cell(*column);
  return out + "\n";
}

}  // namespace sonde

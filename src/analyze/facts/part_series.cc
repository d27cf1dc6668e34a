#include "analyze/facts/part_series.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace sonde {
namespace {

// A machine with more of them is none that a user looks at by interface.
constexpr size_t kMostLinks = 256;

double SumOf(const RegularSeries& series) {
  return std::accumulate(series.values.begin(), series.values.end(), 0.0);
}

// What a dead process had is no value of 0.
void CutToLife(RegularSeries& series, const Process& process) {
  for (size_t i = 0; i < series.size(); ++i) {
    const int64_t from_ns = series.grid.TimeOf(i);
    if (from_ns < process.start_ns ||
        (process.end_ns != kNoTime &&
         from_ns + series.grid.step_ns > process.end_ns)) {
      series.known[i] = 0;
      series.values[i] = 0;
    }
  }
}

// On a replay of its own, over the chunks of the grid's time.
RunSeries ReadRun(const Facts& facts, const Grid& grid, bool fine) {
  RunSeriesReader reader(*facts.store, facts.run, grid, fine);
  CounterReplay replay(*facts.store, CounterSums::Reach(*facts.store, grid));
  reader.Join(replay);
  replay.Run();
  RunSeries out = reader.Take(fine ? std::vector<CpuWindow>() : facts.windows);
  PutAccelerator(facts.devices, *facts.series, out);
  return out;
}

}  // namespace

RegularSeries JudgedOf(const Facts& facts, RegularSeries series) {
  for (size_t i = 0; i < series.size(); ++i) {
    if (facts.run.Judges(series.grid.TimeOf(i))) break;
    series.known[i] = 0;
    series.values[i] = 0;
  }
  return series;
}

RunSeries RunSeriesOf(const Facts& facts, TimeRange range, size_t max_windows) {
  const int64_t width =
      facts.windows.empty()
          ? 1
          : Elapsed(facts.windows[0].from_ns, facts.windows[0].to_ns);
  const Grid grid =
      Grid::Over(std::max(range.begin_ns, facts.run.begin_ns),
                 std::min(range.end_ns, facts.run.end_ns), width, max_windows);
  return grid.size() == 0 ? RunSeries{grid, {}} : ReadRun(facts, grid, false);
}

RunSeries FineSeriesOf(const Facts& facts, const Grid& grid) {
  return ReadRun(facts, grid, true);
}

std::vector<RegularSeries> SumCounters(const Facts& facts, const Grid& grid,
                                       const std::vector<CounterSum>& sums) {
  CounterSums out(*facts.store, facts.run, grid, sums);
  CounterReplay replay(*facts.store, CounterSums::Reach(*facts.store, grid));
  out.Join(replay);
  replay.Run();
  return out.Take();
}

std::vector<Link> LinksOf(const Facts& facts) {
  std::set<std::string> labels;
  for (const auto& [id, row] : facts.store->series()) {
    const std::string_view counter = facts.store->Str(row.name);
    if (!facts.store->OfProgram(row) && row.scope == Series::Scope::kMachine &&
        labels.size() < kMostLinks &&
        (counter == "net_rx_bytes" || counter == "net_tx_bytes"))
      labels.emplace(facts.store->Str(row.label));
  }
  std::vector<CounterSum> sums;
  for (const std::string& label : labels)
    for (const char* const counter : {"net_rx_bytes", "net_tx_bytes"})
      sums.push_back({label, "bytes/s", Series::Scope::kMachine, counter, 1e9,
                      std::nullopt, label});
  std::vector<RegularSeries> series =
      SumCounters(facts, facts.series->grid, sums);
  std::vector<Link> out;
  for (size_t i = 0; i + 1 < series.size(); i += 2)
    out.push_back(
        {sums[i].name, std::move(series[i]), std::move(series[i + 1])});
  std::stable_sort(out.begin(), out.end(), [](const Link& a, const Link& b) {
    return SumOf(a.receive) + SumOf(a.send) > SumOf(b.receive) + SumOf(b.send);
  });
  return out;
}

RegularSeries BytesOfMachine(const Facts& facts, const char* counter,
                             std::optional<std::string> cgroup) {
  return SumCounters(facts, facts.series->grid,
                     {{counter, "bytes", Series::Scope::kMachine, counter, 1,
                       std::nullopt, std::move(cgroup)}})[0];
}

std::vector<ProcessMemory> MemoryOf(const Facts& facts, double least_bytes) {
  std::vector<ProcessMemory> out;
  for (const ProcessFacts& process : facts.processes)
    if (process.rss_peak_bytes.value_or(0) >= least_bytes)
      out.push_back({&process, {}, {}});
  std::stable_sort(out.begin(), out.end(),
                   [](const ProcessMemory& a, const ProcessMemory& b) {
                     return *a.process->rss_peak_bytes >
                            *b.process->rss_peak_bytes;
                   });
  if (out.size() > kMostProcesses) out.resize(kMostProcesses);
  std::vector<CounterSum> sums;
  for (const ProcessMemory& one : out)
    for (const char* const counter : {"rss_bytes", "rss_file_bytes"})
      sums.push_back({"memory", "bytes", Series::Scope::kProcess, counter, 1,
                      one.process->row.number});
  std::vector<RegularSeries> series =
      SumCounters(facts, facts.series->grid, sums);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].bytes = std::move(series[2 * i]);
    out[i].file_bytes = std::move(series[2 * i + 1]);
    CutToLife(out[i].bytes, out[i].process->row);
  }
  return out;
}

}  // namespace sonde

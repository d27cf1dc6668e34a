#include "export/pai/votes.h"

#include <algorithm>

#include "analyze/pattern/alternation.h"
#include "analyze/series/counter_scan.h"
#include "base/time.h"

namespace sonde {
namespace {

// Its thresholds.
constexpr int64_t kMostFineNs = 3 * 86'400 * kNsPerSec;
constexpr double kFreeBusyPct = 85, kFullMemory = 0.80;
constexpr double kIdleMemory = 0.01, kUnevenMemory = 0.15;
constexpr double kMost = 80, kSeveral = 30;  // percent of the windows

constexpr int64_t kLeastStepNs = 100'000'000;
constexpr int64_t kWindowsAtOnce = 100;  // of a long run are in memory

// Equal values have exactly themselves as their mean: limits are compared.
MaybeNumber MeanOf(const RegularSeries& series) {
  const std::vector<double> known = series.KnownValues();
  if (known.empty()) return {};
  double sum = 0;
  for (const double v : known) sum += v - known[0];
  return known[0] + sum / static_cast<double>(known.size());
}

// Of a GPU's memory, the share that is in use.
MaybeNumber MemoryOf(const PaiTable::Gpu& gpu) {
  const MaybeNumber used = MeanOf(gpu.mem_used_gib);
  const MaybeNumber total = MeanOf(gpu.mem_total_gib);
  if (!used || !total || *total <= 0) return {};
  return *used / *total;
}

bool Uneven(const PaiTable& window) {
  std::vector<double> shares;
  for (const PaiTable::Gpu& gpu : window.gpus)
    if (const MaybeNumber share = MemoryOf(gpu)) shares.push_back(*share);
  if (shares.size() < 2) return false;
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  if (*most < kIdleMemory) return false;
  return *most - *least > kUnevenMemory ||
         (*most - *least) / *most > kUnevenMemory;
}

bool TakesTurns(const PaiTable& window, const PaiTable::Gpu& gpu) {
  for (const RegularSeries* other :
       {&window.cpu_pct, &window.read_kib_s, &window.receive_kib_s})
    if (AlternationOf(*other, gpu.busy_pct).found()) return true;
  return false;
}

// Of whole rows.
int64_t WindowOf(int64_t step_ns) {
  return std::max<int64_t>(1, (kPaiWindowNs + step_ns / 2) / step_ns) * step_ns;
}

// The windows of a table that begins with one.
void AddWindows(const PaiTable& table, PaiVotes& out) {
  const size_t rows = table.grid.size();
  const auto step = static_cast<size_t>(out.window_ns / table.grid.step_ns);
  for (size_t from = 0; from < rows; from += step) {
    const size_t to = std::min(from + step, rows);
    if (2 * (to - from) >= step || out.total == 0)
      out.Add(table.Part(from, to));
  }
}

// The time between samples, but no less than the kernel's counters are good
// for. 0 if the trace does not tell.
int64_t SampledEvery(const Store& store) {
  const double rate_hz = MetaNumber(store, "rate_hz").value_or(0);
  if (!(rate_hz > 0)) return 0;
  return std::max(kLeastStepNs,
                  static_cast<int64_t>(std::min(1e9 / rate_hz, kMaxValue)));
}

}  // namespace

const char* PaiText(size_t phenomenon) {
  static constexpr const char* kTexts[kPaiPhenomena] = {
      "There is mal-distribution of the GPU memory between the multiple GPUs.",
      "Both the GPU and GPU memory have free resource.",
      "GPU memory is full, but the GPU utilization has free resource.",
      "IO, CPU and GPU raise alternately."};
  return kTexts[phenomenon];
}

const char* PaiRemedy(size_t phenomenon) {
  static constexpr const char* kRemedies[kPaiPhenomena] = {
      "let every GPU hold the same: ring all-reduce (Horovod, DDP) instead of "
      "one master",
      "a larger batch, or fused kernels (XLA, torch.compile)",
      "fused kernels or lower precision; the batch does not fit twice",
      "load the next batch while this one computes: DataLoader workers and "
      "pin_memory, tf.data prefetch"};
  return kRemedies[phenomenon];
}

std::array<bool, kPaiPhenomena> PaiJudge(const PaiTable& window) {
  std::array<bool, kPaiPhenomena> out{Uneven(window)};
  for (const PaiTable::Gpu& gpu : window.gpus) {
    const MaybeNumber busy = MeanOf(gpu.busy_pct);
    if (!busy || *busy >= kFreeBusyPct) continue;
    if (const MaybeNumber memory = MemoryOf(gpu))
      out[*memory < kFullMemory ? 1 : 2] = true;
    out[3] = out[3] || TakesTurns(window, gpu);
  }
  return out;
}

void PaiVotes::Add(const PaiTable& window) {
  const std::array<bool, kPaiPhenomena> shown = PaiJudge(window);
  for (size_t i = 0; i < kPaiPhenomena; ++i)
    if (shown[i]) windows[i].push_back(total);
  ++total;
}

const char* PaiVotes::Word(size_t phenomenon) const {
  if (total == 0) return "NO";
  const double weight = static_cast<double>(windows[phenomenon].size()) * 100 /
                        static_cast<double>(total);
  return weight >= kMost      ? "MOST"
         : weight >= kSeveral ? "SEVERAL"
         : weight > 0         ? "A LITTLE"
                              : "NO";
}

PaiVotes PaiVotesOf(const PaiTable& table) {
  PaiVotes out;
  out.window_ns = WindowOf(table.grid.step_ns);
  AddWindows(table, out);
  return out;
}

PaiVotes PaiVotesOf(const Facts& facts, const PaiTable& table) {
  const int64_t step_ns = SampledEvery(*facts.store);
  if (step_ns == 0 || table.grid.step_ns <= step_ns ||
      Elapsed(table.grid.begin_ns, table.grid.end_ns) > kMostFineNs)
    return PaiVotesOf(table);
  PaiVotes out;
  out.window_ns = WindowOf(step_ns);
  const int64_t part_ns = kWindowsAtOnce * out.window_ns;
  for (int64_t from = table.grid.begin_ns; from < table.grid.end_ns;) {
    const int64_t left = Elapsed(from, table.grid.end_ns);
    const int64_t to = from + std::min(part_ns, left);
    AddWindows(PaiTableOf(facts, {from, to, step_ns}), out);
    from = to;
  }
  return out;
}

}  // namespace sonde

// gpu_underused, gpu_fluctuating and problem_too_small: does an accelerator do
// less than it could, and in which way?
//
// All three are symptoms: other rules say why, and come first (rules.cc).
//  - gpu_underused: of kChunks equal parts of the judged time, kMinTime are
//    less than kHalf busy.
//  - gpu_fluctuating: busy by kHigh at its best (p95) and by less than kLow at
//    its worst (p5). A device that is well used on the whole may rest.
//  - problem_too_small: neither the CPU nor any device nor its memory is used
//    by more than kHigh, even at its best (p95).

#include <fmt/format.h>

#include <algorithm>

#include "analyze/facts/accelerators.h"
#include "analyze/facts/part_series.h"
#include "analyze/pattern/period.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "analyze/series/run_series.h"
#include "base/shell_word.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kHalf = 0.50;
constexpr size_t kChunks = 30;
constexpr double kMinTime = 0.60;
constexpr double kHigh = 0.70;
constexpr double kLow = 0.10;

void SayBusy(Finding& f, const Accelerator& d) {
  const std::vector<double> values = d.busy.KnownValues();
  Say(f, fmt::format("{} was busy {} of the time; for 5 % of it at most {}, "
                     "for 95 % at most {}.",
                     d.Call(), FormatShare(d.busy_mean),
                     FormatShare(Quantile(values, 0.05)),
                     FormatShare(Quantile(values, 0.95))));
}

std::string Duration(double seconds) {
  return FormatDuration(static_cast<int64_t>(seconds * 1e9));
}

// The parts of the judged time that are less than half busy: their share, and
// the longest stretch of them as windows.
struct LowParts {
  double share = 0;
  size_t from = 0, to = 0;
};
LowParts LowPartsOf(const RegularSeries& busy) {
  const size_t parts = std::min(kChunks, busy.size());
  LowParts out;
  size_t low = 0, known = 0, begin = 0;
  bool open = false;
  for (size_t i = 0; i < parts; ++i) {
    const size_t from = i * busy.size() / parts;
    const size_t to = (i + 1) * busy.size() / parts;
    const RegularSeries part = busy.Part(from, to);
    const bool has = part.KnownCount() > 0;
    const bool is_low = has && part.Mean() < kHalf;
    known += has;
    low += is_low;
    if (is_low && !open) begin = from;
    open = is_low;
    if (is_low && to - begin > out.to - out.from) {
      out.from = begin;
      out.to = to;
    }
  }
  out.share =
      known > 0 ? static_cast<double>(low) / static_cast<double>(known) : 0;
  return out;
}

}  // namespace

Outcome GpuUnderused(const Case& about) {
  const Accelerators& devices = about.accelerators();
  std::vector<const Accelerator*> low;
  Finding f = FindingIn(devices.from_ns, devices.to_ns);
  double worst = 1;
  for (const Accelerator& d : devices.used) {
    if (!d.busy_known()) continue;
    const LowParts parts = LowPartsOf(d.busy);
    if (parts.share < kMinTime || d.busy_mean >= kHalf) continue;
    low.push_back(&d);
    worst = std::min(worst, d.busy_mean);
    SayBusy(f, d);
    f.evidence.push_back(
        {fmt::format("The device was less than half busy in {} of the time; "
                     "this is the longest such stretch.",
                     FormatShare(parts.share)),
         d.busy.grid.TimeOf(parts.from), d.busy.grid.TimeOf(parts.to)});
  }
  if (low.empty()) return {};
  PutNumber(f, "busy", worst, Unit::kShare);
  f.summary = fmt::format("{} {} used by {} only.", CallDevices(low),
                          low.size() == 1 ? "is" : "are", FormatShare(worst));
  f.advice =
      "The accelerator waits for the program most of the time. Give the "
      "accelerator more at once (a larger batch), load the next data while "
      "it computes (prefetching loaders, asynchronous copies), and avoid "
      "waiting for its results in every step (.item(), print(loss), .cpu()).";
  f.confidence = 0.8;
  return {{std::move(f)}, ""};
}

Outcome GpuFluctuating(const Case& about) {
  const Facts& facts = about.facts();
  const Accelerators& devices = about.accelerators();
  std::vector<const Accelerator*> unsteady;
  Finding f = FindingIn(devices.from_ns, devices.to_ns);
  MaybeNumber period_s;
  double idle = 0;
  for (const Accelerator& d : devices.used) {
    const std::vector<double> values = d.busy.KnownValues();
    if (values.empty() || d.busy_mean >= kWellUsed ||
        Quantile(values, 0.95) < kHigh || Quantile(values, 0.05) >= kLow)
      continue;
    unsteady.push_back(&d);
    idle = std::max(idle, 1 - d.busy_mean);
    SayBusy(f, d);
    if (const auto period = PeriodOf(d.busy)) {
      period_s = period->seconds;
      Say(f, fmt::format("The device rests every {} ({:.0f} times).",
                         Duration(*period_s), period->cycles));
    }
  }
  if (unsteady.empty()) return {};
  f.summary =
      fmt::format("{} {} to rest and to full work in turns{}.",
                  CallDevices(unsteady), unsteady.size() == 1 ? "goes" : "go",
                  period_s ? ", again every " + Duration(*period_s) : "");
  PutNumber(f, "idle", idle, Unit::kShare);
  PutNumber(f, "period", period_s, Unit::kSeconds);
  f.advice =
      "Something stops the accelerator again and again. Find what the program "
      "does at these moments: loading the next batch (prefetch it), "
      "checkpoints, evaluation or logging (do them less often, or in a thread "
      "of their own). All curves one above the other: sonde export " +
      ShellWord(facts.store->path(), 4096) + " --to chrome";
  f.gain = Gain{idle * devices.OfRun(facts), "if the accelerator never rested"};
  f.confidence = period_s ? 0.9 : 0.7;
  return {{std::move(f)}, ""};
}

Outcome ProblemTooSmall(const Case& about) {
  const Facts& facts = about.facts();
  const Accelerators& devices = about.accelerators();
  const std::vector<double> cores =
      JudgedOf(facts, *facts.series->Find("tree_cpu")).KnownValues();
  const double cpu_high = Quantile(cores, 0.95) / *facts.run.capacity_cores;
  if (cores.empty() || cpu_high >= kHigh) return {};
  Finding f = FindingIn(devices.from_ns, devices.to_ns);
  double busiest = 0, fullest = 0;
  for (const Accelerator& d : devices.used) {
    // Memory that nobody knows of may be full.
    if (!d.busy_known() || !d.memory_known()) return {};
    const double busy = Quantile(d.busy.KnownValues(), 0.95);
    const double memory = Quantile(d.memory.KnownValues(), 0.95);
    if (busy >= kHigh || memory >= kHigh) return {};
    busiest = std::max(busiest, busy);
    fullest = std::max(fullest, memory);
    Say(f,
        fmt::format("{}: for 95 % of the time at most {} busy, at most {} of "
                    "its memory used.",
                    d.Call(), FormatShare(busy), FormatShare(memory)));
  }
  SayOfRun(
      f, facts,
      fmt::format("The program used at most {} of the cores it may use, for "
                  "95 % of the time.",
                  FormatShare(cpu_high)));
  PutNumber(f, "busy_p95", busiest, Unit::kShare);
  PutNumber(f, "memory_p95", fullest, Unit::kShare);
  PutNumber(f, "cpu_p95", cpu_high, Unit::kShare);
  f.summary =
      "The problem is small for this machine: neither the cores nor the "
      "accelerator nor its memory are used to capacity.";
  f.advice =
      "Raise the batch size until the accelerator or its memory is full (watch "
      "the loss: the learning rate may have to follow), run several "
      "experiments side by side, or use a smaller machine for the same speed.";
  f.confidence = 0.7;
  return {{std::move(f)}, ""};
}

}  // namespace sonde

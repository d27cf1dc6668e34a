// swapping: does it wait for memory that was moved to disk?
//
// Evidence: swap is in use; for at least kMinTime of the steady part the
// program's own pages had to come back from a disk (kMinFaults a second) while
// something waited for memory (kWaits of the time). On a disk that neighbours
// keep busy the kernel counts the same waiting as pressure on I/O: there the
// program's own threads were blocked (kBlocked), and swap filled by kMinSwapped
// during the run, which is also asked where pressure is not known. Pages come
// from files that are mapped too: without swap they are no finding.

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analyze/facts/steady_series.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kMinTime = 0.20;
constexpr double kMinFaults = 50;
constexpr double kWaits = 0.05;  // a fast disk makes even thrashing wait 10 %
constexpr double kBlocked = 0.30;
constexpr double kMinSwapped = 64e6;

// By how much swap filled between two moments of the run.
double SwappedIn(const Facts& facts) {
  const RegularSeries* const free = facts.series->Find("swap_free");
  if (free == nullptr) return 0;
  const std::vector<double> values = free->KnownValues();
  return Quantile(values, 1) - Quantile(values, 0);
}

}  // namespace

Outcome Swapping(const Case& about) {
  const Facts& facts = about.facts();
  const Steady& steady = about.steady();
  const SteadySeries& series = about.series();
  const SeriesView faults = series.Find("tree_faults");
  const SeriesView psi = series.Find("psi_memory");
  const SeriesView blocked = series.Find("tree_blocked");
  const double used = facts.machine.swap_peak_bytes.value_or(0);
  if (used <= 0) return {};
  const bool filled = SwappedIn(facts) >= kMinSwapped;
  const auto held_up = [&](size_t i) {
    if (filled && (!psi.collected() || blocked.At(i) >= kBlocked)) return true;
    return psi.At(i) >= kWaits;
  };
  const double time = series.ShareWhere(
      [&](size_t i) { return faults.At(i) >= kMinFaults && held_up(i); });
  if (time < kMinTime) return {};

  Finding f = FindingIn(steady.from_ns, steady.to_ns);
  f.summary = fmt::format(
      "Short of memory: {:.0f} pages of the program a second had to come "
      "back from swap.",
      faults.Mean());
  Say(f, fmt::format("The swapping went on for {:.0f} % of the steady time; "
                     "{} of {} swap were in use.",
                     time * 100, FormatBytes(used),
                     FormatBytes(*facts.machine.swap_total_bytes)));
  PutTime(f, time);
  PutNumber(f, "faults", faults.Mean(), Unit::kPerSecond);
  PutNumber(f, "swap_used", used, Unit::kBytes);
  if (psi.collected())
    PutNumber(f, "waited", std::min(1.0, psi.Mean()), Unit::kShare);
  if (blocked.collected())
    PutNumber(f, "blocked", std::min(1.0, blocked.Mean()), Unit::kShare);
  if (psi.Mean() >= kWaits)
    Say(f, fmt::format("Something waited for memory {} of the time.",
                       FormatShare(std::min(1.0, psi.Mean()))));
  if (blocked.Mean() >= kBlocked)
    Say(f, fmt::format("The program's own threads were blocked {} of the "
                       "time.",
                       FormatShare(std::min(1.0, blocked.Mean()))));
  f.advice =
      "A page from swap costs a thousand times what one in memory costs. Use "
      "less memory at a time (smaller batches, fewer workers, data types of "
      "half the size), end what else runs (`ps -eo rss,pid,args --sort=-rss | "
      "head`), or get more memory.";
  const double waited =
      psi.collected() ? std::max(psi.Mean(), std::min(1.0, blocked.Mean()))
                      : time;
  PutGain(f, waited * series.OfRun(), "if nothing waited for memory");
  f.confidence = psi.collected() ? 0.9 : 0.6;
  return {{std::move(f)}, ""};
}

}  // namespace sonde

#include "analyze/phase_marks.h"

#include <algorithm>

#include "analyze/pattern/phases.h"
#include "base/text.h"

namespace sonde {
namespace {

// Means of so many windows together that there are at most kMaxWindows.
RegularSeries Coarser(const RegularSeries& series) {
  const size_t factor =
      (series.size() + Grid::kMaxWindows - 1) / Grid::kMaxWindows;
  if (factor <= 1) return series;
  RegularSeries out{series.name, series.unit, series.grid, {}, {}};
  out.grid.step_ns *= static_cast<int64_t>(factor);
  for (size_t from = 0; from < series.size(); from += factor) {
    const size_t to = std::min(from + factor, series.size());
    double sum = 0;
    size_t known = 0;
    for (size_t i = from; i < to; ++i) {
      if (!series.known[i]) continue;
      sum += series.values[i];
      ++known;
    }
    out.known.push_back(2 * known >= to - from);
    out.values.push_back(out.known.back() ? sum / static_cast<double>(known)
                                          : 0);
  }
  return out;
}

const RegularSeries* IfKnown(const RegularSeries& series) {
  return series.KnownCount() > 0 ? &series : nullptr;
}

}  // namespace

std::vector<ChartMark> MarksOf(const Facts& facts,
                               const std::vector<Finding>& findings,
                               const RegularSeries& cpu,
                               const RegularSeries& accelerator,
                               const RegularSeries& written) {
  using Kind = ChartMark::Kind;
  std::vector<ChartMark> out;
  const RegularSeries use[] = {Coarser(cpu), Coarser(accelerator),
                               Coarser(written)};
  const Phases phases =
      PhasesOf({IfKnown(use[0]), IfKnown(use[1]), IfKnown(use[2])});
  for (const Phase& phase : phases.list)
    out.push_back({Kind::kPhase, phase.from_ns, phase.to_ns,
                   std::string(NameOf(phase.kind)), phase.reason});
  for (const Finding& finding : findings)
    if (finding.to_ns > finding.from_ns)
      out.push_back({Kind::kFinding, finding.from_ns, finding.to_ns,
                     finding.rule, finding.summary});
  for (const Loss& loss : facts.store->losses())
    if (loss.from_ns != kNoTime && loss.to_ns != kNoTime &&
        loss.to_ns >= loss.from_ns)
      out.push_back(
          {Kind::kLoss, loss.from_ns, loss.to_ns, "lost",
           Printable(loss.reason, 40) + ": " + Printable(loss.detail)});
  for (const Mark& mark : facts.marks)
    out.push_back({Kind::kMark, mark.time_ns, mark.time_ns,
                   Printable(mark.text, 40), Printable(mark.text)});
  return out;
}

}  // namespace sonde

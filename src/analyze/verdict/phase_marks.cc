#include "analyze/verdict/phase_marks.h"

#include <fmt/format.h>

#include <map>

#include "analyze/pattern/phases.h"
#include "analyze/series/run_series.h"
#include "base/text.h"

namespace sonde {

std::vector<ChartMark> MarksOf(const Facts& facts,
                               const std::vector<Finding>& findings) {
  using Kind = ChartMark::Kind;
  std::vector<ChartMark> out;
  const Phases phases = PhasesOf({facts.series->Find("tree_cpu"),
                                  facts.series->Find("accelerator"),
                                  facts.series->Find("tree_write")});
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

std::string CutMarks(std::vector<ChartMark>& marks) {
  constexpr size_t kMaxMarks = 100;
  std::map<ChartMark::Kind, size_t> counts;
  std::erase_if(marks, [&](const ChartMark& mark) {
    return ++counts[mark.kind] > kMaxMarks;
  });
  std::string out;
  for (const auto& [kind, count] : counts) {
    static constexpr const char* kKinds[] = {"phases", "findings", "losses",
                                             "marks"};
    static_assert(std::size(kKinds) ==
                  static_cast<size_t>(ChartMark::Kind::kMark) + 1);
    if (count > kMaxMarks)
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ",
                         FirstOf(kMaxMarks, count),
                         kKinds[static_cast<size_t>(kind)]);
  }
  return out;
}

std::string FirstOf(size_t drawn, size_t all) {
  return fmt::format("the first {} of {}", drawn, all);
}

}  // namespace sonde

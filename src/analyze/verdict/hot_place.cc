#include "analyze/verdict/hot_place.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/rules/weigh.h"
#include "base/text.h"
#include "store/stack_names.h"

namespace sonde {
namespace {

constexpr uint64_t kMinSamples = 20;
constexpr double kMinShare = 0.05;
constexpr std::string_view kAboutCpu[] = {
    "cpu_bound", "one_core_bound", "interpreter_bound", "oversubscribed"};

}  // namespace

void PutHotPlace(const Facts& facts, Finding& finding) {
  if (std::find(std::begin(kAboutCpu), std::end(kAboutCpu), finding.rule) ==
      std::end(kAboutCpu))
    return;
  // Functions stand with the most self time first.
  const FunctionFacts* hottest = nullptr;
  uint64_t samples = 0;
  for (const FunctionFacts& f : facts.code.functions) {
    if (finding.where.process != 0 && f.process != finding.where.process)
      continue;
    samples += f.samples;
    if (hottest == nullptr && !f.name.empty()) hottest = &f;
  }
  if (hottest == nullptr || samples < kMinSamples) return;
  // Of all that the process used, be it sampled or not.
  const ProcessFacts* const process = facts.FindProcess(hottest->process);
  if (process == nullptr || process->cpu_ns.value_or(0) <= 0) return;
  const double share = std::min(1.0, static_cast<double>(hottest->self_ns) /
                                         static_cast<double>(*process->cpu_ns));
  if (share < kMinShare) return;
  // Second: a summary shows two.
  const std::string place =
      CallPlace({hottest->name, hottest->file, "", ""}, hottest->line);
  finding.evidence.insert(
      finding.evidence.begin() + (finding.evidence.empty() ? 0 : 1),
      {fmt::format("{} of the CPU time of {} went to {}.", FormatShare(share),
                   CallProcess(*process), Printable(place, 160)),
       facts.run.begin_ns, facts.run.end_ns});
  PutNumber(finding, "in_function", share, Unit::kShare);
  finding.where.function = hottest->name;
  finding.where.file = hottest->file;
  finding.where.line = hottest->line;
}

}  // namespace sonde

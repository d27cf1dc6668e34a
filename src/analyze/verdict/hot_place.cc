#include "analyze/verdict/hot_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analyze/rules/weigh.h"
#include "analyze/verdict/function_advice.h"
#include "base/text.h"
#include "store/stack_names.h"

namespace sonde {
namespace {

constexpr uint64_t kMinSamples = 20;
constexpr double kMinShare = 0.05;
// Only of a function with so much there is something to say.
constexpr double kMinAdvised = 0.2;
// A native function with less of its caller's time is not worth a word.
constexpr double kMinBelow = 0.25;
constexpr std::string_view kAboutCpu[] = {"cpu_bound", "one_core_bound",
                                          "interpreter_bound", "oversubscribed",
                                          "small_files"};

// Where each thread stood longest, for at most this many.
constexpr size_t kMostThreads = 4;
// Of the time the finding is about.
constexpr double kStood = 0.5;

// A hang: where threads stand. Those that wait for another thread's end, or in
// no line of the program's own, come last: the others are what they wait for.
void PutStands(const Facts& facts, Finding& finding) {
  std::vector<const WaitFacts*> stands;
  const double least =
      kStood * static_cast<double>(finding.to_ns - finding.from_ns);
  const std::vector<WaitFacts> waits =
      WaitsIn(*facts.store, finding.from_ns, finding.to_ns);
  for (const WaitFacts& wait : waits)
    if ((wait.own.known() || wait.library.known()) &&
        static_cast<double>(wait.ns) >= least)
      stands.push_back(&wait);
  const auto later = [](const WaitFacts& wait) {
    return wait.kind == WaitKind::kThread || !wait.own.known();
  };
  std::stable_sort(stands.begin(), stands.end(),
                   [&](const WaitFacts* a, const WaitFacts* b) {
                     return later(*a) < later(*b);
                   });
  if (stands.size() > kMostThreads) stands.resize(kMostThreads);
  std::string text;
  for (const WaitFacts* const wait : stands) {
    const ProcessFacts* const p = facts.FindProcess(wait->process);
    const ThreadFacts* const t = facts.FindThread(wait->process, wait->thread);
    if (p == nullptr || t == nullptr) continue;
    std::string who = CallThread(*p, *t);
    who[0] = 'T';
    text += fmt::format("{}{} stood in {}.", text.empty() ? "" : " ", who,
                        CallWaitPlace(*wait));
    if (!finding.where.function.empty()) continue;
    const CodeLine& at = wait->own.known() ? wait->own : wait->library;
    finding.where.function = at.function;
    finding.where.file = at.file;
    finding.where.line = at.line;
  }
  if (!text.empty())
    finding.evidence.insert(
        finding.evidence.begin() + (finding.evidence.empty() ? 0 : 1),
        {std::move(text), finding.from_ns, finding.to_ns});
}

// Saving: the line in which the program waited longest for files and disks.
void PutWaitForDisk(const Facts& facts, Finding& finding) {
  for (const WaitFacts& wait : facts.code.waits) {
    if ((wait.kind != WaitKind::kDisk && wait.kind != WaitKind::kFile) ||
        !wait.own.known())
      continue;
    const double share = std::min(
        1.0, static_cast<double>(wait.ns) /
                 std::max(1.0, static_cast<double>(facts.run.sampled_ns)));
    if (share < kMinShare) return;
    finding.evidence.insert(
        finding.evidence.begin() + (finding.evidence.empty() ? 0 : 1),
        {fmt::format("A thread waited {} for {} of the time, in {}.",
                     PhraseOf(wait.kind), FormatShare(share),
                     CallWaitPlace(wait)),
         facts.run.begin_ns, facts.run.end_ns});
    if (const ProcessFacts* const p = facts.FindProcess(wait.process);
        p != nullptr && finding.where.process == 0)
      PutWhere(finding, *p);
    finding.where.function = wait.own.function;
    finding.where.file = wait.own.file;
    finding.where.line = wait.own.line;
    return;
  }
}

// Input: where the program waits longest for what others deliver.
void PutWaitForInput(const Facts& facts, Finding& finding) {
  for (const WaitFacts& wait : facts.code.waits) {
    const bool data =
        wait.kind == WaitKind::kQueue || wait.kind == WaitKind::kFile ||
        wait.kind == WaitKind::kSocket || wait.kind == WaitKind::kEvent;
    const ThreadFacts* const t = facts.FindThread(wait.process, wait.thread);
    const ProcessFacts* const p = facts.FindProcess(wait.process);
    if (!data || !wait.own.known() || t == nullptr || p == nullptr ||
        t->row.tid != p->row.pid)
      continue;
    const double share = std::min(
        1.0, static_cast<double>(wait.ns) /
                 std::max(1.0, static_cast<double>(facts.run.sampled_ns)));
    if (share < kMinShare) return;
    finding.evidence.insert(
        finding.evidence.begin() + (finding.evidence.empty() ? 0 : 1),
        {fmt::format("The main thread of {} waited {} for {} of the time, in "
                     "{}.",
                     CallProcess(*p), PhraseOf(wait.kind), FormatShare(share),
                     CallWaitPlace(wait)),
         facts.run.begin_ns, facts.run.end_ns});
    PutNumber(finding, "waited_in_function", share, Unit::kShare);
    finding.where.function = wait.own.function;
    finding.where.file = wait.own.file;
    finding.where.line = wait.own.line;
    return;
  }
}

// ", 82 % of that in dgemm_kernel of libblas.so.3".
std::string CallBelow(const FunctionFacts& f) {
  const double part = f.own_ns > 0 ? static_cast<double>(f.below_ns) /
                                         static_cast<double>(f.own_ns)
                                   : 0;
  if (part < kMinBelow) return {};
  const std::string file = f.below_module.substr(f.below_module.rfind('/') + 1);
  // A name may be that of a place in the file.
  const bool placed = file.empty() || f.below.starts_with(file);
  return fmt::format(", {} of that in {}{}", FormatShare(part),
                     Printable(f.below, 120),
                     placed ? "" : " of " + Printable(file, 60));
}

}  // namespace

void PutHotPlace(const Facts& facts, Finding& finding) {
  if (finding.rule == "hung") PutStands(facts, finding);
  if (finding.rule == "input_bound") PutWaitForInput(facts, finding);
  if (finding.rule == "checkpoint_stall") PutWaitForDisk(facts, finding);
  if (std::find(std::begin(kAboutCpu), std::end(kAboutCpu), finding.rule) ==
      std::end(kAboutCpu))
    return;
  const FunctionFacts* hottest = nullptr;
  uint64_t samples = 0;
  for (const FunctionFacts& f : facts.code.functions) {
    if (finding.where.process != 0 && f.process != finding.where.process)
      continue;
    samples += f.samples;
    if (!f.name.empty() && (hottest == nullptr || f.own_ns > hottest->own_ns))
      hottest = &f;
  }
  if (hottest == nullptr || samples < kMinSamples) return;
  // Of all that the process used, be it sampled or not.
  const ProcessFacts* const process = facts.FindProcess(hottest->process);
  if (process == nullptr || process->cpu_ns.value_or(0) <= 0) return;
  const double share = std::min(1.0, static_cast<double>(hottest->own_ns) /
                                         static_cast<double>(*process->cpu_ns));
  if (share < kMinShare) return;
  // Second: a summary shows two.
  const std::string place =
      CallPlace({hottest->name, hottest->file, "", ""}, hottest->line);
  finding.evidence.insert(
      finding.evidence.begin() + (finding.evidence.empty() ? 0 : 1),
      {fmt::format("{} of the CPU time of {} went to {}{}.", FormatShare(share),
                   CallProcess(*process), Printable(place, 160),
                   CallBelow(*hottest)),
       facts.run.begin_ns, facts.run.end_ns});
  PutNumber(finding, "in_function", share, Unit::kShare);
  if (finding.where.process == 0) PutWhere(finding, *process);
  finding.where.function = hottest->name;
  finding.where.file = hottest->file;
  finding.where.line = hottest->line;
  // What to do about many small reads is said.
  if (share < kMinAdvised || finding.rule == "small_files") return;
  // What the rule could only ask for is known.
  if (const size_t at = finding.advice.find(kFindFunctions);
      at != std::string::npos)
    finding.advice.resize(at);
  finding.advice += fmt::format(
      "{}Begin with {}. {}", finding.advice.ends_with(' ') ? "" : " ",
      Printable(place, 160), AdviceOnFunction(*hottest));
}

}  // namespace sonde

#include "analyze/verdict/hot_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

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

void PutLine(const CodeLine& at, Finding& finding) {
  finding.where.function = at.function;
  finding.where.file = at.file;
  finding.where.line = at.line;
}

double ShareOf(const Facts& facts, const WaitFacts& wait) {
  return std::min(1.0,
                  static_cast<double>(wait.ns) /
                      std::max(1.0, static_cast<double>(facts.run.sampled_ns)));
}

struct Stand {
  const WaitFacts* wait = nullptr;
  const ProcessFacts* process = nullptr;  // those that worked more lie before
};

// In the order of the waits; without those of processes that are not known.
std::vector<Stand> StandsOf(const Facts& facts,
                            const std::vector<WaitFacts>& waits) {
  std::unordered_map<uint32_t, const ProcessFacts*> processes;
  for (const ProcessFacts& p : facts.processes)
    processes.emplace(p.row.number, &p);
  std::vector<Stand> out;
  for (const WaitFacts& wait : waits)
    if (const auto p = processes.find(wait.process); p != processes.end())
      out.push_back({&wait, p->second});
  return out;
}

// A hang: where threads stand. Those that wait for the end of another thread or
// process, or in no line of the program's own, come last: the others are what
// they wait for. Of the others those come first whose process worked most.
void PutStands(const Facts& facts, Finding& finding) {
  const double least =
      kStood * static_cast<double>(finding.to_ns - finding.from_ns);
  const std::vector<WaitFacts> waits =
      WaitsIn(*facts.store, finding.from_ns, finding.to_ns);
  std::vector<Stand> stands = StandsOf(facts, waits);
  std::erase_if(stands, [&](const Stand& one) {
    return !(one.wait->own.known() || one.wait->library.known()) ||
           static_cast<double>(one.wait->ns) < least;
  });
  const auto later = [](const WaitFacts& wait) {
    return wait.kind == WaitKind::kThread || wait.kind == WaitKind::kChild ||
           !wait.own.known();
  };
  std::stable_sort(stands.begin(), stands.end(),
                   [&](const Stand& a, const Stand& b) {
                     return std::pair(later(*a.wait), a.process) <
                            std::pair(later(*b.wait), b.process);
                   });
  if (stands.size() > kMostThreads) stands.resize(kMostThreads);
  std::string text;
  for (const auto& [wait, process] : stands) {
    const ThreadFacts* const t = facts.FindThread(wait->process, wait->thread);
    if (t == nullptr) continue;
    std::string who = CallThread(*process, *t);
    who[0] = 'T';
    text += fmt::format("{}{} stood in {}.", text.empty() ? "" : " ", who,
                        CallWaitPlace(*wait));
    if (finding.where.function.empty() &&
        (finding.where.process == 0 || finding.where.process == wait->process))
      PutLine(wait->own.known() ? wait->own : wait->library, finding);
  }
  if (!text.empty())
    finding.evidence.insert(
        finding.evidence.begin() + (finding.evidence.empty() ? 0 : 1),
        {std::move(text), finding.from_ns, finding.to_ns});
}

// The longest of these waits in a function of the program's own: of the process
// that the finding names, or else of the one that worked most and has any. No
// wait if there is none that is worth a word.
Stand LongestWait(const Facts& facts, const Finding& finding,
                  bool (*wanted)(const Facts&, const Stand&)) {
  const uint32_t named = finding.where.process;
  Stand found;
  for (const Stand& one : StandsOf(facts, facts.code.waits))
    if (one.wait->own.known() && ShareOf(facts, *one.wait) >= kMinShare &&
        (named == 0 || named == one.wait->process) && wanted(facts, one) &&
        (found.wait == nullptr || one.process < found.process))
      found = one;
  return found;
}

// Puts it second, with its line: a summary shows two.
void PutWait(const Facts& facts, const WaitFacts& wait, const std::string& who,
             Finding& finding) {
  finding.evidence.insert(
      finding.evidence.begin() + (finding.evidence.empty() ? 0 : 1),
      {fmt::format("{} waited {} for {} of the time, in {}.", who,
                   PhraseOf(wait.kind), FormatShare(ShareOf(facts, wait)),
                   CallWaitPlace(wait)),
       facts.run.begin_ns, facts.run.end_ns});
  PutLine(wait.own, finding);
}

// Saving: the line in which the program waited longest for files and disks, not
// for what it reads.
void PutWaitForDisk(const Facts& facts, Finding& finding) {
  const auto saves = [](const Facts&, const Stand& one) {
    return one.wait->kind == WaitKind::kDisk ||
           (one.wait->kind == WaitKind::kFile &&
            one.wait->call.find("read") == std::string::npos);
  };
  const auto [wait, process] = LongestWait(facts, finding, saves);
  if (wait == nullptr) return;
  PutWait(facts, *wait, "A thread", finding);
  if (finding.where.process == 0) PutWhere(finding, *process);
}

// Input: where the program waits longest for what others deliver.
void PutWaitForInput(const Facts& facts, Finding& finding) {
  const auto of_main = [](const Facts& all, const Stand& one) {
    const WaitFacts& wait = *one.wait;
    if (wait.kind != WaitKind::kQueue && wait.kind != WaitKind::kFile &&
        wait.kind != WaitKind::kSocket && wait.kind != WaitKind::kEvent)
      return false;
    const ThreadFacts* const t = all.FindThread(wait.process, wait.thread);
    return t != nullptr && t->row.tid == one.process->row.pid;
  };
  const auto [wait, process] = LongestWait(facts, finding, of_main);
  if (wait == nullptr) return;
  PutWait(facts, *wait, "The main thread of " + CallProcess(*process), finding);
  PutNumber(finding, "waited_in_function", ShareOf(facts, *wait), Unit::kShare);
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

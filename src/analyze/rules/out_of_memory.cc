// out_of_memory: was one of its processes killed for lack of memory?
//
// Evidence: the kernel's count of such kills rose, in a cgroup of the run or on
// the machine, and one of its processes ended at that moment (kBefore, kAfter:
// the count is read once a second) by SIGKILL; where it is not known how they
// ended, the largest that did is named, and that this is a guess. A rise
// without such an end is somebody else's.
//
// The memory beside a limit is the cgroup's own number: in a sum over processes
// the pages that they share would count in each.

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <optional>

#include "analyze/facts/ends.h"
#include "analyze/facts/part_series.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"
#include "base/time.h"

namespace sonde {
namespace {

constexpr int64_t kBefore = 3 * kNsPerSec;
constexpr int64_t kAfter = kNsPerSec;
constexpr double kMachineFull = 0.90;
constexpr double kNearLimit = 0.50;  // memory may grow fast between samples
constexpr size_t kMostNamed = 3;

// Kills that were counted.
struct Kills {
  double count;
  int64_t seen_ns;
  const CgroupFacts* cgroup;  // null: the machine's count
};

double FullnessOf(const CgroupFacts& c) {
  return c.memory_limit_bytes.value_or(0) > 0
             ? c.memory_peak_bytes.value_or(0) / *c.memory_limit_bytes
             : -1;
}

bool MachineWasFull(const MachineFacts& m) {
  return m.mem_total_bytes &&
         m.mem_peak_bytes.value_or(0) >= kMachineFull * *m.mem_total_bytes;
}

// Cgroups lie in each other, and a kill counts in all of them: the one that is
// fullest made it. A cgroup that is gone a moment later was not asked again;
// the machine's count was.
std::optional<Kills> KillsOf(const Facts& facts) {
  const CgroupFacts* best = nullptr;
  const CgroupFacts* fullest = nullptr;
  bool counted = false;
  for (const CgroupFacts& c : facts.cgroups) {
    counted |= c.oom_kills.has_value();
    if (c.oom_seen_ns && (best == nullptr || FullnessOf(c) > FullnessOf(*best)))
      best = &c;
    if (FullnessOf(c) >= kNearLimit &&
        (fullest == nullptr || FullnessOf(c) > FullnessOf(*fullest)))
      fullest = &c;
  }
  if (best != nullptr) return Kills{*best->oom_kills, *best->oom_seen_ns, best};
  const MachineFacts& m = facts.machine;
  if (!m.oom_seen_ns) return std::nullopt;
  // Else another container had too little.
  if (counted && fullest == nullptr && !MachineWasFull(m)) return std::nullopt;
  return Kills{*m.oom_kills, *m.oom_seen_ns, fullest};
}

struct Victims {
  std::vector<ProcessFacts> all;  // in the order of their ends
  bool sure = false;              // they were seen to end by SIGKILL
};

Victims VictimsOf(const Facts& facts, const Kills& kills) {
  const auto near = [&](const Process& row) {
    return row.end_ns >= kills.seen_ns - kBefore &&
           row.end_ns <= kills.seen_ns + kAfter;
  };
  Victims out;
  out.all = EndedWhere(facts, [&](const Process& row) {
    return EndedBySignal(row, SIGKILL) && row.end_ns <= kills.seen_ns + kAfter;
  });
  out.sure = std::any_of(out.all.begin(), out.all.end(),
                         [&](const ProcessFacts& p) { return near(p.row); });
  if (out.sure) {
    // More than were counted: others were killed for other reasons, before, or
    // together with the last of these.
    const size_t count = static_cast<size_t>(std::clamp(kills.count, 1.0, 1e6));
    if (out.all.size() > count)
      std::erase_if(out.all,
                    [&](const ProcessFacts& p) { return !near(p.row); });
    if (out.all.size() > count) out.all.resize(count);
    return out;
  }
  out.all = EndedWhere(facts, [&](const Process& row) {
    return row.exit == Process::Exit::kUnknown && near(row);
  });
  const auto largest = std::max_element(
      out.all.begin(), out.all.end(),
      [](const ProcessFacts& a, const ProcessFacts& b) {
        return a.rss_peak_bytes.value_or(0) < b.rss_peak_bytes.value_or(0);
      });
  if (largest != out.all.end()) out.all = {ProcessFacts(*largest)};
  return out;
}

std::string WhyOf(const Facts& facts, const Kills& kills) {
  if (kills.cgroup != nullptr && kills.cgroup->memory_limit_bytes)
    return fmt::format("its container reached its limit of {}",
                       FormatBytes(*kills.cgroup->memory_limit_bytes));
  if (MachineWasFull(facts.machine))
    return fmt::format("the machine's {} were in use",
                       FormatBytes(*facts.machine.mem_total_bytes));
  return "memory ended, of the machine or by a limit that was not seen";
}

void SayCurves(Finding& f, const Facts& facts, const Kills& kills,
               const ProcessFacts& victim) {
  const int64_t until_ns = victim.row.end_ns;
  for (const ProcessMemory& one : MemoryOf(facts, 1))
    if (one.process->row.number == victim.row.number)
      if (const std::string curve = CurveUntil(facts, one.bytes, until_ns);
          !curve.empty())
        Say(f, fmt::format("Memory of the process: {}.", curve));
  if (kills.cgroup == nullptr) return;
  const CgroupFacts& c = *kills.cgroup;
  const std::string curve = CurveUntil(
      facts, BytesOfMachine(facts, "cgroup_memory_bytes", c.path), until_ns);
  const std::string limit =
      c.memory_limit_bytes
          ? fmt::format("; its limit is {}", FormatBytes(*c.memory_limit_bytes))
          : "";
  if (!curve.empty())
    Say(f, fmt::format("Memory of all in cgroup {}: {}{}.",
                       Printable(c.path, 60), curve, limit));
}

}  // namespace

Outcome OutOfMemory(const Case& about) {
  const Facts& facts = about.facts();
  const std::optional<Kills> kills = KillsOf(facts);
  if (!kills) return {};
  const Victims victims = VictimsOf(facts, *kills);
  if (victims.all.empty()) return {};
  // Somebody on the machine was killed; that it was one of these needs more.
  if (!victims.sure && kills->cgroup == nullptr &&
      !MachineWasFull(facts.machine))
    return {};
  const ProcessFacts& first = victims.all.front();

  Finding f = FindingIn(facts.run.begin_ns,
                        std::min(first.row.end_ns, facts.run.end_ns));
  f.severity = Severity::kCritical;
  PutWhere(f, first);
  f.summary = fmt::format(
      "Killed for lack of memory: {}{}, {} after the start, when {}.",
      CallWithPid(first), victims.sure ? "" : ", as it seems",
      WhenOf(facts, first.row.end_ns), WhyOf(facts, *kills));
  if (!victims.sure)
    Say(f, fmt::format("How {} ended was not seen: it is the largest process "
                       "that ended when the kernel killed one.",
                       CallWithPid(first)));
  SayCurves(f, facts, *kills, first);
  std::string more;
  for (size_t i = 1; i < victims.all.size() && i <= kMostNamed; ++i)
    more += fmt::format("{}{} at {}", more.empty() ? "" : ", ",
                        CallWithPid(victims.all[i]),
                        WhenOf(facts, victims.all[i].row.end_ns));
  if (!more.empty())
    Say(f, fmt::format("{} processes of the run were killed; after the "
                       "first: {}.",
                       victims.all.size(), more));
  PutNumber(f, "killed", static_cast<double>(victims.all.size()), Unit::kCount);
  PutNumber(f, "after", SecondsAt(facts, first.row.end_ns), Unit::kSeconds);
  PutNumber(f, "memory", first.rss_peak_bytes, Unit::kBytes);
  if (kills->cgroup != nullptr)
    PutNumber(f, "limit", kills->cgroup->memory_limit_bytes, Unit::kBytes);
  f.advice = fmt::format(
      "{}Or use less: fewer workers (each has its own copy of what it "
      "changes), smaller batches, data that is read in pieces, types of half "
      "the size. If the program's memory never stops growing, more memory "
      "will not help: find what the program keeps.",
      kills->cgroup != nullptr
          ? "Raise the limit (docker run --memory, resources.limits.memory in "
            "Kubernetes, --mem in Slurm, memory.max of the cgroup). "
          : "End what else runs (`ps -eo rss,pid,args --sort=-rss | head`), or "
            "get a machine with more memory. ");
  f.confidence = victims.sure ? 0.95 : 0.7;
  return {{std::move(f)}, ""};
}

}  // namespace sonde

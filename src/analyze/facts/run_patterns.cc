#include "analyze/facts/run_patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "analyze/pattern/standstill.h"
#include "analyze/series/counter_scan.h"
#include "analyze/series/run_series.h"
#include "base/text.h"

namespace sonde {
namespace {

// The reasons of the device whose clock this is. How busy it is they do not
// explain: one that is slower is busy for longer.
const RegularSeries* ThrottleOf(const RunSeries& run, std::string_view name) {
  constexpr std::string_view kClock = "_clock";
  if (!name.starts_with("gpu") || !name.ends_with(kClock)) return nullptr;
  name.remove_suffix(kClock.size());
  return run.Find(std::string(name) + "_throttle");
}

// The series without the time in which the run stood still.
RegularSeries WithoutStills(const RegularSeries* series,
                            const std::vector<Standstill>& stills) {
  RegularSeries out = *series;
  for (size_t i = 0; i < out.size(); ++i)
    for (const Standstill& still : stills)
      if (out.grid.TimeOf(i) >= still.from_ns &&
          out.grid.TimeOf(i) < still.to_ns)
        out.known[i] = 0;
  return out;
}

// Puts `phase` into phases that follow each other, in place of what was there.
void PutPhase(Phase phase, std::vector<Phase>& list) {
  std::vector<Phase> out;
  for (const Phase& old : list) {
    Phase before = old, after = old;
    before.to_ns = std::min(old.to_ns, phase.from_ns);
    after.from_ns = std::max(old.from_ns, phase.to_ns);
    if (before.from_ns < before.to_ns) out.push_back(std::move(before));
    if (after.from_ns < after.to_ns) out.push_back(std::move(after));
  }
  const auto at = std::find_if(out.begin(), out.end(), [&](const Phase& other) {
    return other.from_ns >= phase.to_ns;
  });
  out.insert(at, std::move(phase));
  list = std::move(out);
}

Phases PhasesWithStills(const RunSeries& run) {
  RunUse use;
  use.cpu = run.Find("tree_cpu");
  use.accelerator = run.Find("accelerator");
  use.written = run.Find("tree_write");
  const std::vector<Standstill> stills = StandstillsOf(run);
  // A run that never worked has no phases.
  if (stills.empty() || !stills[0].worked) return PhasesOf(use);
  RunUse work;
  RegularSeries cpu, accelerator;
  if (use.cpu != nullptr) {
    cpu = WithoutStills(use.cpu, stills);
    work.cpu = &cpu;
  }
  if (use.accelerator != nullptr) {
    accelerator = WithoutStills(use.accelerator, stills);
    work.accelerator = &accelerator;
  }
  work.written = use.written;
  Phases out = PhasesOf(work);
  out.main = out.main == work.accelerator ? use.accelerator : use.cpu;
  if (out.list.empty()) {
    const auto [from, to] = out.main->KnownRange();
    out.list.push_back({Phase::Kind::kSteady, run.grid.TimeOf(from),
                        std::min(run.grid.TimeOf(to), run.grid.end_ns), 0,
                        "the rest of the run is too short to tell apart"});
    out.not_enough_data.clear();
  }
  for (const Standstill& still : stills)
    PutPhase({still.to_the_end ? Phase::Kind::kHung : Phase::Kind::kIdle,
              still.from_ns, still.to_ns, 0, "the program does nothing"},
             out.list);
  return out;
}

}  // namespace

PatternContext ContextOf(const Facts& facts, const RegularSeries& series) {
  PatternContext out;
  if (series.name == "tree_cpu") {
    out.full_scale = facts.run.capacity_cores;
    out.limit = facts.run.cpu_limit_cores;
    out.one_core = 1;
  } else if (series.name == "busiest_thread") {
    out.full_scale = 1;
  } else if (series.name == "machine_cpu" || series.name == "iowait") {
    if (facts.machine.cores > 0) out.full_scale = facts.machine.cores;
  } else if (series.unit == "share") {
    out.full_scale = 1;
  }
  return out;
}

RunShape ShapeOf(const Facts& facts) {
  const RunSeries& run = *facts.series;
  RunShape out;
  out.phases = PhasesWithStills(run);
  for (const RegularSeries& series : run.all) {
    PatternContext context = ContextOf(facts, series);
    const RegularSeries* held_back = nullptr;
    if (series.name == "tree_cpu") {
      held_back = run.Find("cgroup_throttled");
    } else if ((held_back = ThrottleOf(run, series.name)) != nullptr) {
      // What it can do is what it did before.
      context.full_scale = Quantile(series.KnownValues(), 1);
    }
    RegularSeries coarse_held_back;
    if (held_back != nullptr) {
      coarse_held_back = held_back->Coarse(kPatternWindows);
      context.held_back = &coarse_held_back;
    }
    out.series.push_back(
        {&series, PatternOf(series.Coarse(kPatternWindows), context)});
  }
  return out;
}

std::string PhrasePhases(const Phases& phases) {
  // Dips interrupt a phase and are counted with it.
  std::string out;
  std::map<Phase::Kind, int> dips;
  int64_t length_ns = 0;
  const Phase* open = nullptr;
  const auto close = [&] {
    if (open == nullptr) return;
    out += out.empty() ? "" : ", ";
    out += fmt::format("{} {}", NameOf(open->kind), FormatDuration(length_ns));
    const char* separator = " with ";
    for (const auto& [kind, count] : dips) {
      out += fmt::format("{}{} {}{}", separator, count, NameOf(kind),
                         count == 1 ? "" : "s");
      separator = " and ";
    }
    dips.clear();
    length_ns = 0;
    open = nullptr;
  };
  for (const Phase& phase : phases.list) {
    const bool dip = phase.kind == Phase::Kind::kCheckpoint ||
                     phase.kind == Phase::Kind::kEvaluation ||
                     phase.kind == Phase::Kind::kDip;
    if (!dip && open != nullptr && phase.kind != open->kind) close();
    if (dip && open != nullptr) ++dips[phase.kind];
    if (open == nullptr) open = &phase;
    length_ns += Elapsed(phase.from_ns, phase.to_ns);
  }
  close();
  return out;
}

}  // namespace sonde

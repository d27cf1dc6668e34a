// interpreter_bound: does the accelerator wait for one thread of the program?
//
// Evidence: for at least kMinTime of the steady part of the run a thread of the
// process that feeds the accelerators is on a core, or ready for one, by
// kThreadBusy, while the accelerators are less than kMaxBusy busy. That thread
// does not wait for data, so the input is not what limits it. A thread that
// only loads (analyze/input_work.h) is the input.

#include <fmt/format.h>

#include <algorithm>

#include "analyze/facts/accelerators.h"
#include "analyze/facts/input_work.h"
#include "analyze/facts/steady.h"
#include "analyze/rules/lock_waits.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "analyze/series/counter_scan.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kThreadBusy = 0.95;
// On a crowded machine it is ready more often than it runs; it does not wait
// for anybody all the same.
constexpr double kThreadRan = 0.40;
constexpr double kMinTime = 0.60;
constexpr double kMaxBusy = 0.50;

// The consumer that fills a core for the longest time, and for which share.
struct Filled {
  const ProcessFacts* process = nullptr;
  double time = 0;
};
Filled FilledBy(const Facts& facts, const Steady& steady,
                const std::vector<const ProcessFacts*>& consumers) {
  Filled best;
  for (const ProcessFacts* const p : consumers) {
    const double time = steady.ShareWhere([&](const CpuWindow& w) {
      if (w.process != p->row.number || w.thread_cores < kThreadRan ||
          w.thread_cores + w.thread_wait_cores < kThreadBusy)
        return false;
      const ThreadFacts* const t = facts.FindThread(w.process, w.thread);
      return t == nullptr || FeedsAccelerator(*p, *t);
    });
    if (time > best.time) best = {p, time};
  }
  return best;
}

}  // namespace

Outcome InterpreterBound(const Case& about) {
  const Facts& facts = about.facts();
  const Accelerators& devices = about.accelerators();
  const Steady& steady = about.steady();
  const double idle = devices.IdleShare();
  if (idle <= 1 - kMaxBusy) return {};
  const InputWork work = InputWorkOf(facts, devices);
  const Filled filled = FilledBy(facts, steady, work.consumers);
  if (filled.time < kMinTime) return {};

  const ProcessFacts& p = *filled.process;
  std::vector<const Accelerator*> all;
  for (const Accelerator& d : devices.used) all.push_back(&d);
  const bool python = IsPython(p);
  Finding f = FindingIn(devices.from_ns, devices.to_ns);
  f.severity = Severity::kCritical;
  PutWhere(f, p);
  if (!p.threads.empty()) {
    f.where.thread = p.threads[0].row.number;
    f.where.tid = p.threads[0].row.tid;
    f.where.thread_name = p.threads[0].name;
  }
  f.summary = fmt::format(
      "Limited by {} thread of {}: it fills a core while {} idle{} {} of the "
      "time.",
      python ? "one Python" : "one", CallProcess(p), CallDevices(all),
      all.size() == 1 ? "s" : "", FormatShare(idle));
  Say(f, fmt::format("A thread of {} filled a core for {:.0f} % of the steady "
                     "time.",
                     CallProcess(p), filled.time * 100));
  for (const Accelerator& d : devices.used)
    if (d.busy_known())
      Say(f, fmt::format("{} was busy {} of the time.", d.Call(),
                         FormatShare(d.busy_mean)));
  if (python)
    if (const auto wait = LongestLockWait(facts, p.row.number))
      SayOfRun(f, facts,
               fmt::format("Other threads waited for the interpreter's lock or "
                           "one of the program's, most of all in {}: {} "
                           "together.",
                           CallLine(wait->at),
                           FormatDuration(static_cast<int64_t>(wait->ns))));
  PutTime(f, filled.time);
  PutNumber(f, "idle", idle, Unit::kShare);
  f.advice = fmt::format(
      "{} cannot hand out work as fast as the accelerator does it. Hand out "
      "more at a time: a larger batch, {}fused operations or graphs (CUDA "
      "graphs). Move loading and preparing of data out of this thread "
      "({}), and loops over elements into libraries. {}",
      python ? "The interpreter" : "This thread",
      python ? "torch.compile, " : "",
      python ? "DataLoader(num_workers=2) or more" : "to others",
      kFindFunctions);
  f.gain = Gain{idle * devices.OfRun(facts), "if the accelerator never waited"};
  f.confidence = 0.85 * std::min(1.0, 0.6 + 0.4 * filled.time);
  return {{std::move(f)}, ""};
}

}  // namespace sonde

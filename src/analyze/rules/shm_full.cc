// shm_full: did a process end because /dev/shm was full?
//
// Evidence: a process ended by SIGBUS, which is what a write to shared memory
// gets that has no room, or failed, while /dev/shm was full (kFull of it, from
// kBefore its end to kAfter). /dev/shm is asked once a second, and filled and
// emptied in less: if the half of it (kHalf) was in use then, SIGBUS is called
// probably of that. A process that only failed may have done so for any reason:
// then /dev/shm must be all but full (kNoRoom).

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
constexpr int64_t kAfter = kNsPerSec + kNsPerSec / 2;
constexpr double kFull = 0.90;
constexpr double kHalf = 0.50;
constexpr double kNoRoom = 0.98;

struct Death {
  ProcessFacts process;
  double used_bytes;
};

std::optional<Death> DeathOf(const Facts& facts, const RegularSeries& used,
                             double total) {
  const auto used_near = [&](const Process& row) {
    double most = 0;
    for (size_t i = 0; i < used.size(); ++i)
      if (used.known[i] && used.grid.TimeOf(i) <= row.end_ns + kAfter &&
          used.grid.TimeOf(i) >= row.end_ns - kBefore)
        most = std::max(most, used.values[i]);
    return most;
  };
  const std::vector<double> all = used.KnownValues();
  const double first = all.empty() ? 0 : all.front();
  for (const bool by_signal : {true, false}) {
    const std::vector<ProcessFacts> ended =
        EndedWhere(facts, [&](const Process& row) {
          if (by_signal)
            return EndedBySignal(row, SIGBUS) &&
                   used_near(row) >= kHalf * total;
          // A test or a grep fails for reasons of its own, and what others have
          // filled was full before.
          return row.exit == Process::Exit::kExited && row.exit_code != 0 &&
                 facts.FindProcess(row.number) != nullptr &&
                 used_near(row) >= kNoRoom * total && first < kNoRoom * total;
        });
    if (!ended.empty()) return Death{ended[0], used_near(ended[0].row)};
  }
  return std::nullopt;
}

}  // namespace

Outcome ShmFull(const Case& about) {
  const Facts& facts = about.facts();
  const double total = *facts.machine.shm_total_bytes;
  if (total <= 0) return {};
  const RegularSeries used = BytesOfMachine(facts, "shm_used_bytes");
  const std::optional<Death> death = DeathOf(facts, used, total);
  if (!death) return {};
  const ProcessFacts& process = death->process;
  const bool by_signal = EndedBySignal(process.row, SIGBUS);

  Finding f = FindingIn(facts.run.begin_ns,
                        std::min(process.row.end_ns, facts.run.end_ns));
  f.severity = Severity::kCritical;
  PutWhere(f, process);
  const bool full = death->used_bytes >= kFull * total;
  f.summary = fmt::format(
      "/dev/shm was {}full ({} of {}) when {} {}, {} after the start.",
      full ? "" : "probably ", FormatBytes(death->used_bytes),
      FormatBytes(total), CallWithPid(process),
      by_signal ? "died of SIGBUS" : "failed",
      WhenOf(facts, process.row.end_ns));
  if (by_signal)
    Say(f,
        "A write to shared memory for which there is no room gets SIGBUS "
        "(bus error).");
  else
    Say(f, fmt::format("The process ended with status {}.",
                       process.row.exit_code));
  if (const std::string curve = CurveUntil(facts, used, process.row.end_ns);
      !curve.empty())
    Say(f, fmt::format("In use: {}.", curve));
  PutNumber(f, "used", death->used_bytes, Unit::kBytes);
  PutNumber(f, "size", total, Unit::kBytes);
  PutNumber(f, "after", SecondsAt(facts, process.row.end_ns), Unit::kSeconds);
  f.advice =
      "Make /dev/shm larger: docker run --shm-size=8g (or --ipc=host), in "
      "Kubernetes an emptyDir with medium: Memory mounted at /dev/shm, else "
      "mount -o remount,size=8G /dev/shm. Or use less: fewer DataLoader "
      "workers, a smaller prefetch_factor or batch. `ls -l /dev/shm` shows "
      "what earlier runs left there.";
  f.confidence = by_signal && full ? 0.95 : 0.7;
  return {{std::move(f)}, ""};
}

}  // namespace sonde

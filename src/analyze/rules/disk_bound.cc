// disk_bound: does it wait for the disks?
//
// Evidence: for at least kMostOfTheTime of the steady part something waited for
// I/O (kWaits of the time; without pressure: cores were idle for it), and the
// disks were busy (kBusy), or the waiting was most of the time (kStalled), or
// the program did little else: its own code ran less than kOwnCode of the time
// it waited. With a fast disk the kernel works as long as the disk does, for
// each request; that is not the program computing. If it does next to nothing
// but that (kNoCode), kWaitsALittle is enough. Both together must take most of
// the time (kOccupied): one that sleeps has time for its disk.
// Pressure and disks are the machine's, so the program's own threads must have
// been blocked, and it must have moved its part of the bytes itself. A thread
// that fills a core does not wait for a disk, whatever the others do.

#include <fmt/format.h>

#include <algorithm>

#include "analyze/facts/steady_series.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kWaits = 0.25;
constexpr double kWaitsALittle = 0.15;
constexpr double kStalled = 0.50;
constexpr double kBusy = 0.80;
constexpr double kOwnCode = 0.50;
constexpr double kNoCode = 0.20;
constexpr double kOccupied = 0.50;
constexpr double kComputes = 0.80;  // of a core: a thread that works

const char* AdviceOn(double read, double write) {
  if (read >= write)
    return "The disk cannot deliver faster, so more cores will not help. Read "
           "less (compressed or columnar files), keep in memory what is read "
           "again, read ahead in the background while the program computes, or "
           "move the data to a faster disk. `iostat -x 1` shows which disk is "
           "busy.";
  return "The disk cannot take data faster, so more cores will not help. "
         "Write less (compress, drop what nobody reads), write in the "
         "background in large pieces, call fsync less often, or use a faster "
         "disk. `iostat -x 1` shows which disk is busy.";
}

}  // namespace

Outcome DiskBound(const Case& about) {
  const Facts& facts = about.facts();
  const Steady& steady = about.steady();
  const SteadySeries& series = about.series();
  const SeriesView read = series.Find("tree_read");
  const SeriesView write = series.Find("tree_write");
  const SeriesView psi = series.OwnPressure();
  const SeriesView cgroup_psi = series.Find("cgroup_psi_io");
  const SeriesView busy = series.Find("disk_busy");
  const SeriesView iowait = series.Find("iowait");
  const SeriesView thread = series.Find("busiest_thread");
  const SeriesView cpu = series.Find("tree_cpu");
  const SeriesView system = series.Find("tree_system");
  const SeriesView computing = series.Computing();
  const bool pressure = psi.collected() || cgroup_psi.collected();

  const auto stalled = [&](size_t i) {
    return pressure ? std::max(psi.At(i), cgroup_psi.At(i))
                    : std::min(1.0, iowait.At(i));
  };
  const auto own_code_below = [&](size_t i, double of_waiting) {
    return pressure && system.collected() &&
           computing.At(i) <= of_waiting * stalled(i) &&
           stalled(i) + cpu.At(i) >= kOccupied;
  };
  const auto waits = [&](size_t i) {
    if (thread.At(i) >= kComputes || stalled(i) < kWaitsALittle) return false;
    if (own_code_below(i, kNoCode)) return true;
    return stalled(i) >= kWaits &&
           (busy.At(i) >= kBusy || (pressure && stalled(i) >= kStalled) ||
            own_code_below(i, kOwnCode));
  };
  const double time = series.ShareWhere(waits);
  if (time < kMostOfTheTime || !series.OwnsDisks()) return {};
  const double own = read.Mean() + write.Mean();
  const double all =
      series.Find("disk_read").Mean() + series.Find("disk_write").Mean();

  double stall = 0;
  for (size_t i = 0; i < series.size(); ++i) stall += std::min(1.0, stalled(i));
  stall /= static_cast<double>(series.size());
  Finding f = FindingIn(steady.from_ns, steady.to_ns);
  f.summary = fmt::format(
      "Limited by the disk: something waited for it {} of the time while the "
      "program {} {}/s.",
      FormatShare(stall), read.Mean() >= write.Mean() ? "read" : "wrote",
      FormatBytes(std::max(read.Mean(), write.Mean())));
  Say(f, fmt::format("The waiting lasted for {:.0f} % of the steady time{}.",
                     time * 100,
                     busy.collected()
                         ? fmt::format("; the disks were busy {} of that time",
                                       FormatShare(std::min(1.0, busy.Mean())))
                         : ""));
  Say(f, fmt::format("The program read {}/s and wrote {}/s, {} of what the "
                     "disks moved.",
                     FormatBytes(read.Mean()), FormatBytes(write.Mean()),
                     all > 0 ? FormatShare(std::min(1.0, own / all)) : "all"));
  Say(f, fmt::format("Meanwhile the program used {:.2f} cores{}.", cpu.Mean(),
                     system.collected()
                         ? fmt::format(", {:.2f} of them in the kernel",
                                       std::min(cpu.Mean(), system.Mean()))
                         : ""));
  PutTime(f, time);
  PutNumber(f, "waited", stall, Unit::kShare);
  if (busy.collected())
    PutNumber(f, "disk_busy", std::min(1.0, busy.Mean()), Unit::kShare);
  PutNumber(f, "read", read.Mean(), Unit::kBytesPerSecond);
  PutNumber(f, "written", write.Mean(), Unit::kBytesPerSecond);
  if (all > 0) PutNumber(f, "of_disks", std::min(1.0, own / all), Unit::kShare);
  PutNumber(f, "own_cores", cpu.Mean(), Unit::kCores);
  if (const ProcessFacts* const mover =
          WhoHasMost(facts, [](const ProcessFacts& p) {
            return p.io.read_bytes.value_or(0) + p.io.write_bytes.value_or(0);
          })) {
    PutWhere(f, *mover);
    Say(f, fmt::format("Most bytes were moved by {}.", CallProcess(*mover)));
  }
  f.advice = AdviceOn(read.Mean(), write.Mean());
  PutGain(f, stall * series.OfRun(), "if nothing waited for storage");
  f.confidence = SureOf(time, pressure && busy.collected() ? 0.95 : 0.8);
  return {{std::move(f)}, ""};
}

}  // namespace sonde

#include "analyze/pattern/standstill.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/time.h"

namespace sonde {
namespace {

constexpr double kMaxCores = 0.01;
constexpr double kMaxBytesPerSec = 4096;
constexpr double kMaxNetPerSec = 64 << 10;
constexpr double kMaxAccelerator = 0.05;
constexpr double kMaxHeldUp = 0.3;  // threads that a disk or a core keeps
// Heartbeats come once in so long, or more often.
constexpr double kOverNs = 2e9;
constexpr int64_t kShortestNs = 3 * kNsPerSec;
constexpr int64_t kLeastOfRun = 10;  // 1 / this
constexpr double kWorkedNs = 0.5e9;
// A process that gives up unwinds for a moment.
constexpr int64_t kEndNs = 1 * kNsPerSec;

// Sums of a series up to each window; what is not known counts as 0.
class Sums {
 public:
  Sums(const RunSeries& run, std::initializer_list<std::string_view> names)
      : sums_(run.grid.size() + 1) {
    for (size_t i = 0; i < run.grid.size(); ++i) {
      sums_[i + 1] = sums_[i];
      for (const std::string_view name : names)
        if (const RegularSeries* const s = run.Find(name);
            s != nullptr && s->known[i])
          sums_[i + 1] += s->values[i];
    }
  }

  double Mean(size_t from, size_t to) const {
    return to > from
               ? (sums_[to] - sums_[from]) / static_cast<double>(to - from)
               : 0;
  }

 private:
  std::vector<double> sums_;
};

// Asks windows, and means over several, whether anything was done.
class Quiet {
 public:
  explicit Quiet(const RunSeries& run)
      : cpu_(run, {"tree_cpu"}),
        // What went through system calls has what came from a disk in it.
        io_(run, {"tree_read_chars", "tree_write"}),
        read_(run, {"tree_read"}),
        net_(run, {"net_receive", "net_send"}),
        accelerator_(run, {"accelerator"}),
        held_up_(run, {"tree_blocked", "tree_wait"}) {}

  bool In(size_t from, size_t to) const {
    return cpu_.Mean(from, to) < kMaxCores &&
           io_.Mean(from, to) < kMaxBytesPerSec &&
           read_.Mean(from, to) < kMaxBytesPerSec &&
           net_.Mean(from, to) < kMaxNetPerSec &&
           accelerator_.Mean(from, to) < kMaxAccelerator &&
           held_up_.Mean(from, to) < kMaxHeldUp;
  }
  bool Worked(size_t windows, double step_ns) const {
    const double ns = static_cast<double>(windows) * step_ns;
    return std::max(cpu_.Mean(0, windows), accelerator_.Mean(0, windows)) *
               ns >=
           kWorkedNs;
  }

 private:
  Sums cpu_, io_, read_, net_, accelerator_, held_up_;
};

}  // namespace

std::vector<Standstill> StandstillsOf(const RunSeries& run) {
  std::vector<Standstill> out;
  const RegularSeries* const cpu = run.Find("tree_cpu");
  if (cpu == nullptr) return out;
  const Quiet quiet(run);
  const double step_ns = static_cast<double>(run.grid.step_ns);
  const bool worked = quiet.Worked(cpu->size(), step_ns);
  const size_t width =
      std::max<size_t>(1, static_cast<size_t>(std::lround(kOverNs / step_ns)));
  const size_t end = cpu->KnownRange().second;
  for (size_t i = 0; i < end; ++i) {
    if (!cpu->known[i] || i + width > end || !quiet.In(i, i + width)) continue;
    // As long as the next stretch of that width is quiet too. What is not known
    // ends it.
    size_t to = i + width;
    while (to < end && cpu->known[to] && quiet.In(to + 1 - width, to + 1)) ++to;
    if (std::find(cpu->known.begin() + static_cast<ptrdiff_t>(i),
                  cpu->known.begin() + static_cast<ptrdiff_t>(to),
                  0) != cpu->known.begin() + static_cast<ptrdiff_t>(to))
      continue;
    // The mean lets the first moments of work in.
    while (to > i + 1 && !quiet.In(to - 1, to)) --to;
    Standstill one;
    one.from_ns = run.grid.TimeOf(i);
    one.to_ns = std::min(run.grid.TimeOf(to), run.grid.end_ns);
    one.to_the_end =
        static_cast<double>(end - to) * step_ns <= static_cast<double>(kEndNs);
    one.worked = worked;
    const int64_t length = one.to_ns - one.from_ns;
    if (length >= kShortestNs &&
        length >= (run.grid.end_ns - run.grid.begin_ns) / kLeastOfRun)
      out.push_back(one);
    i = to;
  }
  return out;
}

}  // namespace sonde

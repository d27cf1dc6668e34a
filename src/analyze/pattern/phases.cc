#include "analyze/pattern/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/pattern/activity.h"
#include "analyze/pattern/change_points.h"
#include "analyze/pattern/pattern.h"
#include "analyze/pattern/period.h"
#include "base/check.h"

namespace sonde {
namespace {

constexpr size_t kWindowsForPhases = 24;
constexpr double kAcceleratorWorks = 0.1;  // share, in its busiest tenth
constexpr double kCpuWorks = 0.05;         // cores, in its busiest tenth
constexpr double kWorks = 0.5;             // of the level: it works
constexpr double kDipBelow = 0.6, kDipAbove = 0.75;  // of the level
constexpr double kMinNoises = 4;     // of a change, or it is but scatter
constexpr double kMaxDip = 0.2;      // of the steady time: one dip
constexpr double kMaxDips = 0.4;     // and all of them
constexpr double kWarmUpFar = 0.15;  // of the level
constexpr double kMaxWarmUp = 0.5;   // of the time it works
constexpr double kWritesMore = 3;    // than otherwise: a checkpoint
constexpr double kMaxSmoothDuty = 0.75;
constexpr double kStill = 0.1;  // of the level: noise that does not matter
constexpr size_t kMinEvaluations = 3;
constexpr size_t kBorder = 2;  // windows at an end that are no phase

// Windows [from, to).
struct Stretch {
  size_t from = 0, to = 0;
  size_t size() const { return to - from; }
};

double MedianOf(const RegularSeries& series, const Stretch& s) {
  return Quantile(series.Part(s.from, s.to).KnownValues(), 0.5);
}

double MeanOf(const RegularSeries& series, const Stretch& s) {
  return series.Part(s.from, s.to).Mean();
}

// The mean over `width` windows around each.
RegularSeries MovingMean(const RegularSeries& series, size_t width) {
  std::vector<double> sums(series.size() + 1), counts(series.size() + 1);
  for (size_t i = 0; i < series.size(); ++i) {
    sums[i + 1] = sums[i] + (series.known[i] ? series.values[i] : 0);
    counts[i + 1] = counts[i] + series.known[i];
  }
  RegularSeries out = series;
  for (size_t i = 0; i < series.size(); ++i) {
    const size_t from = i < width / 2 ? 0 : i - width / 2;
    const size_t to = std::min(series.size(), from + width);
    const double count = counts[to] - counts[from];
    if (series.known[i]) out.values[i] = (sums[to] - sums[from]) / count;
  }
  return out;
}

class Finder {
 public:
  Finder(const RunUse& use, const RegularSeries& main)
      : use_(use), main_(main), level_of_(main) {}

  std::vector<Phase> Find() {
    Smooth();
    FindWork();
    FindWarmUp();
    FindDips();
    if (work_.from > 0)
      Put(Phase::Kind::kStartUp, {0, work_.from},
          fmt::format("{} {} {}", Main(),
                      rushed_ ? "has more to do than later, with about"
                              : "stays below half of",
                      Show(level_)));
    if (steady_from_ > work_.from)
      Put(Phase::Kind::kWarmUp, {work_.from, steady_from_},
          fmt::format("{} is not yet at {}", Main(), Show(level_)));
    size_t from = steady_from_;
    for (const Stretch& dip : dips_) {
      PutSteady({from, dip.from});
      PutDip(dip);
      from = dip.to;
    }
    PutSteady({from, work_.to});
    if (work_.to < main_.size())
      Put(Phase::Kind::kEnd, {work_.to, main_.size()},
          fmt::format("{} falls below half of {} for the last time", Main(),
                      Show(level_)));
    return std::move(list_);
  }

 private:
  const char* Main() const {
    return &main_ == use_.accelerator ? "the accelerator" : "the CPU";
  }
  std::string Show(double value) const {
    return FormatValue(value, main_.unit);
  }

  void Put(Phase::Kind kind, const Stretch& s, std::string reason) {
    if (s.size() == 0) return;
    list_.push_back({kind, main_.grid.TimeOf(s.from),
                     std::min(main_.grid.TimeOf(s.to), main_.grid.end_ns),
                     MedianOf(level_of_, s), std::move(reason)});
  }
  void PutSteady(const Stretch& s) {
    Put(Phase::Kind::kSteady, s,
        fmt::format("{} keeps about {}", Main(), Show(level_)));
  }

  // A program that works in short steps is up and down all the time. What
  // matters here is its mean over a step; of one that scatters, the mean over
  // as many windows as it takes to keep still.
  void Smooth() {
    const auto period = PeriodOf(main_);
    const double most = static_cast<double>(main_.size()) / 8;
    const std::vector<double> values = main_.KnownValues();
    const double still = kStill * Quantile(values, 0.75);
    if (period && period->windows <= most &&
        ActivityOf(main_).share <= kMaxSmoothDuty) {
      blur_ = static_cast<size_t>(std::lround(period->windows));
    } else if (still > 0) {
      const double needed = std::pow(NoiseOf(values) / still, 2);
      blur_ = static_cast<size_t>(std::clamp(std::ceil(needed), 1.0, most));
    }
    if (blur_ > 1) level_of_ = MovingMean(main_, blur_);
    noise_ = NoiseOf(values) / std::sqrt(static_cast<double>(blur_));
  }

  // From the first to the last time that it works for a while.
  void FindWork() {
    parts_ = SegmentsOf(level_of_,
                        {std::max<size_t>(5, blur_), kMinNoises * noise_});
    double most = 0;
    for (const Segment& part : parts_)
      if ((part.to - part.from) * 20 >= main_.size())
        most = std::max(most, part.level);
    std::vector<double> working;
    for (size_t i = 0; i < main_.size(); ++i)
      if (level_of_.known[i] && level_of_.values[i] >= kWorks * most)
        working.push_back(level_of_.values[i]);
    level_ = Quantile(std::move(working), 0.5);
    const size_t while_windows = std::max<size_t>(3, main_.size() / 100);
    work_ = {main_.size(), 0};
    size_t run = 0;
    for (size_t i = 0; i < main_.size(); ++i) {
      // A gap neither ends nor makes a while.
      if (!level_of_.known[i]) continue;
      run = level_of_.values[i] >= kWorks * level_ ? run + 1 : 0;
      if (run < while_windows) continue;
      work_.from = std::min(work_.from, i + 1 - run);
      work_.to = i + 1;
    }
    if (work_.to == 0) work_ = {0, main_.size()};
    // What it goes on with for most of its time is no end: it began in a rush.
    const Stretch after = {work_.to, main_.size()};
    if (after.size() > work_.to && 2 * after.size() > main_.size()) {
      rushed_ = true;
      work_ = after;
      level_ = MedianOf(level_of_, work_);
    }
    if (work_.from <= kBorder) work_.from = 0;
    if (main_.size() - work_.to <= kBorder) work_.to = main_.size();
  }

  // Levels at the begin that are not the later one.
  void FindWarmUp() {
    const Stretch later = {(work_.from + work_.to) / 2, work_.to};
    std::vector<double> working;
    for (size_t i = later.from; i < later.to; ++i)
      if (level_of_.known[i] && level_of_.values[i] >= kDipBelow * level_)
        working.push_back(level_of_.values[i]);
    if (!working.empty()) level_ = Quantile(std::move(working), 0.5);
    steady_from_ = work_.from;
    for (const Segment& part : parts_) {
      if (part.to <= work_.from + 2) continue;
      if (std::abs(part.level - level_) <= kWarmUpFar * level_) break;
      steady_from_ = std::min(part.to, work_.to);
    }
    const size_t length = steady_from_ - work_.from;
    if (length < 2 * blur_ ||
        static_cast<double>(length) >
            kMaxWarmUp * static_cast<double>(work_.size()))
      steady_from_ = work_.from;
  }

  void FindDips() {
    const double all = static_cast<double>(work_.to - steady_from_);
    double sum = 0;
    Stretch dip = {0, 0};
    bool in_dip = false;
    for (size_t i = steady_from_; i < work_.to; ++i) {
      if (!level_of_.known[i]) continue;
      const double share = level_of_.values[i] / level_;
      if (!in_dip && share < kDipBelow) {
        in_dip = true;
        dip.from = i;
      } else if (in_dip && share > kDipAbove) {
        in_dip = false;
        dip.to = i;
        if (dip.size() < std::max<size_t>(2, blur_)) continue;
        sum += static_cast<double>(dip.size());
        // As long as this it is another phase of work.
        if (static_cast<double>(dip.size()) <= kMaxDip * all &&
            level_ - MedianOf(level_of_, dip) >= kMinNoises * noise_)
          dips_.push_back(dip);
      }
    }
    if (sum > kMaxDips * all) dips_.clear();
  }

  // A dip and a window on each side: an accelerator tells how busy it was until
  // now, so its dip is seen late; and the kernel writes after the program did.
  Stretch Around(const Stretch& dip) const {
    return {dip.from > steady_from_ ? dip.from - 1 : dip.from,
            std::min(work_.to, dip.to + 1)};
  }

  // Bytes a second written in steady time, outside of the dips.
  double WrittenOtherwise() const {
    RegularSeries rest = *use_.written;
    for (const Stretch& dip : dips_)
      for (size_t i = Around(dip).from; i < Around(dip).to; ++i)
        rest.known[i] = 0;
    return MeanOf(rest, {steady_from_, work_.to});
  }

  void PutDip(const Stretch& dip) {
    const std::string drop =
        fmt::format("{} drops to {}", Main(), Show(MedianOf(level_of_, dip)));
    if (use_.written == nullptr) {
      Put(Phase::Kind::kDip, dip, drop + "; writes were not collected");
      return;
    }
    const Stretch around = Around(dip);
    const double written =
        std::max(MeanOf(*use_.written, around),
                 MeanOf(*use_.written, {dip.from, around.to}));
    const double otherwise = WrittenOtherwise();
    if (written > 0 && written >= kWritesMore * otherwise) {
      Put(Phase::Kind::kCheckpoint, dip,
          fmt::format("{} while {} are written", drop,
                      FormatValue(written, "bytes/s")));
    } else if (dips_.size() >= kMinEvaluations) {
      Put(Phase::Kind::kEvaluation, dip,
          fmt::format("{}, one of {} times; no more is written than otherwise",
                      drop, dips_.size()));
    } else {
      Put(Phase::Kind::kDip, dip, drop);
    }
  }

  const RunUse& use_;
  const RegularSeries& main_;
  RegularSeries level_of_;  // main_, smoothed
  double noise_ = 0;        // of that
  size_t blur_ = 1;         // windows over which a border is smeared
  std::vector<Segment> parts_;
  double level_ = 0;
  bool rushed_ = false;  // it did more in its start-up than later
  Stretch work_;
  size_t steady_from_ = 0;
  std::vector<Stretch> dips_;
  std::vector<Phase> list_;
};

const RegularSeries* MainOf(const RunUse& use) {
  if (use.accelerator != nullptr &&
      use.accelerator->KnownCount() >= kWindowsForPhases &&
      Quantile(use.accelerator->KnownValues(), 0.9) >= kAcceleratorWorks)
    return use.accelerator;
  return use.cpu;
}

}  // namespace

std::string_view NameOf(Phase::Kind kind) {
  // In the order of the enumerators.
  static constexpr std::string_view kWords[] = {
      "start-up", "warm-up", "steady", "checkpoint", "evaluation",
      "dip",      "end",     "idle",   "hung"};
  static_assert(std::size(kWords) ==
                static_cast<size_t>(Phase::Kind::kHung) + 1);
  return kWords[static_cast<size_t>(kind)];
}

Phases PhasesOf(const RunUse& use) {
  Phases out;
  out.main = MainOf(use);
  if (out.main == nullptr) {
    out.not_enough_data = "neither CPU nor accelerator were collected";
    return out;
  }
  CHECK(use.written == nullptr || use.written->size() == out.main->size());
  if (out.main->KnownCount() < kWindowsForPhases) {
    out.not_enough_data =
        fmt::format("only {} windows are known", out.main->KnownCount());
    return out;
  }
  // MainOf has asked this of an accelerator.
  if (Quantile(out.main->KnownValues(), 0.9) < kCpuWorks) {
    out.not_enough_data = "the program hardly worked";
    return out;
  }
  // What nobody sampled is neither start-up nor end. A window or two are the
  // border.
  auto [from, to] = out.main->KnownRange();
  if (from <= kBorder) from = 0;
  if (out.main->size() - to <= kBorder) to = out.main->size();
  const RegularSeries main = out.main->Part(from, to);
  RunUse part;
  (out.main == use.accelerator ? part.accelerator : part.cpu) = &main;
  RegularSeries written;
  if (use.written != nullptr) {
    written = use.written->Part(from, to);
    part.written = &written;
  }
  out.list = Finder(part, main).Find();
  return out;
}

}  // namespace sonde

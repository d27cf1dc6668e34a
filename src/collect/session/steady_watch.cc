#include "collect/session/steady_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace sonde {
namespace {

constexpr size_t kMaxMoments = 1024;
constexpr int64_t kMinStretchNs = 1'500 * kNsPerMs;
constexpr int64_t kParts = 5;  // of the time so far: one stretch
constexpr int64_t kAcceleratorWaitNs = 30 * kNsPerSec;
constexpr double kAcceleratorWorks = 0.1;
constexpr double kCpuWorks = 0.05;  // cores
constexpr double kSame = 0.15;      // of the level
constexpr double kOfMost = 0.5;
constexpr double kLittleIo = 1e6;  // bytes a second

bool SameIo(double before, double now) {
  return std::max(before, now) < kLittleIo ||
         (now <= 2 * before && before <= 2 * now);
}

}  // namespace

SteadyWatch::Sums SteadyWatch::At(int64_t time_ns) const {
  const auto after = std::lower_bound(
      moments_.begin(), moments_.end(), time_ns,
      [](const Sums& moment, int64_t t) { return moment.time_ns < t; });
  if (after == moments_.begin()) return moments_.front();
  if (after == moments_.end()) return moments_.back();
  const Sums& a = *(after - 1);
  const Sums& b = *after;
  const double part = static_cast<double>(time_ns - a.time_ns) /
                      static_cast<double>(b.time_ns - a.time_ns);
  return {time_ns, a.cpu + part * (b.cpu - a.cpu),
          a.accelerator + part * (b.accelerator - a.accelerator),
          a.io + part * (b.io - a.io)};
}

SteadyWatch::Sums SteadyWatch::Mean(int64_t from_ns, int64_t to_ns) const {
  const Sums a = At(from_ns), b = At(to_ns);
  const double ns = static_cast<double>(to_ns - from_ns);
  return {to_ns, (b.cpu - a.cpu) / ns, (b.accelerator - a.accelerator) / ns,
          (b.io - a.io) / ns};
}

std::optional<SteadyWork> SteadyWatch::Add(
    int64_t now_ns, double cpu_cores, std::optional<double> accelerator_share,
    double io_bytes_per_s) {
  if (done_) return std::nullopt;
  if (moments_.empty()) {
    begin_ns_ = now_ns;
    moments_.push_back({now_ns, 0, 0, 0});
    return std::nullopt;
  }
  if (has_accelerator_ && !accelerator_share) {
    has_accelerator_ = false;
    moments_.assign(1, {now_ns, 0, 0, 0});
    apart_ns_ = 0;
  }
  const Sums& last = moments_.back();
  if (now_ns <= last.time_ns) return std::nullopt;
  const double ns = static_cast<double>(now_ns - last.time_ns);
  has_accelerator_ |= accelerator_share.has_value();
  Keep({now_ns, last.cpu + cpu_cores * ns,
        last.accelerator + accelerator_share.value_or(0) * ns,
        last.io + io_bytes_per_s * ns});
  std::optional<SteadyWork> found = Judge(now_ns);
  done_ = found.has_value();
  return found;
}

void SteadyWatch::Keep(const Sums& newest) {
  // The newest is always kept, the one before only if it is far enough from
  // the one before that.
  const size_t n = moments_.size();
  if (n >= 2 && moments_[n - 1].time_ns - moments_[n - 2].time_ns < apart_ns_)
    moments_.pop_back();
  moments_.push_back(newest);
  if (moments_.size() <= kMaxMoments) return;
  const int64_t elapsed = newest.time_ns - moments_.front().time_ns;
  apart_ns_ = 2 * elapsed / static_cast<int64_t>(kMaxMoments);
  size_t kept = 1;
  for (size_t i = 1; i + 1 < moments_.size(); ++i)
    if (moments_[i].time_ns - moments_[kept - 1].time_ns >= apart_ns_)
      moments_[kept++] = moments_[i];
  moments_[kept++] = newest;
  moments_.resize(kept);
}

std::optional<SteadyWork> SteadyWatch::Judge(int64_t now_ns) {
  const int64_t elapsed = now_ns - moments_.front().time_ns;
  if (elapsed >= kNsPerSec) {
    const Sums second = Mean(now_ns - kNsPerSec, now_ns);
    most_cpu_ = std::max(most_cpu_, second.cpu);
    most_accelerator_ = std::max(most_accelerator_, second.accelerator);
  }
  const int64_t stretch = std::max(kMinStretchNs, elapsed / kParts);
  if (elapsed >= 2 * stretch) {
    const Sums before = Mean(now_ns - 2 * stretch, now_ns - stretch);
    const Sums now = Mean(now_ns - stretch, now_ns);
    const bool accelerated = now.accelerator >= kAcceleratorWorks;
    const double level = accelerated ? now.accelerator : now.cpu;
    const double was = accelerated ? before.accelerator : before.cpu;
    const double most = accelerated ? most_accelerator_ : most_cpu_;
    const bool works =
        accelerated || (now.cpu >= kCpuWorks &&
                        (!has_accelerator_ || elapsed >= kAcceleratorWaitNs));
    if (works && std::abs(level - was) <= kSame * level &&
        level >= kOfMost * most && SameIo(before.io, now.io))
      return SteadyWork{
          now_ns - 2 * stretch,
          fmt::format("{} for {}",
                      accelerated
                          ? "the accelerator has kept " + FormatShare(level)
                          : fmt::format("the CPU has kept {:.2g} cores", level),
                      FormatDuration(2 * stretch))};
  }
  if (now_ns - begin_ns_ >= give_up_ns_)
    return SteadyWork{std::nullopt,
                      fmt::format("no steady level was seen in {}",
                                  FormatDuration(now_ns - begin_ns_))};
  return std::nullopt;
}

}  // namespace sonde

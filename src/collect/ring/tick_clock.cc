#include "collect/ring/tick_clock.h"

#include <algorithm>
#include <cstddef>

#include "base/fd.h"
#include "base/time.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace sonde {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int kReadings = 5;
constexpr size_t kMostPoints = 1 << 16;
constexpr int kScaleBits = 32;

// Nanoseconds of a tick, rounded down: a point's time is never overtaken by the
// line that leads to it.
uint64_t Scale(uint64_t ticks, int64_t ns) {
  return static_cast<uint64_t>(
      (static_cast<Wide>(static_cast<uint64_t>(ns)) << kScaleBits) / ticks);
}

}  // namespace

uint64_t ReadTicks() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#endif
}

bool TicksAreTime() {
#if defined(__x86_64__)
  uint32_t a = 0, b = 0, c = 0, d = 0;
  constexpr uint32_t kInvariant = 1u << 8;
  if (__get_cpuid(0x80000007, &a, &b, &c, &d) == 0 || (d & kInvariant) == 0)
    return false;
  // The kernel leaves the TSC for a timer chip when its cores disagree.
  const auto source = ReadFile(
      "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  return !source.ok() || (!source.value().starts_with("hpet") &&
                          !source.value().starts_with("acpi_pm") &&
                          !source.value().starts_with("jiffies"));
#else
  return true;
#endif
}

void TickClock::Take() {
  Pair best;
  uint64_t narrowest = UINT64_MAX;
  for (int i = 0; i < kReadings; ++i) {
    const uint64_t before = ReadTicks();
    const int64_t ns = NowNs();
    const uint64_t width = ReadTicks() - before;
    if (width >= narrowest) continue;
    narrowest = width;
    best = {before + width / 2, ns};
  }
  Add(best);
}

void TickClock::Add(const Pair& pair) {
  if (!points_.empty()) {
    Point& last = points_.back();
    if (pair.ticks <= last.ticks || pair.ns <= last.ns) return;
    last.scale = Scale(pair.ticks - last.ticks, pair.ns - last.ns);
  }
  points_.push_back({pair.ticks, pair.ns, 0});
  if (points_.size() > kMostPoints) Thin();
}

std::vector<TickClock::Pair> TickClock::Newest(int64_t span_ns,
                                               int64_t step_ns) const {
  std::vector<Pair> pairs;
  for (size_t i = points_.size(); i-- > 0;) {
    const Pair pair = {points_[i].ticks, points_[i].ns};
    if (!pairs.empty() && pairs.back().ns - pair.ns < step_ns && i > 0)
      continue;
    pairs.push_back(pair);
    if (points_.back().ns - pair.ns > span_ns) break;
  }
  std::reverse(pairs.begin(), pairs.end());
  return pairs;
}

// Leaves out every second point of the older half. Nearly all that is still
// converted is new.
void TickClock::Thin() {
  size_t kept = 0;
  for (size_t i = 0; i < points_.size(); ++i)
    if (i % 2 == 0 || i >= kMostPoints / 2) points_[kept++] = points_[i];
  points_.resize(kept);
  for (size_t i = 0; i + 1 < points_.size(); ++i)
    points_[i].scale = Scale(points_[i + 1].ticks - points_[i].ticks,
                             points_[i + 1].ns - points_[i].ns);
}

int64_t TickClock::ToNs(uint64_t ticks) const {
  if (points_.empty()) return 0;
  if (ticks <= points_.front().ticks) return points_.front().ns;
  if (ticks >= points_.back().ticks) return points_.back().ns;
  size_t at = points_.size() - 2;
  if (ticks < points_[at].ticks)
    at = static_cast<size_t>(
             std::upper_bound(points_.begin(), points_.end(), ticks,
                              [](uint64_t t, const Point& point) {
                                return t < point.ticks;
                              }) -
             points_.begin()) -
         1;
  const Point& from = points_[at];
  const auto product = static_cast<Wide>(ticks - from.ticks) * from.scale;
  return from.ns + static_cast<int64_t>(product >> kScaleBits);
}

}  // namespace sonde

// throttled: does an accelerator run slower than it could?
//
// Evidence: in kMinTime of the time in which it works (kWorks), the device says
// that heat holds it back; or it gives another reason, and its clock is below
// kSlowed of the highest that it had while it worked. Power alone is none: a
// device at its power limit does what it was bought for. A device that gives no
// reasons is judged by its clock, with less confidence.

#include <fmt/format.h>

#include <algorithm>

#include "analyze/facts/accelerators.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "analyze/series/run_series.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kWorks = 0.30;
constexpr double kMinTime = 0.20;
constexpr double kSlowed = 0.90;
constexpr double kCritical = 0.70;
constexpr size_t kMinWindows = 10;

// One device while it works.
struct Slowdown {
  const Accelerator* device = nullptr;
  size_t windows = 0;  // it works in
  double hot = 0;      // share of them: heat
  double slow = 0;     // share of them: the clock is low
  double clock = 1;    // of the highest, while it is low or hot
  double highest = 0;  // MHz
  bool by_heat = false, by_power = false;  // a reason, while it is slow or hot
  bool told = false;                       // it gives reasons

  bool found() const {
    if (windows < kMinWindows) return false;
    return hot >= kMinTime || slow >= kMinTime;
  }
};

Slowdown SlowdownOf(const Facts& facts, const Accelerator& device) {
  Slowdown out;
  out.device = &device;
  const auto find = [&](const char* what) {
    return facts.series->Find(
        fmt::format("gpu{}_{}", device.facts->index, what));
  };
  const RegularSeries* const busy = find("busy");
  const RegularSeries* const clock = find("clock");
  const RegularSeries* const throttle = find("throttle");
  const RegularSeries* const heat = find("throttle_heat");
  const RegularSeries* const power = find("throttle_power");
  if (busy == nullptr) return out;
  out.told = throttle != nullptr;
  const auto works = [&](size_t i) {
    return busy->known[i] && busy->values[i] >= kWorks;
  };
  for (size_t i = 0; clock != nullptr && i < busy->size(); ++i)
    if (works(i) && clock->known[i])
      out.highest = std::max(out.highest, clock->values[i]);
  size_t hot = 0, slow = 0;
  double clocks = 0, counted = 0;
  for (size_t i = 0; i < busy->size(); ++i) {
    if (!works(i)) continue;
    ++out.windows;
    // The greater part of a window decides.
    const auto says = [i](const RegularSeries* reason) {
      return reason != nullptr && reason->known[i] && reason->values[i] >= 0.5;
    };
    const bool is_slow = out.highest > 0 && clock->known[i] &&
                         clock->values[i] < kSlowed * out.highest;
    const bool is_hot = says(heat);
    if (is_slow || is_hot) {
      out.by_heat |= is_hot;
      out.by_power |= says(power);
    }
    hot += is_hot;
    slow += is_slow && (says(throttle) || !out.told);
    if ((is_slow || is_hot) && out.highest > 0 && clock->known[i]) {
      clocks += clock->values[i] / out.highest;
      ++counted;
    }
  }
  if (out.windows == 0) return out;
  out.hot = static_cast<double>(hot) / static_cast<double>(out.windows);
  out.slow = static_cast<double>(slow) / static_cast<double>(out.windows);
  if (counted > 0) out.clock = clocks / counted;
  return out;
}

std::string ReasonOf(const Slowdown& s) {
  if (!s.told) return "for a reason it does not tell";
  std::string out;
  if (s.by_heat) out = "heat";
  if (s.by_power)
    out += out.empty() ? "its power limit" : " and its power limit";
  return "by " + (out.empty() ? std::string("something else") : out);
}

}  // namespace

Outcome Throttled(const Case& about) {
  const Facts& facts = about.facts();
  const Accelerators& devices = about.accelerators();
  std::vector<Slowdown> found;
  for (const Accelerator& d : devices.used)
    if (const Slowdown s = SlowdownOf(facts, d); s.found()) found.push_back(s);
  if (found.empty()) return {};
  const Slowdown& worst = *std::min_element(
      found.begin(), found.end(),
      [](const Slowdown& a, const Slowdown& b) { return a.clock < b.clock; });
  const double time = std::max(worst.hot, worst.slow);
  const double lost = time * (1 - worst.clock);

  Finding f = FindingIn(devices.from_ns, devices.to_ns);
  if (worst.clock < kCritical) f.severity = Severity::kCritical;
  f.summary =
      fmt::format("{} is held back {}, for {} of the time it works.",
                  worst.device->Call(), ReasonOf(worst), FormatShare(time));
  for (const Slowdown& s : found) {
    Say(f, s.highest > 0
               ? fmt::format("{} ran at {} of the {:.0f} MHz that it reached "
                             "while it worked, {} of its working time.",
                             s.device->Call(), FormatShare(s.clock), s.highest,
                             FormatShare(std::max(s.hot, s.slow)))
               : fmt::format("{} said so for {} of its working time.",
                             s.device->Call(), FormatShare(s.hot)));
    if (s.device->facts->temperature_peak_c)
      SayOfRun(f, facts,
               fmt::format("The device was at most {:.0f} degrees hot.",
                           *s.device->facts->temperature_peak_c));
  }
  PutTime(f, time);
  PutNumber(f, "clock", worst.clock, Unit::kShare);
  if (worst.highest > 0)
    PutNumber(f, "highest_clock", worst.highest, Unit::kMegahertz);
  PutNumber(f, "hottest", worst.device->facts->temperature_peak_c,
            Unit::kCelsius);
  f.advice =
      worst.by_heat
          ? "Cool the device better: free its air flow, look at its fans, "
            "lower the room's temperature, or spread the work over more "
            "devices. `nvidia-smi -q -d TEMPERATURE,PERFORMANCE` shows its "
            "limits."
          : "Look at what limits the clock of the device: `nvidia-smi -q -d "
            "POWER,CLOCK,PERFORMANCE`. If the power limit was lowered, `sudo "
            "nvidia-smi -pl WATTS` raises it up to what the card allows; a "
            "clock that was locked is freed by `sudo nvidia-smi -rgc`.";
  if (lost > 0)
    f.gain = Gain{lost * (1 - devices.IdleShare()) * devices.OfRun(facts),
                  "if the device always ran at its highest clock"};
  f.confidence = worst.told ? 0.85 : 0.5;
  return {{std::move(f)}, ""};
}

}  // namespace sonde

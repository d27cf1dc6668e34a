#include "analyze/accelerators.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "analyze/pattern/run_series.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kMinBusy = 0.05;
constexpr double kMuchBusy = 0.5;
constexpr double kMinMemory = 0.01;
constexpr double kMaxTrimBegin = 0.5;
constexpr double kMaxTrimEnd = 0.2;
constexpr double kWorkLevel = 0.5;  // of the level that it exceeds for 10 %
constexpr size_t kMinWindows = 10;

RegularSeries SeriesOf(const RunSeries& run, const DeviceFacts& device,
                       const char* what) {
  const RegularSeries* const found =
      run.Find(fmt::format("gpu{}_{}", device.index, what));
  return found == nullptr ? RegularSeries() : *found;
}

// Somebody took memory on it during the run; before, it had less.
bool Grew(const RunSeries& run, const DeviceFacts& device) {
  const std::vector<double> memory =
      SeriesOf(run, device, "memory").KnownValues();
  const double total = device.memory_total_bytes.value_or(0);
  return !memory.empty() && total > 0 &&
         *device.memory_peak_bytes - memory[0] >= kMinMemory * total;
}

// It had nothing to do before the run could give it any, and much after.
bool Began(const RunSeries& run, const DeviceFacts& device) {
  const std::vector<double> busy = SeriesOf(run, device, "busy").KnownValues();
  return !busy.empty() && busy[0] < kMinBusy && *device.busy_mean >= kMuchBusy;
}

// It works all the time, and tells of nobody who uses it, as one does that is
// seen from a container. Then it may well be the run's: silence does no harm.
bool AlwaysWorks(const DeviceFacts& device) {
  return !device.tells_users && device.busy_mean.value_or(0) >= kWellUsed;
}

// The mean of what the devices lack to being busy, of those that tell it.
RegularSeries IdleOf(const std::vector<Accelerator>& devices,
                     const Grid& grid) {
  std::vector<const RegularSeries*> busy;
  for (const Accelerator& d : devices) busy.push_back(&d.busy);
  RegularSeries out = MeanOfAll(busy, grid, "idle", "share");
  for (double& value : out.values) value = std::max(0.0, 1 - value);
  return out;
}

// The windows [first, second) without start-up and winding down.
std::pair<size_t, size_t> JudgedPart(const RegularSeries& idle) {
  size_t from = 0, to = idle.size();
  std::vector<double> busy = idle.KnownValues();
  for (double& one : busy) one = 1 - one;
  if (busy.empty()) return {from, to};
  const double work = Quantile(busy, 0.9) * kWorkLevel;
  const auto works = [&](size_t i) {
    return idle.known[i] && 1 - idle.values[i] >= work;
  };
  const auto most = [&](double share) {
    return static_cast<size_t>(share * static_cast<double>(idle.size()));
  };
  while (from < most(kMaxTrimBegin) && !works(from)) ++from;
  while (to > from + 1 && idle.size() - to < most(kMaxTrimEnd) &&
         !works(to - 1))
    --to;
  return {from, to};
}

// What is judged of a series of the run; empty if it was not collected.
RegularSeries Judged(const Facts& facts, const char* name) {
  const RegularSeries* const found = facts.series->Find(name);
  return found == nullptr ? RegularSeries() : JudgedOf(facts, *found);
}

}  // namespace

std::string Accelerator::Call() const {
  const std::string name = Printable(facts->name, 40);
  return name.empty() ? fmt::format("GPU {}", facts->index)
                      : fmt::format("GPU {} ({})", facts->index, name);
}

double MeanOf(const RegularSeries& series) {
  const std::vector<double> values = series.KnownValues();
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

double Accelerators::IdleShare() const { return MeanOf(idle); }

bool Accelerators::WellUsed() const {
  const bool own = std::any_of(used.begin(), used.end(),
                               [](const Accelerator& one) { return one.own; });
  return own && judged() && busy_known() && IdleShare() <= 1 - kWellUsed;
}

double Accelerators::OfRun(const Facts& facts) const {
  const double run_ns = static_cast<double>(facts.run.wall_ns);
  return std::clamp(
      static_cast<double>(to_ns - from_ns) / std::max(1.0, run_ns), 0.0, 1.0);
}

void Accelerators::Keep(const std::function<bool(const Accelerator&)>& test) {
  std::erase_if(used, [&](const Accelerator& one) { return !test(one); });
  idle = IdleOf(used, grid);
}

MaybeNumber Accelerators::WhileIdle(const Facts& facts,
                                    const char* series) const {
  const RegularSeries whole = Judged(facts, series);
  if (whole.size() == 0) return std::nullopt;
  double sum = 0, weight = 0;
  // Both lie on the run's windows; `idle` begins later.
  const size_t first = static_cast<size_t>(
      (grid.begin_ns - whole.grid.begin_ns) / whole.grid.step_ns);
  for (size_t i = 0; i < idle.size() && first + i < whole.size(); ++i) {
    if (!idle.known[i] || !whole.known[first + i]) continue;
    sum += idle.values[i] * whole.values[first + i];
    weight += idle.values[i];
  }
  if (weight <= 0) return std::nullopt;
  return sum / weight;
}

MaybeNumber Accelerators::ShareWhere(
    const Facts& facts, const char* series,
    const std::function<bool(double)>& test) const {
  const RegularSeries whole = Judged(facts, series);
  if (whole.size() == 0) return std::nullopt;
  const size_t first = static_cast<size_t>(
      (grid.begin_ns - whole.grid.begin_ns) / whole.grid.step_ns);
  double yes = 0, all = 0;
  for (size_t i = first; i < first + idle.size() && i < whole.size(); ++i) {
    if (!whole.known[i]) continue;
    yes += test(whole.values[i]) ? 1 : 0;
    ++all;
  }
  if (all == 0) return std::nullopt;
  return yes / all;
}

std::vector<Accelerator> UsedDevices(const std::vector<DeviceFacts>& devices,
                                     const RunSeries& run) {
  bool told = false;
  for (const DeviceFacts& d : devices) told |= !d.holders.empty();
  std::vector<Accelerator> out;
  for (const DeviceFacts& d : devices) {
    Accelerator one;
    one.facts = &d;
    one.own = told ? !d.holders.empty()
                   : Grew(run, d) || Began(run, d) || AlwaysWorks(d);
    const bool works = d.busy_mean
                           ? *d.busy_mean >= kMinBusy
                           : d.memory_peak_share.value_or(0) >= kMinMemory;
    if (one.own || (!told && works)) out.push_back(std::move(one));
  }
  return out;
}

Accelerators AcceleratorsOf(const Facts& facts) {
  Accelerators out;
  out.used = UsedDevices(facts.devices, *facts.series);
  for (Accelerator& one : out.used) {
    one.busy = SeriesOf(*facts.series, *one.facts, "busy");
    one.memory = SeriesOf(*facts.series, *one.facts, "memory");
    const double total = one.facts->memory_total_bytes.value_or(0);
    if (total <= 0) one.memory = {};
    for (double& value : one.memory.values) value /= total;
  }
  if (out.used.empty()) return out;
  out.idle = IdleOf(out.used, facts.series->grid);
  const auto [from, to] = JudgedPart(out.idle);
  out.idle = out.idle.Part(from, to);
  out.grid = out.idle.grid;
  out.from_ns = out.grid.begin_ns;
  out.to_ns = std::min(out.grid.end_ns, facts.run.end_ns);
  size_t windows = 0;
  for (Accelerator& one : out.used) {
    if (one.busy_known()) one.busy = one.busy.Part(from, to);
    if (one.memory_known()) one.memory = one.memory.Part(from, to);
    one.busy_mean = MeanOf(one.busy);
    one.memory_mean = MeanOf(one.memory);
    windows =
        std::max({windows, one.busy.KnownCount(), one.memory.KnownCount()});
  }
  if (windows < kMinWindows)
    out.not_enough_data =
        fmt::format("the accelerators were sampled only {} time{}", windows,
                    windows == 1 ? "" : "s");
  return out;
}

std::string CallDevices(const std::vector<const Accelerator*>& devices) {
  std::string out;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (i > 0) out += i + 1 == devices.size() ? " and " : ", ";
    out += fmt::format("{}", devices[i]->facts->index);
  }
  return "GPU " + out;
}

}  // namespace sonde

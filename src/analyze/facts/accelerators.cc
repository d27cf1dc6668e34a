#include "analyze/facts/accelerators.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/facts/part_series.h"
#include "analyze/series/run_series.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kMaxTrimBegin = 0.5;
constexpr double kMaxTrimEnd = 0.2;
constexpr size_t kMinWindows = 10;

RegularSeries SeriesOf(const RunSeries& run, const DeviceFacts& device,
                       const char* what) {
  const RegularSeries* const found =
      run.Find(fmt::format("gpu{}_{}", device.index, what));
  return found == nullptr ? RegularSeries() : *found;
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

bool Accelerators::WellUsed() const {
  const bool own = std::any_of(used.begin(), used.end(),
                               [](const Accelerator& one) { return one.own; });
  return own && judged() && busy_known() && IdleShare() <= 1 - kWellUsed;
}

double Accelerators::OfRun(const Facts& facts) const {
  const double known_ns = static_cast<double>(idle.KnownCount()) *
                          static_cast<double>(grid.step_ns);
  return std::min(1.0, known_ns / facts.JudgedNs());
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

Accelerators AcceleratorsOf(const Facts& facts) {
  Accelerators out;
  for (const UsedDevice& used : UsedDevices(facts.devices, *facts.series)) {
    Accelerator& one = out.used.emplace_back();
    one.facts = used.facts;
    one.own = used.own;
    one.busy = SeriesOf(*facts.series, *one.facts, "busy");
    one.memory = SeriesOf(*facts.series, *one.facts, "memory");
    const double total = one.facts->memory_total_bytes.value_or(0);
    if (total <= 0) one.memory = {};
    for (double& value : one.memory.values) value /= total;
  }
  if (out.used.empty()) return out;
  out.idle = IdleOf(out.used, facts.series->grid);
  RegularSeries busy = out.idle;
  for (double& value : busy.values) value = 1 - value;
  const auto [from, to] = WorkingPart(busy, kMaxTrimBegin, kMaxTrimEnd);
  out.idle = out.idle.Part(from, to);
  out.grid = out.idle.grid;
  out.from_ns = out.grid.begin_ns;
  out.to_ns = std::min(out.grid.end_ns, facts.run.end_ns);
  size_t windows = 0;
  for (Accelerator& one : out.used) {
    if (one.busy_known()) one.busy = one.busy.Part(from, to);
    if (one.memory_known()) one.memory = one.memory.Part(from, to);
    one.busy_mean = one.busy.Mean();
    one.memory_mean = one.memory.Mean();
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

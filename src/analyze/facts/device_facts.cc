#include "analyze/facts/device_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "analyze/series/counter_scan.h"
#include "analyze/series/run_series.h"

namespace sonde {
namespace {

constexpr double kMinBusy = 0.05;
constexpr double kMuchBusy = 0.5;
constexpr double kMinMemory = 0.01;

// The known values of one of the device's series; empty if it has none.
std::vector<double> ValuesOf(const RunSeries& series, uint32_t index,
                             const char* what) {
  const RegularSeries* const one =
      series.Find(fmt::format("gpu{}_{}", index, what));
  return one == nullptr ? std::vector<double>() : one->KnownValues();
}

MaybeNumber Mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

MaybeNumber Peak(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return *std::max_element(values.begin(), values.end());
}

MaybeNumber Below(const std::vector<double>& values, double q) {
  if (values.empty()) return std::nullopt;
  return Quantile(values, q);
}

}  // namespace

DeviceFacts DeviceFactsOf(const RunSeries& series, uint32_t index) {
  DeviceFacts out;
  out.index = index;
  const std::vector<double> busy = ValuesOf(series, index, "busy");
  out.busy_mean = Mean(busy);
  out.busy_p5 = Below(busy, 0.05);
  out.busy_p95 = Below(busy, 0.95);
  const std::vector<double> memory = ValuesOf(series, index, "memory");
  out.memory_peak_bytes = Peak(memory);
  out.memory_total_bytes = Peak(ValuesOf(series, index, "memory_total"));
  if (out.memory_peak_bytes && out.memory_total_bytes.value_or(0) > 0) {
    out.memory_mean_share = *Mean(memory) / *out.memory_total_bytes;
    out.memory_peak_share = *out.memory_peak_bytes / *out.memory_total_bytes;
  }
  out.throttled_share = Mean(ValuesOf(series, index, "throttle"));
  out.clock_mean_mhz = Mean(ValuesOf(series, index, "clock"));
  out.power_mean_w = Mean(ValuesOf(series, index, "power"));
  out.temperature_peak_c = Peak(ValuesOf(series, index, "temperature"));
  return out;
}

std::vector<DeviceFacts> DevicesOf(const Store& store,
                                   const RunSeries& series) {
  std::map<uint32_t, std::string_view> names;
  std::map<uint32_t, std::set<uint32_t>> holders;
  std::set<uint32_t> told;
  std::map<uint32_t, uint32_t> numbers;  // by id; a row may be lost
  for (const auto& [id, device] : store.rows().Of<Device>())
    numbers[id] = device.index;
  for (const auto& [id, row] : store.series())
    if (row.scope == Series::Scope::kDevice && row.device != 0)
      numbers[row.device] = row.scope_id;
  for (const auto& [id, row] : store.series()) {
    if (store.OfProgram(row)) continue;
    if (row.scope == Series::Scope::kDevice) {
      std::string_view& name = names[row.scope_id];
      if (name.empty()) name = store.Str(row.label);
      if (store.Str(row.name) == "gpu_users") told.insert(row.scope_id);
    } else if (const auto number = numbers.find(row.device);
               number != numbers.end() &&
               row.scope == Series::Scope::kProcess &&
               store.Str(row.name) == "gpu_mem_used_bytes") {
      holders[number->second].insert(row.scope_id);
    }
  }
  std::vector<DeviceFacts> out;
  for (const auto& [index, name] : names) {
    DeviceFacts one = DeviceFactsOf(series, index);
    one.name = name;
    one.holders.assign(holders[index].begin(), holders[index].end());
    one.tells_users = told.contains(index) || !one.holders.empty();
    out.push_back(std::move(one));
  }
  return out;
}

void PutPeaks(const Scan& scan, std::vector<DeviceFacts>& devices) {
  for (DeviceFacts& one : devices) {
    const auto find = [&](const char* name) {
      return scan.Find(Series::Scope::kDevice, one.index, name);
    };
    if (const SeriesStat* const used = find("gpu_mem_used_bytes")) {
      one.memory_peak_bytes = used->max;
      if (one.memory_total_bytes.value_or(0) > 0)
        one.memory_peak_share = used->max / *one.memory_total_bytes;
    }
    if (const SeriesStat* const heat = find("gpu_temp_c"))
      one.temperature_peak_c = heat->max;
  }
}

namespace {

// Somebody took memory on it during the run; before, it had less.
bool Grew(const RunSeries& run, const DeviceFacts& device) {
  const std::vector<double> memory = ValuesOf(run, device.index, "memory");
  const double total = device.memory_total_bytes.value_or(0);
  return !memory.empty() && total > 0 &&
         *device.memory_peak_bytes - memory[0] >= kMinMemory * total;
}

// It had nothing to do before the run could give it any, and much after.
bool Began(const RunSeries& run, const DeviceFacts& device) {
  const std::vector<double> busy = ValuesOf(run, device.index, "busy");
  return !busy.empty() && busy[0] < kMinBusy && *device.busy_mean >= kMuchBusy;
}

// It works all the time, and tells of nobody who uses it, as one does that is
// seen from a container. Then it may well be the run's: silence does no harm.
bool AlwaysWorks(const DeviceFacts& device) {
  return !device.tells_users && device.busy_mean.value_or(0) >= kWellUsed;
}

// How busy each accelerator is, by index.
std::map<uint32_t, const RegularSeries*> BusySeries(
    const RunSeries& run, const std::vector<DeviceFacts>& devices) {
  std::map<uint32_t, const RegularSeries*> out;
  for (const DeviceFacts& device : devices)
    if (const RegularSeries* const busy =
            run.Find(fmt::format("gpu{}_busy", device.index)))
      out[device.index] = busy;
  return out;
}

// Those that the run used; if it used none, those that ever work; else all.
// Of eight devices seven may be somebody else's, or nobody's.
std::vector<const RegularSeries*> BusyOfTheRun(
    const std::vector<DeviceFacts>& devices, const RunSeries& whole,
    const RunSeries& run) {
  const auto all = BusySeries(run, devices);
  std::vector<const RegularSeries*> out;
  for (const UsedDevice& one : UsedDevices(devices, whole))
    if (const auto at = all.find(one.facts->index); at != all.end())
      out.push_back(at->second);
  for (const bool working : {true, false}) {
    if (!out.empty()) break;
    for (const auto& [index, busy] : all)
      if (!working || busy->Mean() > 0) out.push_back(busy);
  }
  return out;
}

}  // namespace

std::vector<UsedDevice> UsedDevices(const std::vector<DeviceFacts>& devices,
                                    const RunSeries& run) {
  bool told = false;
  for (const DeviceFacts& d : devices) told |= !d.holders.empty();
  std::vector<UsedDevice> out;
  for (const DeviceFacts& d : devices) {
    const bool own = told ? !d.holders.empty()
                          : Grew(run, d) || Began(run, d) || AlwaysWorks(d);
    const bool works = d.busy_mean
                           ? *d.busy_mean >= kMinBusy
                           : d.memory_peak_share.value_or(0) >= kMinMemory;
    if (own || (!told && works)) out.push_back({&d, own});
  }
  return out;
}

void PutAccelerator(const std::vector<DeviceFacts>& devices,
                    const RunSeries& whole, RunSeries& out) {
  const std::vector<const RegularSeries*> busy =
      BusyOfTheRun(devices, whole, out);
  if (!busy.empty())
    out.all.push_back(MeanOfAll(busy, out.grid, "accelerator", "share"));
}

}  // namespace sonde

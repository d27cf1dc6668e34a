#ifndef SONDE_ANALYZE_FACTS_DEVICE_FACTS_H_
#define SONDE_ANALYZE_FACTS_DEVICE_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/store.h"

namespace sonde {

struct RunSeries;
struct Scan;

// One accelerator while it was recorded, whoever used it. What it does not tell
// is absent. Shares and means are over the time for which they are known.
struct DeviceFacts {
  uint32_t index = 0;
  std::string name;  // as recorded, not escaped
  // Of the time, something ran on it: mean, and what lay below for 5 % and 95 %
  // of the run's windows.
  std::optional<double> busy_mean, busy_p5, busy_p95;
  std::optional<double> memory_peak_bytes, memory_total_bytes;
  std::optional<double> memory_mean_share, memory_peak_share;  // of its own
  std::optional<double>
      throttled_share;  // of the time, the device gave a reason
  std::optional<double> clock_mean_mhz, power_mean_w, temperature_peak_c;
  // Numbers of the run's processes that held memory on it. Empty also if the
  // device does not tell who does.
  std::vector<uint32_t> holders;
  // The device told of a process that uses it, the run's or not.
  bool tells_users = false;
};

// From here on, an accelerator is well used and nothing holds it up.
inline constexpr double kWellUsed = 0.90;

// What the series tell of one device: all but its name and its holders.
DeviceFacts DeviceFactsOf(const RunSeries& series, uint32_t index);

// By index. Of windows of the run, so what is shorter than one is smoothed,
// also the peaks.
std::vector<DeviceFacts> DevicesOf(const Store& store, const RunSeries& series);

// The peaks of the samples themselves.
void PutPeaks(const Scan& scan, std::vector<DeviceFacts>& devices);

// A device that the run used, surely (`own`) or perhaps.
struct UsedDevice {
  const DeviceFacts* facts;
  bool own;
};

// A device is the run's if one of the run's processes holds memory on it. If no
// device tells who does, it is each whose memory grew by 1 % during the run, or
// that had nothing to do when the run began and is busy half of the time, or
// that is kWellUsed and has told of no user at all; and
// each that works for 5 % of the time (of one that does not tell how busy it
// is: has 1 % of its memory filled), though that may be somebody else's work.
std::vector<UsedDevice> UsedDevices(const std::vector<DeviceFacts>& devices,
                                    const RunSeries& run);

// Adds `accelerator` to the series. Which devices the run used is told by
// `whole`, the series of the whole run.
void PutAccelerator(const std::vector<DeviceFacts>& devices,
                    const RunSeries& whole, RunSeries& out);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_DEVICE_FACTS_H_

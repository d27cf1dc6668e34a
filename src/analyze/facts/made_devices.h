// Accelerators made up for tests, put beside a run that was made up.

#ifndef SONDE_ANALYZE_FACTS_MADE_DEVICES_H_
#define SONDE_ANALYZE_FACTS_MADE_DEVICES_H_

#include <fmt/format.h>

#include <vector>

#include "analyze/facts/facts.h"
#include "analyze/facts/made_run.h"

namespace sonde {

// One accelerator: what it would tell at each moment. Empty: it does not.
struct MadeDevice {
  MadeRun::Load busy = {};      // share
  MadeRun::Load memory = {};    // share of its 16 GB
  MadeRun::Load clock = {};     // MHz
  MadeRun::Load throttle = {};  // bits of docs/devices.md
};

// The facts of a run on a machine with these accelerators.
inline Facts WithDevices(const MadeRun& run,
                         const std::vector<MadeDevice>& devices) {
  Facts facts = run.Make();
  for (size_t i = 0; i < devices.size(); ++i) {
    const auto put = [&](const char* what, const MadeRun::Load& load) {
      if (load) PutSeries(facts, fmt::format("gpu{}_{}", i, what), load);
    };
    const MadeDevice& d = devices[i];
    put("busy", d.busy);
    if (d.memory) {
      put("memory", [&](double s) { return d.memory(s) * 16e9; });
      put("memory_total", MadeRun::Always(16e9));
    }
    put("clock", d.clock);
    const auto put_bits = [&](const char* what, unsigned bits) {
      put(what, [&, bits](double s) {
        return (static_cast<unsigned>(d.throttle(s)) & bits) != 0 ? 1.0 : 0.0;
      });
    };
    if (d.throttle) {
      put_bits("throttle", ~0u);
      put_bits("throttle_power", 1);
      put_bits("throttle_heat", 2);
    }
    facts.devices.push_back(
        DeviceFactsOf(*facts.series, static_cast<uint32_t>(i)));
  }
  return facts;
}

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_MADE_DEVICES_H_

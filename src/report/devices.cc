#include "report/devices.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/words.h"

namespace sonde {

Lines DeviceLines(const Facts& facts) {
  static const std::vector<Column> kTable = {
      {"Device", 26}, {"busy", 8}, {"p5", 8},        {"p95", 8},
      {"max mem", 9}, {"of", 9},   {"throttled", 10}};
  Lines out;
  if (facts.devices.empty()) return out;
  out.push_back(TitlesOf(kTable));
  for (const DeviceFacts& d : facts.devices)
    out.push_back(
        RowOf(kTable, {fmt::format("{} {}", d.index, Printable(d.name, 60)),
                       Share(d.busy_mean), Share(d.busy_p5), Share(d.busy_p95),
                       Bytes(d.memory_peak_bytes), Bytes(d.memory_total_bytes),
                       Share(d.throttled_share)}));
  Append(out, Wrap("",
                   "busy: share of the time, also by others; below p5 and p95 "
                   "for 5 and 95 % of it"));
  return out;
}

}  // namespace sonde

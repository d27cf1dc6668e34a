#include "report/cgroups.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/words.h"

namespace sonde {
namespace {

// What a limit did: the part that everybody should see.
std::string LimitText(const CgroupFacts& c) {
  std::string text;
  const auto add = [&](const std::string& part) { text += ", " + part; };
  if (c.memory_peak_bytes && c.memory_limit_bytes.value_or(0) > 0)
    add(fmt::format("memory at most {} of its limit {} ({})",
                    FormatBytes(*c.memory_peak_bytes),
                    FormatBytes(*c.memory_limit_bytes),
                    FormatShare(*c.memory_peak_bytes / *c.memory_limit_bytes)));
  if (c.oom_kills.value_or(0) > 0)
    add(fmt::format("{:.0f} killed for lack of memory", *c.oom_kills));
  if (c.throttled_periods.value_or(0) > 0 && c.periods.value_or(0) > 0)
    add(fmt::format("CPU throttled in {} of the periods",
                    FormatShare(*c.throttled_periods / *c.periods)));
  return text;
}

std::string UseText(const CgroupFacts& c) {
  std::string text;
  const auto add = [&](const std::string& part) { text += ", " + part; };
  if (c.memory_peak_bytes && c.memory_limit_bytes.value_or(0) <= 0)
    add(fmt::format("memory at most {}", FormatBytes(*c.memory_peak_bytes)));
  if (c.cache_peak_bytes)
    add(fmt::format("files in it at most {}",
                    FormatBytes(*c.cache_peak_bytes)));
  if (c.limit_hits.value_or(0) > 0)
    add(fmt::format("limit reached {:.0f} times", *c.limit_hits));
  if (c.cpu_ns) add(fmt::format("CPU {}", FormatDuration(*c.cpu_ns)));
  if (c.throttled_ns.value_or(0) > 0)
    add(fmt::format("throttled for {}", FormatDuration(*c.throttled_ns)));
  if (c.read_bytes && c.write_bytes)
    add(fmt::format("disks read {}, wrote {}", FormatBytes(*c.read_bytes),
                    FormatBytes(*c.write_bytes)));
  if (c.psi_cpu_some || c.psi_io_some || c.psi_memory_some)
    add(fmt::format("pressure CPU {}, I/O {}, memory {}", Share(c.psi_cpu_some),
                    Share(c.psi_io_some), Share(c.psi_memory_some)));
  return text;
}

}  // namespace

Lines CgroupLines(const Facts& facts, bool brief) {
  Lines out;
  for (const CgroupFacts& c : facts.cgroups) {
    std::string text = LimitText(c);
    if (!brief) text += UseText(c);
    if (!text.empty())
      Append(out,
             Wrap("Cgroup   ", Printable(c.path, 80) + ": " + text.substr(2)));
  }
  return out;
}

}  // namespace sonde

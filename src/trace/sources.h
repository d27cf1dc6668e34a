// Who makes rows of a trace. A row says it by name, so that probes and
// importers bring names of their own; these are the names of the collector.

#ifndef SONDE_TRACE_SOURCES_H_
#define SONDE_TRACE_SOURCES_H_

#include <algorithm>
#include <array>
#include <string_view>

namespace sonde {

namespace source {
inline constexpr std::string_view kTasks = "tasks";      // /proc/PID
inline constexpr std::string_view kMachine = "machine";  // /proc, /sys
inline constexpr std::string_view kCgroups = "cgroups";
inline constexpr std::string_view kDevices = "devices";  // accelerators
inline constexpr std::string_view kTree = "tree";        // forks, execs, exits
inline constexpr std::string_view kSession = "session";  // marks, pauses
// The program itself, through libsonde.
inline constexpr std::string_view kApi = "api";
inline constexpr std::string_view kItt = "itt";
inline constexpr std::string_view kNvtx = "nvtx";
inline constexpr std::string_view kCalls = "calls";  // watched libraries
}  // namespace source

// Whether the collector measured it. All other sources say what a program, or
// somebody on its behalf, tells: there a counter `cpu_ns` is none of ours.
inline bool OfCollector(std::string_view source) {
  constexpr std::array kOurs = {source::kTasks,   source::kMachine,
                                source::kCgroups, source::kDevices,
                                source::kTree,    source::kSession};
  return std::find(kOurs.begin(), kOurs.end(), source) != kOurs.end();
}

}  // namespace sonde

#endif  // SONDE_TRACE_SOURCES_H_

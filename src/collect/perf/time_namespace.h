#ifndef SONDE_COLLECT_PERF_TIME_NAMESPACE_H_
#define SONDE_COLLECT_PERF_TIME_NAMESPACE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace sonde {

// In a time namespace our clock is the machine's with an offset. The kernel
// brings /proc and timers to it; times in perf records are the machine's.

// What is to be added to the machine's monotonic clock to get ours. Nothing if
// it cannot be known: /proc tells the offset that our children have, and they
// are in another namespace than we.
std::optional<int64_t> MonotonicOffsetNs();

// The same of the text of /proc/PID/timens_offsets.
std::optional<int64_t> ParseMonotonicOffset(std::string_view text);

}  // namespace sonde

#endif  // SONDE_COLLECT_PERF_TIME_NAMESPACE_H_

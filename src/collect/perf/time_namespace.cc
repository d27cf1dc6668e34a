#include "collect/perf/time_namespace.h"

#include <sys/stat.h>

#include <cstdio>
#include <string>

#include "base/fd.h"
#include "base/time.h"

namespace sonde {
namespace {

bool SameNamespace(const char* a, const char* b) {
  struct stat one, other;
  return ::stat(a, &one) == 0 && ::stat(b, &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

std::optional<int64_t> ParseMonotonicOffset(std::string_view text) {
  constexpr long long kMostSeconds = 1ll << 33;
  long long seconds = 0, ns = 0;
  if (std::sscanf(std::string(text).c_str(), "monotonic %lld %lld", &seconds,
                  &ns) != 2 ||
      seconds < -kMostSeconds || seconds > kMostSeconds || ns < 0 ||
      ns >= kNsPerSec)
    return std::nullopt;
  return seconds * kNsPerSec + ns;
}

std::optional<int64_t> MonotonicOffsetNs() {
  const auto text = ReadFile("/proc/self/timens_offsets");
  if (!text.ok()) return 0;  // a kernel without time namespaces
  if (!SameNamespace("/proc/self/ns/time", "/proc/self/ns/time_for_children"))
    return std::nullopt;
  return ParseMonotonicOffset(text.value());
}

}  // namespace sonde

// What a session needs besides what it collects.

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/text.h"
#include "base/time.h"
#include "collect/gatherer.h"
#include "collect/perf/time_namespace.h"
#include "collect/proc/container.h"
#include "collect/proc/proc_file.h"

namespace sonde {
namespace {

SourceState CheckSessionDir() {
  // At most a twentieth of a memory file system is taken.
  constexpr double kPartOfRoom = 0.05;
  constexpr double kLeastBytes = 1 << 20;
  const char* const given = std::getenv("XDG_RUNTIME_DIR");
  for (const std::string& path :
       {std::string("/dev/shm"), std::string(given ? given : "")}) {
    struct statvfs room = {};
    if (path.empty() || ::statvfs(path.c_str(), &room) != 0 ||
        ::access(path.c_str(), W_OK) != 0)
      continue;
    const double bytes = static_cast<double>(room.f_bavail) *
                         static_cast<double>(room.f_frsize) * kPartOfRoom;
    if (bytes >= kLeastBytes)
      return SourceState::Works(path + ", up to " + FormatBytes(bytes));
  }
  return SourceState::Fails(
      "no room in memory: sessions lie on disk, beside the trace",
      InContainer() ? "docker run --shm-size 1g ..."
                    : "sudo mount -o remount,size=1g /dev/shm");
}

// What a time namespace means for the times of a trace; "" outside of one.
std::string TimeNamespaceText() {
  const auto offset_ns = MonotonicOffsetNs();
  if (!offset_ns) return "; a new time namespace for what is started here";
  if (*offset_ns == 0) return "";
  return fmt::format(
      "; in a time namespace, {:+} s against the machine's: times are of this "
      "namespace",
      *offset_ns / kNsPerSec);
}

SourceState CheckClock() {
  std::string source = ReadText(
      "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  while (!source.empty() && source.back() == '\n') source.pop_back();
  if (source == "tsc" || source == "arch_sys_counter" ||
      source == "kvm-clock" || source == "hyperv_clocksource_tsc_page")
    return SourceState::Works(Printable(source, 40) +
                              ", read without a system call" +
                              TimeNamespaceText());
  if (source.empty())
    return SourceState::Works("CLOCK_MONOTONIC" + TimeNamespaceText());
  return SourceState::Fails(
      "clock source is " + Printable(source, 40) +
          ": each time stamp costs a system call",
      "echo tsc | sudo tee /sys/devices/system/clocksource/"
      "clocksource0/current_clocksource");
}

constexpr SourceInfo kSources[] = {
    {"session directory", "room for a session in memory", CheckSessionDir},
    {"clock", "cheap time stamps", CheckClock},
};

}  // namespace

extern const GathererInfo kSessionSources = {kSources};

}  // namespace sonde

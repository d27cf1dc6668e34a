// The files in a cgroup's folder that say what its processes use and wait for,
// in version 1 and 2, as values under one set of names.

#ifndef SONDE_COLLECT_PROC_CGROUP_COUNTERS_H_
#define SONDE_COLLECT_PROC_CGROUP_COUNTERS_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "trace/series_list.h"

namespace sonde {

// One value of a cgroup.
struct CgroupValue {
  SeriesName name;
  uint64_t value;
};

// A number of a file, by the word before it, and the value that it becomes.
struct CgroupKey {
  std::string_view key;  // "" where the place alone tells
  SeriesName name;
  uint64_t times = 1;
};

// One file, and how it is read. Pure functions over hostile text: what is not
// as the kernel writes it gives no value.
struct CgroupFile {
  const char* controller;  // as /proc/PID/cgroup of version 1 names it
  bool version2;
  const char* name;
  // Where it is worth reading: also in a cgroup above that has a limit of its
  // own, or in the own one only.
  bool of_limits;
  // Changes slowly, or costs much to read.
  bool seldom;
  void (*parse)(std::string_view text, std::span<const CgroupKey> keys,
                std::vector<CgroupValue>& out);
  std::span<const CgroupKey> keys;

  void Parse(std::string_view text, std::vector<CgroupValue>& out) const {
    parse(text, keys, out);
  }
};

// Every file that is read, of both versions.
std::span<const CgroupFile> CgroupFiles();

}  // namespace sonde

#endif  // SONDE_COLLECT_PROC_CGROUP_COUNTERS_H_

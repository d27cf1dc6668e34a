// Where this process stands in the cgroup trees, and what limits hold there.

#ifndef SONDE_COLLECT_PROC_CGROUP_FILES_H_
#define SONDE_COLLECT_PROC_CGROUP_FILES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// One line of /proc/PID/cgroup. `controllers` is empty for version 2.
struct CgroupLine {
  std::string controllers;  // "cpu,cpuacct"
  std::string path;
};
std::vector<CgroupLine> ParseCgroup(std::string_view text);

// One cgroup file system of /proc/PID/mountinfo.
struct CgroupMount {
  bool version2 = false;
  std::string root;     // the part of the tree that is mounted
  std::string point;    // where
  std::string options;  // "rw,cpu,cpuacct": names the controllers of version 1
};
std::vector<CgroupMount> ParseCgroupMounts(std::string_view text);

// The tightest limit on the way from this cgroup up to the root, which is what
// the kernel enforces.
struct CgroupLimits {
  std::string path;  // of version 2, else of the memory controller; may be ""
  std::optional<uint64_t> memory_bytes;
  std::optional<double> cpu_cores;
};

// `read` gives the content of a file or nothing.
CgroupLimits FindCgroupLimits(
    std::string_view cgroup, std::string_view mountinfo,
    const std::function<std::optional<std::string>(const std::string&)>& read);

}  // namespace sonde

#endif  // SONDE_COLLECT_PROC_CGROUP_FILES_H_

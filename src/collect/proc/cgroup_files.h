// Where a process stands in the cgroup trees, and what limits hold there.

#ifndef SONDE_COLLECT_PROC_CGROUP_FILES_H_
#define SONDE_COLLECT_PROC_CGROUP_FILES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// Version 1 writes "no limit" as the largest number of whole pages.
inline constexpr uint64_t kNoCgroupLimitBytes = uint64_t{1} << 60;

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

// Where the files of one controller lie for a cgroup.
struct CgroupPlace {
  bool version2 = false;
  std::string path;                  // as /proc/PID/cgroup names it
  std::vector<std::string> folders;  // its own first, then upward
};

// `cgroup` is /proc/PID/cgroup. A controller that a version 1 tree has is
// looked for there, else in version 2. Nothing if it is not mounted.
std::optional<CgroupPlace> PlaceOf(std::string_view cgroup,
                                   std::string_view mountinfo,
                                   std::string_view controller);

using PathTest = std::function<bool(const std::string& folder)>;

// The folder of that part of a path in `cgroup` which ends with the name
// `part`: of a container, whatever lies below it. `exists` says whether a
// folder is there.
std::optional<std::string> FolderOf(std::string_view cgroup,
                                    std::string_view mountinfo,
                                    std::string_view part,
                                    const PathTest& exists);

// A cgroup that was named, as a folder, and as /proc/PID/cgroup shows it to its
// processes.
struct NamedCgroup {
  std::string folder;
  std::string cgroup;
};

// `path` is a folder of a cgroup file system, or what /proc/PID/cgroup has
// behind the last colon.
std::optional<NamedCgroup> FindNamedCgroup(const std::string& path,
                                           std::string_view mountinfo,
                                           const PathTest& exists);

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

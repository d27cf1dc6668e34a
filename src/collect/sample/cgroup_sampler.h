#ifndef SONDE_COLLECT_SAMPLE_CGROUP_SAMPLER_H_
#define SONDE_COLLECT_SAMPLE_CGROUP_SAMPLER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/proc/cgroup_counters.h"
#include "collect/proc/proc_file.h"
#include "trace/writer.h"

namespace sonde {

// Reads the counters of the cgroups that the recorded processes run in, and of
// the cgroups above that have a limit of their own, as one counter group. A
// series' label is the cgroup.
//
//  - The root of a machine does not count as a cgroup: its counters are the
//    machine's.
//  - A cgroup that vanishes ends its series; nothing else happens. A limit that
//    is lifted ends the series of the limit.
//  - At most kMostCgroups, and the cgroups above them, are read at a time,
//    which bounds the cost; full() says that there were more. A cgroup that
//    vanishes leaves room for another once nothing above is read for its sake.
//    A cgroup that cannot be read takes no room.
//
// One thread. Does not own the writer.
class CgroupSampler {
 public:
  static constexpr size_t kMostCgroups = 8;

  // `mountinfo` is that file of /proc/PID.
  CgroupSampler(TraceWriter& out, std::string mountinfo);

  // A process is in these cgroups: its /proc/PID/cgroup. Cheap if they are
  // known.
  void Add(std::string_view cgroup);

  // Files that change slowly are read once a second, unless `all`.
  void Tick(FdBudget& budget, bool all = false);

  bool full() const { return full_; }

 private:
  // One file of one cgroup.
  struct Source {
    const CgroupFile* file;
    std::string path;
    uint32_t label;
    std::vector<uint32_t> added;  // for whose sake, never empty
    ProcFile open = {};
    std::vector<std::pair<SeriesName, uint32_t>> series = {};
    bool ended = false;
  };

  bool Knows(uint32_t number) const;
  bool IsRead(uint32_t number) const;
  size_t CountRead() const;
  void AddFiles(const CgroupFile& file, std::string_view cgroup);
  void AddSource(const CgroupFile& file, std::string path,
                 std::string_view label);
  uint32_t SeriesOf(Source& source, const CgroupValue& value);
  void Sample(Source& source, FdBudget& budget);

  TraceWriter& out_;
  const uint32_t group_;
  const std::string mountinfo_;
  // Cgroups that were added, numbered.
  std::map<std::string, uint32_t, std::less<>> known_;
  uint32_t last_added_ = 0;
  std::vector<Source> sources_;
  bool full_ = false;
  bool has_group_ = false;
  int64_t next_seldom_ns_ = 0;
  std::vector<CgroupValue> values_;
  std::vector<char> buffer_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_CGROUP_SAMPLER_H_

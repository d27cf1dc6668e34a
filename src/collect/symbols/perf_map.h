#ifndef SONDE_COLLECT_SYMBOLS_PERF_MAP_H_
#define SONDE_COLLECT_SYMBOLS_PERF_MAP_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collect/symbols/named_code.h"

namespace sonde {

// Where the functions lie that a process compiled while it ran, as runtimes
// (Java, node, Python's -X perf) write it for perf: /tmp/perf-PID.map. Lines of
// begin, size and name; what makes no sense is left out, and of two that
// overlap the later one counts, for it was compiled later. The names are
// hostile, and come out printable.
class PerfMap {
 public:
  static constexpr size_t kMostBytes = 64 << 20;
  static constexpr size_t kMostEntries = 1 << 20;

  // The file of a process, by whatever it sees as /tmp. Nothing if there is
  // none, or it is no plain file, not of `owner` or of root, longer than
  // kMostBytes, or older than `since_ns` of CLOCK_REALTIME: pids are used
  // again, and nobody removes such files.
  static std::optional<PerfMap> Of(pid_t pid, pid_t own_pid, uid_t owner,
                                   int64_t since_ns);
  explicit PerfMap(std::string text);

  // The function there, with file and line if the name says them, as that of a
  // JavaScript function does; without a name if there is none.
  PlaceName At(uint64_t pc) const;
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    uint64_t begin = 0, end = 0;
    uint32_t order = 0;  // in the file
    uint32_t name = 0, name_size = 0;
  };

  std::string text_;
  std::vector<Entry> entries_;  // by begin, and order
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SYMBOLS_PERF_MAP_H_

#ifndef SONDE_COLLECT_SAMPLE_NEIGHBOURS_H_
#define SONDE_COLLECT_SAMPLE_NEIGHBOURS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// Finds out which other programs use the cores, by the names of their commands:
// the four that used most, in cores, over the time that was looked at.
//
//  - Nobody looks while others use a quarter of a core or less. Else the first
//    look is after one second, the next after three, then every five seconds;
//    more seldom if there are so many processes that it would take more than
//    1/500 of a core.
//  - What the kernel does for everybody counts from a quarter of a core on.
//  - Names only, never arguments. A process that began and ended between two
//    looks is not seen, so the cores are at least so many.
//  - What /proc does not show (hidepid, a pid namespace) is not there.
//
// One thread.
class Neighbours {
 public:
  // `proc` is where the processes' folders are.
  explicit Neighbours(std::string proc = "/proc") : proc_(std::move(proc)) {}

  bool Due(int64_t now_ns) const { return now_ns >= next_ns_; }

  // Looks, if others were busy since the last check. `others_ns` is the CPU
  // time of all others so far; `ours` tells who is none of them. Returns true
  // if Text() is now to be written down.
  bool Check(int64_t now_ns, int64_t others_ns,
             const std::function<bool(pid_t)>& ours);

  // The last check, which comes early unless it would cost too much.
  bool CheckLast(int64_t now_ns, int64_t others_ns,
                 const std::function<bool(pid_t)>& ours);

  // As JSON: [{"name":"gzip","cores":1.02}], most first. Empty if there are
  // none.
  std::string Text() const;

 private:
  struct Seen {
    uint64_t start_ticks = 0;
    uint64_t cpu_ticks = 0;
  };
  struct Used {
    uint64_t ticks = 0;
    bool kernel = false;  // threads of the kernel's own
  };
  struct Share {
    std::string name;
    double cores = 0;
    bool operator==(const Share&) const = default;
  };

  void Look(const std::function<bool(pid_t)>& ours);
  void Add(pid_t pid, std::string_view stat, bool first);
  std::vector<Share> Largest() const;
  bool IsNews();

  const std::string proc_;
  int64_t next_ns_ = 0;
  int64_t checked_ns_ = 0;
  int64_t others_ns_ = 0;    // at the last check
  int64_t looked_ns_ = 0;    // 0: there is no look to compare with
  uint64_t look_ticks_ = 0;  // since boot, when that was
  int64_t look_cost_ns_ = 0;
  int checks_ = 0;
  std::map<pid_t, Seen> seen_, now_seen_;
  std::map<std::string, Used, std::less<>> used_;  // by name
  int64_t compared_ns_ = 0;
  std::vector<Share> told_;
  std::vector<char> buffer_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_NEIGHBOURS_H_

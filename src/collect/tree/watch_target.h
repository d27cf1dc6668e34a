#ifndef SONDE_COLLECT_TREE_WATCH_TARGET_H_
#define SONDE_COLLECT_TREE_WATCH_TARGET_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// Processes that run already and are to be recorded: one with its descendants,
// those of a cgroup, or all that this pid namespace shows.
//
//  - Says who belongs to it now, and whether there is nothing left to watch. An
//    empty cgroup is not gone: a service may start again.
//  - This process itself never belongs to it. The kernel's own threads and what
//    this process has started are left out by who follows the target.
//
// One thread.
class WatchTarget {
 public:
  static Result<WatchTarget> Process(pid_t pid);
  // `path` is a folder of a cgroup file system, or a cgroup as
  // /proc/PID/cgroup names it.
  static Result<WatchTarget> Cgroup(const std::string& path);
  // Of docker, podman, kubernetes or lxc: a name, or the beginning of an id.
  static Result<WatchTarget> Container(const std::string& name);
  static WatchTarget Everything();

  // For people: "process 17 (python3 train.py)".
  const std::string& text() const { return text_; }
  // A process of the target; sonde's own if the target has none or is
  // everything.
  pid_t pid() const { return pid_; }
  // /proc/PID/cgroup of what is watched. Empty: no cgroup bounds it.
  const std::string& cgroup() const { return cgroup_; }

  // The target is a process, whose descendants are found by following its
  // children: then Processes() is asked once.
  bool follows_children() const { return kind_ == Kind::kProcess; }
  bool everything() const { return kind_ == Kind::kEverything; }
  std::vector<pid_t> Processes() const;
  bool Gone() const;

 private:
  enum class Kind { kProcess, kCgroup, kEverything };
  WatchTarget(Kind kind, std::string text) : kind_(kind), text_(text) {}

  Kind kind_;
  std::string text_;
  std::string cgroup_;
  std::string folder_;  // kCgroup
  pid_t pid_ = 0;
  Fd pidfd_;  // kProcess; none on old kernels
};

}  // namespace sonde

#endif  // SONDE_COLLECT_TREE_WATCH_TARGET_H_

#ifndef SONDE_COLLECT_SESSION_RECORDING_H_
#define SONDE_COLLECT_SESSION_RECORDING_H_

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collect/ring/target_rings.h"
#include "collect/session/gatherers.h"
#include "collect/session/steady_watch.h"
#include "collect/tree/process_tree.h"
#include "collect/tree/watch_target.h"
#include "trace/writer.h"

namespace sonde {

// What is written of one command and its descendants, from before its exec to
// the end of the trace; or of processes that run already.
//
//  - Nothing here waits or prints; the session's loop says when.
//  - When the trace can no longer be written, failure() says so and nothing
//    more is taken in. End() still finishes the trace.
//
// One thread. Owns the writer, the tree and the other gatherers.
class Recording {
 public:
  struct Options {
    std::vector<std::string> command;
    // Instead of a command. Must live as long as the recording.
    const WatchTarget* target = nullptr;
    double rate_hz = 10;
    double stacks_hz = 0;  // how often to look at stacks; 0: never
    StacksBy stacks_by = StacksBy::kBest;
    bool use_perf = true;
    bool all_args = false;
    bool environment_values = false;
    // Look for the moment when the program's start-up is over. All is recorded;
    // the moment is written down, and the report judges the time after that
    // moment.
    bool find_steady = false;
  };

  // `root` waits before its exec; 0 if a target is watched. `session` is the
  // session's directory, where programs leave their records.
  Recording(std::unique_ptr<TraceWriter> out, pid_t root, int session,
            const Options& options);

  std::vector<int> wake_fds() const { return tree_->wake_fds(); }

  // Takes in what happened in the tree.
  void Poll(int64_t now_ns) { tree_->Poll(now_ns); }
  // Poll(), and the counters unless paused. Returns true if counters were read.
  bool Tick(int64_t now_ns);
  // What programs say about themselves: when their rings are to be read next,
  // and to read them.
  int64_t next_drain_ns() const;
  // Where in their code programs are: the same.
  int64_t next_look_ns() const { return gatherers_->next_look_ns(); }
  void Look(int64_t now_ns) { gatherers_->Look(now_ns); }
  // One of look_fds() is readable; they may be others after each tick.
  std::vector<int> look_fds() const { return gatherers_->look_fds(); }
  void LookNow(int64_t now_ns) {
    if (!paused()) gatherers_->LookNow(now_ns);
  }
  void Drain(int64_t now_ns);
  // Makes what was taken in safe against our death. Also cuts chunks when they
  // are due.
  void Flush(int64_t now_ns);
  // The collector did not run from `from_ns` to `to_ns`.
  void Stalled(int64_t from_ns, int64_t to_ns, int64_t missed_ticks);

  // False: the recording was paused (not paused) already.
  bool Pause(int64_t now_ns);
  bool Resume(int64_t now_ns);
  // Pause(), as planned for `delay_ns`. The trace tells of the delay from its
  // begin on, for a collector that dies in the delay can tell no more.
  void Delay(int64_t now_ns, int64_t delay_ns);
  void Mark(int64_t now_ns, std::string_view text);

  void RootEnded(int64_t now_ns, int wait_status, const rusage& usage);

  // The trace is whole on disk after this. Only once; nothing may follow.
  // `ended_ns` is when the run was over, which may be a little before.
  // `ended_by` is the word for what ended the recording.
  Status End(int64_t now_ns, int64_t ended_ns, const char* ended_by);

  // What is watched is not there any more.
  bool TargetGone() const { return target_ != nullptr && target_->Gone(); }

  bool paused() const { return paused_since_ns_.has_value(); }
  const std::optional<Error>& failure() const { return out_->failure(); }
  // True if a process of the tree other than the command itself is alive.
  bool DescendantsLive() const { return Descendants() > 0; }
  bool Contains(pid_t pid) const;
  bool EndedLately(pid_t pid) const {
    const auto task = tree_->FindPid(pid);
    return task && !task->alive;
  }
  size_t processes() const { return tree_->live().size(); }
  std::vector<pid_t> pids() const;
  // See SampledRun.
  const SampledRun::Used& used() const { return gatherers_->used(); }
  int64_t bytes() const { return out_->bytes_written(); }
  int64_t started_ns() const { return started_ns_; }
  // When the command ended, as the kernel tells; only after RootEnded().
  int64_t root_ended_ns() const { return root_ended_ns_; }

 private:
  size_t Descendants() const;
  void AddClock();
  void LookForSteady(int64_t now_ns);

  const WatchTarget* const target_;
  std::unique_ptr<TraceWriter> out_;
  std::unique_ptr<ProcessTree> tree_;
  std::unique_ptr<Gatherers> gatherers_;
  std::unique_ptr<TargetRings> rings_;  // null: could not be made
  std::string rings_why_;
  bool root_ended_ = false;
  int64_t root_ended_ns_ = 0;
  uint32_t track_ = 0;
  int64_t started_ns_ = 0;
  int64_t sealed_ns_ = 0;
  std::optional<int64_t> paused_since_ns_;
  std::optional<SteadyWatch> steady_;  // until the moment is found
  SampledRun::Used used_;              // at its last sample
  int64_t used_ns_ = 0;
};

// What is recorded, in one line for people.
std::string NameOf(const Recording::Options& recording);

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_RECORDING_H_

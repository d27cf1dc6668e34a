#ifndef SONDE_COLLECT_SESSION_SESSION_LOOP_H_
#define SONDE_COLLECT_SESSION_SESSION_LOOP_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "collect/sample/ticks.h"
#include "collect/session/control.h"
#include "collect/session/hang_watch.h"
#include "collect/session/recording.h"
#include "collect/session/session_dir.h"
#include "collect/session/session_options.h"
#include "collect/session/signals.h"
#include "collect/session/stop_file.h"

namespace sonde {

// Waits for everything at once while the command runs: the next tick, the tree,
// signals, the control socket, the command's end. Where a target is watched
// there is no command to wait for: the loop ends with the recording.
//
//  - Ticks keep to their schedule; if this process was held up for more than a
//    second, the gap becomes a loss.
//  - The tree is polled at most once a millisecond, however fast it grows.
//  - Without a recording (stopped, failed) the loop costs nothing and still
//    waits.
//
// One thread. `options` and `signals` must live as long. `root` is the command,
// 0 if a target is watched.
class SessionLoop {
 public:
  SessionLoop(const SessionOptions& options,
              std::unique_ptr<Recording> recording, SessionDir dir,
              const Signals& signals, pid_t root,
              std::optional<StopFile> stop_file);

  // Everything that can fail, before the command starts.
  Status Start();
  // Until the command has ended and been waited for, and the trace is closed.
  // Returns the wait status, 0 if a target was watched.
  int Run();

 private:
  // What ends a recording; kEndWords has the words for it.
  enum class End {
    kCommand,
    kTime,
    kStopFile,
    kRequest,
    kSignal,
    kTarget,
    kFailure
  };
  Status Watch(int fd, uint32_t events, int how);
  void WatchLooks();
  void Arm(int64_t deadline_ns);
  int64_t NextDeadline() const;
  void Dispatch(int fd);
  void TakeSignals();
  void PassOn(const signalfd_siginfo& info);
  void PassOnDeferred(int64_t now_ns);
  void Work(int64_t now_ns);
  void PollTree(int64_t now_ns);
  void TakeTick(int64_t now_ns);
  void LookForHang(int64_t now_ns);
  bool RootHasEnded() const;
  void CheckRoot();
  bool Finished() const;
  // The moments of the recording that have come: the end of the delay, the end.
  void CheckLife(int64_t now_ns);
  std::optional<End> EndDue(int64_t now_ns) const;
  std::string Explain(End by) const;
  Status EndRecording(End by);
  // Nobody can speak to a session that records nothing any more.
  void CloseSession();
  std::string Answer(std::string_view request);
  std::string DescribeStatus() const;

  const SessionOptions& options_;
  std::unique_ptr<Recording> recording_;
  std::optional<SessionDir> dir_;
  const Signals& signals_;
  const pid_t root_;
  const std::optional<StopFile> stop_file_;

  Fd epoll_, timer_;
  std::optional<ControlServer> control_;
  Ticks ticks_;
  HangWatch hang_;
  const int64_t flush_every_ns_;
  int64_t resume_ns_ = INT64_MAX;  // the delay is over
  int64_t end_ns_ = INT64_MAX;     // the time is over
  int64_t armed_ns_ = 0;
  int64_t last_tick_ns_ = 0;
  int64_t last_poll_ns_ = 0;
  int64_t last_flush_ns_ = 0;
  std::vector<int> woken_;     // descriptors of the tree to be armed again
  std::vector<int> look_fds_;  // of the gatherers
  bool look_now_ = false;
  // Signals whose sender has ended: the tree may yet say that the sender was
  // one of its processes.
  std::vector<std::pair<int64_t, signalfd_siginfo>> deferred_;
  bool root_running_;
  bool told_to_end_ = false;  // a watch, by a signal
  bool root_changed_ = true;
  bool stop_waiting_ = false;  // for descendants
  int wait_status_ = 0;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_SESSION_LOOP_H_

// The life of a recording. Everything that can refuse comes before the fork, or
// before the gate opens; after that the command is on its own, and a failure
// only ends the recording.
//
//     signals blocked -> trace -> session directory -> fork (at the gate)
//       -> tree, sampler, socket -> gate opens -> loop -> wait -> trace closed

#include "collect/session.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/time.h"
#include "collect/launcher.h"
#include "collect/session_dir.h"
#include "collect/session_loop.h"
#include "collect/signals.h"

namespace sonde {
namespace {

// More processes than the usual soft limit of 1024 need more descriptors. The
// command was forked before and keeps its own limit.
void RaiseFileLimit() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<std::unique_ptr<TraceWriter>> OpenTrace(const SessionOptions& options) {
  FileHeader header;
  if (::getrandom(header.session.data(), header.session.size(), 0) < 0)
    return ErrnoError("getrandom", errno);
  header.realtime_ns = ClockNs(CLOCK_REALTIME);
  header.monotonic_ns = NowNs();
  TraceWriter::Options trace;
  trace.max_bytes = options.max_bytes;
  trace.replace = options.replace;
  return TraceWriter::Create(options.trace, header, trace);
}

// The command never ran: what was made for it goes away again.
class Undo {
 public:
  explicit Undo(std::string trace) : trace_(std::move(trace)) {}
  ~Undo() {
    if (trace_.empty()) return;
    ::unlink(trace_.c_str());
    ::unlink((trace_ + ".journal").c_str());
  }
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  void Forget() { trace_.clear(); }

 private:
  std::string trace_;
};

}  // namespace

Result<SessionResult> RunSession(const SessionOptions& options) {
  TRY(const Signals signals, Signals::Block());
  TRY(auto trace, OpenTrace(options));
  Undo undo(options.trace);
  SessionInfo info;
  info.command = CommandText(options.recording.command);
  info.trace = options.trace;
  TRY(SessionDir dir, SessionDir::Create(info));
  TRY(Launcher launcher, Launcher::Fork(options.recording.command, dir.path(),
                                        signals.original_mask()));
  KeepZombies();
  RaiseFileLimit();
  const pid_t root = launcher.pid();
  auto recording =
      std::make_unique<Recording>(std::move(trace), root, options.recording);
  SessionLoop loop(options, std::move(recording), std::move(dir), signals,
                   root);
  TRY_OK(loop.Start());

  SessionResult result;
  result.exec_error = launcher.Go();
  if (result.exec_error != 0) return result;
  undo.Forget();
  result.wait_status = loop.Run();
  return result;
}

}  // namespace sonde

#ifndef SONDE_COLLECT_SESSION_SESSION_H_
#define SONDE_COLLECT_SESSION_SESSION_H_

#include "base/result.h"
#include "collect/session/session_options.h"

namespace sonde {

// How the recorded command ended, as wait() tells it.
struct SessionResult {
  // The errno of an exec that failed; then there was no command and there is no
  // trace.
  int exec_error = 0;
  int wait_status = 0;
};

// Starts the command, records it, and returns when the command has ended.
//
//  - An Error means that the command was never started. After the start nothing
//    that happens to the recording touches the command.
//  - Signals sent to this process alone are passed on to the command.
//  - The trace is whole when this returns, or as whole as its disk allowed.
//
// One thread, one loop; blocks signals for good, raises this process's limit on
// open files. Call HoldStandardFds() first.
Result<SessionResult> RunSession(const SessionOptions& options);

// Records options.recording.target until the target is gone, the time is over,
// the stop file appears, somebody asks for the end or sends SIGINT, SIGTERM,
// SIGHUP or SIGQUIT. An Error means that there is no recording.
//
// Otherwise as RunSession().
Status WatchSession(const SessionOptions& options);

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_SESSION_H_

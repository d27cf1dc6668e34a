#ifndef SONDE_COLLECT_SESSION_SESSION_H_
#define SONDE_COLLECT_SESSION_SESSION_H_

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "collect/session/recording.h"

namespace sonde {

// When a recording begins and ends, apart from what it records. Times are
// counted from the start.
struct SessionLife {
  int64_t for_ns = 0;     // ends then; 0: no limit
  int64_t delay_ns = 0;   // is paused until then; less than for_ns
  std::string stop_file;  // absolute path: ends when it appears; "": none
};

// What to record, how, and where to.
struct SessionOptions {
  Recording::Options recording;
  SessionLife life;
  std::string trace;  // absolute path
  bool replace = false;
  int64_t max_bytes = 0;   // 0: no limit
  bool wait_tree = false;  // end with the last descendant, not with the command

  // The command runs and has its own copies of all descriptors.
  std::function<void()> on_started;
  // Told at once that the recording has ended as planned while the command goes
  // on. The trace can be read. `why` ends the sentence "the recording ended".
  std::function<void(const std::string& why)> on_ended;
  // Told at once, in one line, that the recording has stopped by a failure of
  // ours while the command goes on.
  std::function<void(const Error& error)> on_failure;
  // Told once of a session's directory, this one's or a dead one's, that stays
  // because there is in it what sonde did not make.
  std::function<void(const std::string& path)> on_left;
};

// What is recorded, in one line for people.
std::string NameOf(const Recording::Options& recording);

// How the recorded command ended, as wait() tells it.
struct SessionResult {
  // The errno of an exec that failed; then there was no command and there is no
  // trace.
  int exec_error = 0;
  int wait_status = 0;
};

// Starts the command, records it, and returns when it has ended.
//
//  - An Error means that the command was never started. After the start nothing
//    that happens to the recording touches it.
//  - Signals sent to this process alone are passed on to the command.
//  - The trace is whole when this returns, or as whole as its disk allowed.
//
// One thread, one loop; blocks signals for good, raises this process's limit on
// open files. Call HoldStandardFds() first.
Result<SessionResult> RunSession(const SessionOptions& options);

// Records options.recording.target until it is gone, the time is over, the stop
// file appears, somebody asks for the end or sends SIGINT, SIGTERM, SIGHUP or
// SIGQUIT. An Error means that there is no recording.
//
// Otherwise as RunSession().
Status WatchSession(const SessionOptions& options);

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_SESSION_H_

#ifndef SONDE_COLLECT_SESSION_SESSION_OPTIONS_H_
#define SONDE_COLLECT_SESSION_SESSION_OPTIONS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/session/recording.h"

namespace sonde {

// When a recording begins and ends, apart from what it records. Times are
// counted from the start.
struct SessionLife {
  int64_t for_ns = 0;     // ends then; 0: no limit
  int64_t delay_ns = 0;   // is paused until then; less than for_ns
  std::string stop_file;  // absolute path: ends when it appears; "": none
  int64_t hang_ns = 0;    // tells of a tree that stands still so long; 0: never
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
  // Told at once that the tree has done nothing for `life.hang_ns`: its
  // processes.
  std::function<void(const std::vector<pid_t>& pids)> on_hang;
  // Told once of a session's directory, this one's or a dead one's, that stays
  // because there is in it what sonde did not make.
  std::function<void(const std::string& path)> on_left;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_SESSION_OPTIONS_H_

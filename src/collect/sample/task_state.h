#ifndef SONDE_COLLECT_SAMPLE_TASK_STATE_H_
#define SONDE_COLLECT_SAMPLE_TASK_STATE_H_

#include <sys/types.h>
#include <time.h>

#include <array>
#include <cstdint>
#include <vector>

#include "collect/proc/proc_file.h"
#include "collect/proc/process_files.h"
#include "collect/sample/own_io.h"
#include "collect/sample/task_counters.h"

namespace sonde {

// What a sampler keeps of a thread: its open files, what it last read, and the
// series of its counters (0: none yet).
struct ThreadState {
  uint32_t number = 0;
  pid_t tid = 0;
  ProcFile schedstat, status, stat;
  uint64_t run_ns = UINT64_MAX;  // not known yet
  uint64_t wait_ns = 0;
  bool ran = true;  // since its switches were read
  Switches switches;
  // When its state was last looked at. 0: it was not.
  char state = 0;
  bool slept_twice = false;  // and the time before
  uint64_t looked_run_ns = UINT64_MAX;
  uint64_t looked_wait_ns = 0;
  // Off the cores, asleep or blocked, since the last look that told which.
  // Below 0 if it was taken for longer than it was.
  int64_t undecided_ns = 0;
  uint64_t major_faults = 0;
  int64_t blocked_ns = -1;       // -1: it was never seen so
  int64_t told_blocked_ns = -1;  // the value last written
  int64_t sleeps_in = -1;        // a system call; -1: not known
  int64_t asked_ns = 0;          // when that was read; 0: never
  uint64_t asked_run_ns = 0;     // its run_ns then
  std::array<uint32_t, kThreadCounters> series = {};
};

// What the looks at its threads' states have told of a process.
struct ProcessLooks {
  uint32_t count = 0;
  int64_t first_ns = 0;     // when the first was
  int64_t cpu_ns = -1;      // the process's CPU clock at the last look
  int64_t known_ns = 0;     // until then its states are known
  bool at_rest = false;     // no state changes before the clock moves
  bool denied = false;      // its system calls may not be read
  bool calls_read = false;  // and some were
  int64_t blocked_ns = 0;
  int64_t sync_ns = 0;
  int64_t told_blocked_ns = -1;  // the values last written
  int64_t told_sync_ns = -1;
};

// The same of a process.
struct ProcessState {
  uint32_t number = 0;
  pid_t pid = 0;
  clockid_t clock = 0;
  int64_t cpu_ns = -1;
  pid_t parent = 0;
  OwnIo own_io;
  int64_t files_cpu_ns = -1;  // its CPU clock when its files were read
  int64_t files_ns = 0;       // and when that was
  ProcFile stat, io;
  char leader_state = 0;      // as `stat` said
  uint64_t major_faults = 0;  // likewise
  ProcessLooks looks;
  bool io_denied = false;
  std::vector<ThreadState> threads;  // by number, ascending
  Switches ended_switches;           // of threads that are gone
  bool ran = true;                   // since switches were read
  bool ran_for_pss = true;
  int64_t next_pss_ns = 0;
  std::array<uint32_t, kProcessCounters> series = {};
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_TASK_STATE_H_

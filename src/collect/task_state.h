#ifndef SONDE_COLLECT_TASK_STATE_H_
#define SONDE_COLLECT_TASK_STATE_H_

#include <sys/types.h>
#include <time.h>

#include <array>
#include <cstdint>
#include <vector>

#include "collect/own_io.h"
#include "collect/proc/proc_file.h"
#include "collect/proc/process_files.h"
#include "collect/task_counters.h"

namespace sonde {

// What a sampler keeps of a thread: its open files, what it last read, and the
// series of its counters (0: none yet).
struct ThreadState {
  uint32_t number = 0;
  pid_t tid = 0;
  ProcFile schedstat, status;
  uint64_t run_ns = UINT64_MAX;
  bool ran = true;  // since its switches were read
  Switches switches;
  std::array<uint32_t, kThreadCounters> series = {};
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
  bool io_denied = false;
  std::vector<ThreadState> threads;  // by number, ascending
  Switches ended_switches;           // of threads that are gone
  bool ran = true;                   // since switches were read
  bool ran_for_pss = true;
  int64_t next_pss_ns = 0;
  std::array<uint32_t, kProcessCounters> series = {};
};

}  // namespace sonde

#endif  // SONDE_COLLECT_TASK_STATE_H_

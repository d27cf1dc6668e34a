#ifndef SONDE_COLLECT_STACKS_PROCESS_STACKS_H_
#define SONDE_COLLECT_STACKS_PROCESS_STACKS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/stacks/python_process.h"

namespace sonde {

// What a thread of the kernel does now, and where in Python it is.
struct ThreadStack {
  pid_t tid = 0;
  std::string name;               // as the thread calls itself; hostile
  char state = '?';               // as /proc/PID/task/TID/stat has it
  std::optional<int64_t> call;    // the system call it is in, -1: none
  std::optional<int64_t> cpu_ns;  // so far
  // One for each interpreter that knows the thread, mostly one.
  std::vector<PythonThread> python;
};

// All threads of a process. Readings follow each other: a thread that runs has
// moved on between its state and its frames.
struct ProcessStacks {
  pid_t pid = 0;
  std::string command;  // as ShortCommand() has it; hostile
  std::optional<FoundPython> python;
  std::optional<Error> why_not;  // no Python was read; kNotFound: there is none
  bool complete = true;          // false: there are more threads of Python
  std::vector<ThreadStack> threads;
  // Threads of Python of which it is not known which of `threads` they are.
  std::vector<PythonThread> unmatched;
};

// kNotFound if there is no such process (any more). What cannot be read of
// Python is in `why_not`.
Result<ProcessStacks> ReadProcessStacks(pid_t pid);

}  // namespace sonde

#endif  // SONDE_COLLECT_STACKS_PROCESS_STACKS_H_

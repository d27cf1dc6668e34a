#ifndef SONDE_COLLECT_SAMPLE_PROCESS_STACKS_H_
#define SONDE_COLLECT_SAMPLE_PROCESS_STACKS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/proc/process_files.h"
#include "collect/sample/named_places.h"
#include "collect/stacks/python_process.h"
#include "collect/unwind/merged_stack.h"
#include "collect/unwind/sleeping_stack.h"

namespace sonde {

// One function that a thread is in. The texts are printable.
struct CodeFrame {
  bool native = false;
  std::string function;  // of a native one: after StackReader::Name()
  std::string file;      // of its source; empty if it is not known
  std::string module;    // of a native one: the file that the code runs from
  uint32_t line = 0;     // 0: not known
  // Of a native one: where that is. Without a place, code of no file.
  std::optional<CodePlace> place;
  uint64_t pc = 0;
};

// What a thread of the kernel does now, and where in its code it is.
struct ThreadStack {
  pid_t tid = 0;
  std::string name;               // as the thread calls itself; hostile
  char state = '?';               // as /proc/PID/task/TID/stat has it
  std::optional<int64_t> call;    // the system call it is in, -1: none
  std::optional<int64_t> cpu_ns;  // so far
  // One for each interpreter that knows the thread, mostly one.
  std::vector<PythonThread> python;
  // The functions of the first of these and, of a thread that sleeps, native
  // ones, in the order of their calls; the innermost first.
  std::vector<CodeFrame> frames;
  // The thread did not sleep on while `frames` was read, or they are of a
  // stack of Python that is approximate.
  bool approximate = false;
  bool cut = false;  // there are callers that were not found
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

// Reads where the threads of processes are, from outside: nobody is stopped,
// and nobody is told.
//
//  - The stack of a thread that sleeps is exact if the thread is where it was
//    before, and has not been on a core, once all of it is read. Else it is
//    read again, kMostTries times at most, and is approximate after that.
//  - Of a thread that runs there are functions of Python only.
//
// For processes of one thread. Copies of stacks are used again, and kept by
// nobody.
class StackReader {
 public:
  static constexpr int kMostTries = 4;

  StackReader() : sleeping_(unwinder_) {}

  // kNotFound if there is no such process (any more). What cannot be read of
  // Python is in `why_not`.
  Result<ProcessStacks> Read(pid_t pid);

  // Gives the native functions of all that were read their names, those that
  // were put into others by a compiler as frames of their own. Takes
  // `limits.all_ns` and the time to read the maps of code that was made at run
  // time.
  void Name(std::vector<ProcessStacks>& all, const NamingLimits& limits);

 private:
  // A thread that sleeps; the same twice: it has not run in between.
  struct Asleep {
    BlockedAt at;
    uint64_t slices = 0;

    bool operator==(const Asleep&) const = default;
  };
  struct Target;

  static std::optional<Asleep> WhereAsleep(pid_t pid, pid_t tid);
  void ReadFrames(Target& target, std::optional<Asleep> before,
                  ThreadStack& thread);
  void Merge(const Target& target, ThreadStack& thread);
  CodeFrame FrameOf(const NativeFrame& native) const;

  CodeFiles files_;
  Unwinder unwinder_;
  SleepingStack sleeping_;
  NativeStack native_;
  MergedStack merged_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_PROCESS_STACKS_H_

#ifndef SONDE_COLLECT_STACKS_PYTHON_PROCESS_H_
#define SONDE_COLLECT_STACKS_PYTHON_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "collect/stacks/process_memory.h"
#include "collect/stacks/python_code.h"
#include "collect/stacks/python_finder.h"
#include "collect/stacks/raw_python_frame.h"

namespace sonde {

// One call of a Python function. The texts are printable.
struct PythonFrame {
  std::string function;  // with its class, from 3.11 on: "Queue.get"
  std::string file;
  int line = 0;  // 0: the instruction has none

  bool operator==(const PythonFrame&) const = default;
};

// One thread as an interpreter knows it.
struct PythonThread {
  // As the process itself numbers it; 0 if that is not known. Not checked: see
  // ProcessStacks for which thread of the kernel that is.
  pid_t own_tid = 0;
  uint64_t ident = 0;  // threading.get_ident()
  bool holds_gil = false;
  // The thread ran while it was read: frames may not all be of one moment, and
  // some may be missing.
  bool approximate = false;
  bool cut = false;                 // there are more frames than are read
  std::vector<PythonFrame> frames;  // the innermost first
  // What `frames` was made of, with the shims between.
  std::vector<RawPythonFrame> raw;
};

// Reads the stacks of a process that runs CPython, from outside, while it runs.
//
//  - The process is not stopped, and not told; it cannot make a reader hang,
//    crash, or read more than the limits below.
//  - A stack that is not `approximate` was found twice, before and after its
//    names were read: its code objects lived all the while, so the names are
//    theirs. Nothing is kept from one stack to the next, since a code object
//    may be freed and another be made at its address.
//  - A process that became another program, or whose pid is used again, is an
//    Error of kind kNotFound.
//
// One thread.
class PythonProcess {
 public:
  static constexpr size_t kMostDepth = 1024;
  static constexpr size_t kMostFrames = 65536;  // of all threads
  static constexpr size_t kMostThreads = 4096;
  static constexpr size_t kMostInterpreters = 64;

  // Errors as of FindPython().
  static Result<PythonProcess> Find(pid_t pid);
  // The same in a process that this one has forked. Much cheaper than Find().
  // An Error of kind kNotFound if that process runs another program by now.
  Result<PythonProcess> InCopy(pid_t pid) const;
  // For tests: whatever lies at these addresses.
  PythonProcess(ProcessMemory memory, FoundPython python)
      : memory_(memory), python_(std::move(python)) {}

  const FoundPython& python() const { return python_; }

  // All threads of all interpreters. `complete` is false if the limits or a
  // list that changed have left some out.
  struct Stacks {
    std::vector<PythonThread> threads;
    bool complete = true;
  };
  Result<Stacks> ReadStacks();

  // Of the threads with these own tids those that Python knows, for those who
  // look often: a stack is walked twice, and is approximate if it changed
  // meanwhile. Where threads are, and what code objects say, is remembered, and
  // known again before it is believed (PythonCodes). A thread that comes to
  // Python late is found within a second. Who holds the GIL is not asked.
  Result<std::vector<PythonThread>> Sample(const std::vector<pid_t>& own_tids);

  // Puts a thread right that Sample() read a little after the moment it is
  // wanted for. `words` are of that moment: the thread's registers and what lay
  // innermost on its stack. Whichever function ran has left a pointer to one of
  // its instructions there.
  //
  //  - True: the innermost function of `thread` ran at that moment.
  //  - Else the thread is approximate. Where the words name another function,
  //    that one is now the innermost. Its callers are those that it has on the
  //    stack that was read, or else had when it was last seen to run, or else
  //    those of the function that was read.
  bool CheckInnermost(std::span<const uint64_t> words, PythonThread& thread);

  // The functions of frames that somebody else has found a little while ago.
  // `name_hash` is what the innermost function's name had for a hash then: a
  // function that another one has replaced since is left out. `whole` says
  // whether these are all frames. The thread is approximate if they are not, or
  // one is left out.
  PythonThread NameFrames(std::vector<RawPythonFrame> raw, bool whole,
                          uint64_t name_hash);

  // Where the states of the threads lie, for those who walk frames by
  // themselves. Of a thread with states in several interpreters, the one in the
  // oldest. Threads whose tid is not known are left out.
  struct ThreadAddress {
    pid_t own_tid = 0;
    uint64_t state = 0;
  };
  std::vector<ThreadAddress> ThreadAddresses();

 private:
  struct RawStack {
    std::vector<RawPythonFrame> frames;
    bool whole = false;  // up to the end of the list
  };
  // A part of the thread's stack of frames, copied at once.
  struct Window {
    uint64_t begin = 0;
    std::vector<uint8_t> bytes;
  };
  // Where the state of a thread lay; 0: Python does not know the thread.
  struct Known {
    uint64_t interpreter = 0, address = 0;
  };
  struct Identity {
    uint64_t start_ticks = 0, start_stack = 0;
    bool operator==(const Identity&) const = default;
  };
  static std::optional<Identity> IdentityOf(pid_t pid);

  bool IsGone() const;
  Error Gone() const;
  uint64_t GilHolder(uint64_t interpreter);
  // Calls `take` with interpreter, address and what is said there for each
  // thread of each interpreter, until it returns false. False if a list did
  // not end, or could not be read.
  template <typename Take>
  bool ForEachThread(Take take);
  bool ReadThread(uint64_t address, PythonThread& out, uint64_t* next,
                  uint64_t* previous = nullptr);
  void ReadFrames(uint64_t thread, PythonThread& out);
  void ListThreads(const std::vector<pid_t>& own_tids, int64_t now_ns);
  bool SampleThread(pid_t own_tid, PythonThread& out);
  pid_t TidOfIdent(uint64_t ident);
  std::optional<uint64_t> FirstFrame(uint64_t thread, Window& window);
  RawStack Walk(uint64_t thread);
  std::optional<RawPythonFrame> FindRunning(std::span<const uint64_t> words);
  bool Resolve(const RawStack& raw, PythonCodes& codes,
               std::vector<PythonFrame>& out, int64_t since_ns = INT64_MAX);

  ProcessMemory memory_;
  FoundPython python_;
  std::optional<Identity> identity_;
  size_t frames_left_ = kMostFrames;
  std::vector<uint64_t> addresses_;
  // For Sample():
  PythonCodes codes_;
  std::unordered_map<pid_t, Known> known_;
  // The stacks on which functions were last seen to run, by thread and code.
  static constexpr size_t kMostSeen = 256, kMostSeenFrames = 64;
  std::map<std::pair<pid_t, uint64_t>, PythonThread> seen_;
  int64_t listed_ns_ = INT64_MIN / 2, checked_ns_ = INT64_MIN / 2;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_STACKS_PYTHON_PROCESS_H_

#ifndef SONDE_COLLECT_STACKS_PYTHON_PROCESS_H_
#define SONDE_COLLECT_STACKS_PYTHON_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/stacks/process_memory.h"
#include "collect/stacks/python_finder.h"

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

 private:
  // A frame before anybody has looked up what it runs.
  struct RawFrame {
    uint64_t address = 0;
    uint64_t code = 0;
    uint64_t instruction = 0;
  };
  struct RawStack {
    std::vector<RawFrame> frames;
    bool whole = false;  // up to the end of the list
  };
  // A part of the thread's stack of frames, copied at once.
  struct Window {
    uint64_t begin = 0;
    std::vector<uint8_t> bytes;
  };
  struct Names {
    std::string function, file;
  };

  struct Identity {
    uint64_t start_ticks = 0, start_stack = 0;
    bool operator==(const Identity&) const = default;
  };
  static std::optional<Identity> IdentityOf(pid_t pid);

  uint64_t GilHolder(uint64_t interpreter);
  bool ReadThread(uint64_t address, PythonThread& out, uint64_t* next);
  pid_t TidOfIdent(uint64_t ident);
  std::optional<uint64_t> FirstFrame(uint64_t thread);
  void CopyWindow(uint64_t thread, Window& window);
  RawStack Walk(uint64_t thread);
  bool Resolve(const RawStack& raw, std::vector<PythonFrame>& out);
  std::optional<PythonFrame> Look(const RawFrame& frame,
                                  std::map<uint64_t, Names>& names);
  int LineOf(const RawFrame& frame, std::span<const uint8_t> code);
  std::optional<std::string> Text(uint64_t address, size_t max_chars);

  ProcessMemory memory_;
  FoundPython python_;
  std::optional<Identity> identity_;
  size_t frames_left_ = kMostFrames;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_STACKS_PYTHON_PROCESS_H_

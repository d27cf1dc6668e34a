#ifndef SONDE_COLLECT_STACKS_PYTHON_PROCESS_H_
#define SONDE_COLLECT_STACKS_PYTHON_PROCESS_H_

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
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

  // Only the threads of these own tids (rising), for those who look often: a
  // stack is walked twice, and is approximate if it changed meanwhile. What
  // code objects say is remembered; an object that another one has replaced at
  // its address is known by the hashes of its names.
  Result<Stacks> Sample(const std::vector<pid_t>& own_tids);

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
  // The head of a str: all that tells it from another at its address.
  using TextHead = std::array<uint8_t, 40>;
  // What a code object says, and by what it is known again.
  struct Code {
    uint64_t name_at = 0, file_at = 0, lines_at = 0;
    int first_line = 0;
    TextHead name_head = {}, file_head = {};
    std::string function, file;
    std::optional<std::vector<uint8_t>> lines;  // none: cannot be read
  };
  // By address; all are forgotten when they are too many.
  struct Codes {
    static constexpr size_t kMost = 32 << 10;
    static constexpr size_t kMostBytes = 32 << 20;  // of tables of lines
    std::unordered_map<uint64_t, Code> known;
    size_t bytes = 0;
  };

  struct Identity {
    uint64_t start_ticks = 0, start_stack = 0;
    bool operator==(const Identity&) const = default;
  };
  static std::optional<Identity> IdentityOf(pid_t pid);

  uint64_t GilHolder(uint64_t interpreter);
  Result<Stacks> ReadAll(const std::vector<pid_t>* own_tids);
  bool ReadThread(uint64_t address, const std::vector<pid_t>* own_tids,
                  PythonThread& out, uint64_t* next);
  void ReadFrames(uint64_t thread, PythonThread& out);
  void SampleFrames(uint64_t thread, PythonThread& out);
  pid_t TidOfIdent(uint64_t ident);
  std::optional<uint64_t> FirstFrame(uint64_t thread);
  void CopyWindow(uint64_t thread, Window& window);
  RawStack Walk(uint64_t thread);
  bool Resolve(const RawStack& raw, Codes& codes,
               std::vector<PythonFrame>& out);
  const Code* Look(uint64_t address, Codes& codes);
  bool IsStill(const Code& code);
  int LineOf(const RawFrame& frame, const Code& code) const;
  std::optional<std::string> Text(uint64_t address, size_t max_chars);

  ProcessMemory memory_;
  FoundPython python_;
  std::optional<Identity> identity_;
  size_t frames_left_ = kMostFrames;
  Codes codes_;  // for Sample()
};

}  // namespace sonde

#endif  // SONDE_COLLECT_STACKS_PYTHON_PROCESS_H_

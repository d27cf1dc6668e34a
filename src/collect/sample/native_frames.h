#ifndef SONDE_COLLECT_SAMPLE_NATIVE_FRAMES_H_
#define SONDE_COLLECT_SAMPLE_NATIVE_FRAMES_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "collect/sample/named_places.h"
#include "collect/stacks/python_process.h"
#include "collect/unwind/merged_stack.h"
#include "collect/unwind/unwinder.h"
#include "trace/copy.h"
#include "trace/writer.h"

namespace sonde {

// A function of Python as a frame of a trace.
StackFrame FrameOf(TraceWriter& out, const PythonFrame& frame);

// The native functions of a recording as frames of its trace: where they lie
// while it runs, their names at its end. Names come from the debug information
// and the symbols of files, those of code that was made at run time from the
// map that its runtime wrote. A function of a stripped file is called by where
// it begins.
//
// Places beyond kMostPlaces have no name. One thread. Does not own the writer
// and the files.
class NativeFrames {
 public:
  static constexpr size_t kMostPlaces = 200'000;

  NativeFrames(TraceWriter& out, CodeFiles& files) : out_(out), files_(files) {}

  // `process` is the number of the process that the frame was seen in.
  StackFrame Of(const NativeFrame& frame, uint32_t process, pid_t pid);
  // Those of a whole stack, the outermost first, behind what `out` has.
  void Put(const NativeStack& stack, uint32_t process, pid_t pid,
           std::vector<StackFrame>& out);
  // The same with `python` between them, as they were merged.
  void Put(const MergedStack& merged, const NativeStack& stack,
           const std::vector<PythonFrame>& python, uint32_t process, pid_t pid,
           std::vector<StackFrame>& out);

  // Gives all their names, once, in a child process; takes seconds at most.
  void Name();
  // After Name(): what the child used, and why names are missing.
  int64_t cpu_ns() const { return cpu_ns_; }
  const std::string& unnamed() const { return unnamed_; }

 private:
  // What a process compiled while it ran.
  struct Made {
    MadeCode code;
    uint32_t module = 0;                  // Module::id
    std::map<uint64_t, uint32_t> frames;  // to be named, by address
  };

  StackFrame OfMade(const NativeFrame& frame, uint32_t process, pid_t pid);
  uint32_t ModuleOf(const CodeFile& file);
  void NameFiles();
  void NameAllMade();

  TraceWriter& out_;
  CodeFiles& files_;
  const int64_t started_ns_ = ClockNs(CLOCK_REALTIME);
  std::unordered_map<uint32_t, uint32_t> modules_;  // by CodeFile::number
  std::map<CodePlace, uint32_t> places_;            // the frames to be named
  std::map<uint32_t, Made> made_;                   // by process number
  size_t made_places_ = 0;
  int64_t cpu_ns_ = 0;
  std::string unnamed_;
};

// Names native functions in the copy of a recording that was killed before it
// could: those in files that are still where they were, as their build id
// tells. Takes two seconds at most.
void NameCopied(const AllRows& rows, const Copied& copied, TraceWriter& out);

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_NATIVE_FRAMES_H_

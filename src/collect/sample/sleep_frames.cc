#include "collect/sample/sleep_frames.h"

#include "collect/stacks/call_name.h"
#include "trace/rows.h"

namespace sonde {

void SleepFrames::Put(uint32_t number, ProcessCode& code,
                      const PythonThread* python,
                      const Interpreter* interpreter, WatchedThread& thread) {
  NativeFrames& names = run_.native.frames;
  reader_.Read(code, thread.at(), native_);
  const bool moved = !thread.SleepsYet(run_.budget, buffer_);
  bool exact = !moved;
  frames_.clear();
  if (python == nullptr || interpreter == nullptr) {
    exact = exact && native_.end == UnwindEnd::kComplete;
    names.Put(native_, number, code.pid(), frames_);
  } else {
    // Python was read a little before.
    if (moved) native_.frames.clear();
    MergeStacks(native_, python->raw, *interpreter, merged_);
    exact = exact && !python->approximate && !python->cut &&
            (native_.frames.empty() || merged_.complete);
    names.Put(merged_, native_, python->frames, number, code.pid(), frames_);
  }
  if (thread.at().call >= 0) {
    StackFrame frame;
    frame.function = run_.out.Intern(CallName(thread.at().call));
    frame.file = run_.out.Intern(kKernelFile);
    frames_.push_back(frame);
  }
  thread.SleepsAt(frames_.empty() ? 0 : run_.out.AddStack(frames_),
                  exact ? 0 : Sample::kApproximate);
}

}  // namespace sonde

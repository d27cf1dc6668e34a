#include "collect/sample/sleep_frames.h"

#include "collect/stacks/call_name.h"
#include "trace/rows.h"

namespace sonde {

void SleepFrames::Put(uint32_t number, ProcessCode& code,
                      const PythonThread* python,
                      const Interpreter* interpreter, WatchedThread& thread) {
  reader_.Read(code, thread.at(), native_);
  const bool moved = !thread.SleepsYet(run_.budget, buffer_);
  const auto put_native = [&](size_t index) {
    frames_.push_back(
        run_.native.frames.Of(native_.frames[index], number, code.pid()));
  };
  frames_.clear();
  if (python == nullptr || interpreter == nullptr) {
    for (size_t i = native_.frames.size(); i-- > 0;) put_native(i);
  } else {
    // Python was read a little before.
    if (moved) native_.frames.clear();
    MergeStacks(native_, python->raw, *interpreter, merged_);
    for (size_t i = merged_.frames.size(); i-- > 0;) {
      const MergedFrame& one = merged_.frames[i];
      if (!one.python)
        put_native(one.index);
      else if (one.index < python->frames.size())
        frames_.push_back(FrameOf(run_.out, python->frames[one.index]));
    }
  }
  if (thread.at().call >= 0) {
    StackFrame frame;
    frame.function = run_.out.Intern(CallName(thread.at().call));
    frame.file = run_.out.Intern(kKernelFile);
    frames_.push_back(frame);
  }
  const bool exact =
      !moved && (python == nullptr || !(python->approximate || python->cut));
  thread.SleepsAt(frames_.empty() ? 0 : run_.out.AddStack(frames_),
                  exact ? 0 : Sample::kApproximate);
}

}  // namespace sonde

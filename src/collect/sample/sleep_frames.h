#ifndef SONDE_COLLECT_SAMPLE_SLEEP_FRAMES_H_
#define SONDE_COLLECT_SAMPLE_SLEEP_FRAMES_H_

#include <cstdint>
#include <vector>

#include "collect/sample/sampled_run.h"
#include "collect/sample/watched_thread.h"
#include "collect/stacks/python_process.h"
#include "collect/unwind/merged_stack.h"
#include "collect/unwind/process_code.h"
#include "collect/unwind/sleeping_stack.h"

namespace sonde {

// Puts stacks of sleeping threads into the trace: functions of Python and
// native ones in the order of their calls, and the system call as the
// innermost. Does not own the run.
class SleepFrames {
 public:
  explicit SleepFrames(SampledRun& run)
      : run_(run), reader_(run.native.unwinder) {}

  // Where a thread of process `number` sleeps that Look() has just seen asleep;
  // told to the thread. `python` is what was read of it since, null if it is in
  // no function of Python; `interpreter` is whose functions those are. A stack
  // that could not be followed to its end is approximate; so is one whose
  // thread has gone on meanwhile, and it has no native functions next to
  // Python's.
  void Put(uint32_t number, ProcessCode& code, const PythonThread* python,
           const Interpreter* interpreter, WatchedThread& thread);

 private:
  SampledRun& run_;
  SleepingStack reader_;
  NativeStack native_;
  MergedStack merged_;
  std::vector<char> buffer_;
  std::vector<StackFrame> frames_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_SLEEP_FRAMES_H_

#ifndef SONDE_COLLECT_UNWIND_SLEEPING_STACK_H_
#define SONDE_COLLECT_UNWIND_SLEEPING_STACK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collect/proc/process_files.h"
#include "collect/unwind/process_code.h"
#include "collect/unwind/unwinder.h"

namespace sonde {

// Finds the native functions that a thread is in which sleeps in the kernel. Of
// its registers only two are known. The others come from where functions saved
// them on the stack; where code has frame pointers, the first is looked for.
// Where one is needed that is not there, the stack is cut
// (UnwindEnd::kUnknownRegister).
//
//  - The thread is not stopped. Whoever calls finds out whether it has slept on
//    until Read() returned.
//  - kFirstBytes of its stack are copied, and up to kMostBytes where its
//  callers
//    lie further up. The copy is used again for the next thread, and goes
//    nowhere else.
//
// One thread. Does not own the unwinder.
class SleepingStack {
 public:
  static constexpr size_t kFirstBytes = 16 << 10;
  static constexpr size_t kMostBytes = 256 << 10;

  // True if this processor's stacks can be unwound at all.
  static constexpr bool Works() {
#if defined(__x86_64__)
    return true;
#else
    return false;
#endif
  }

  explicit SleepingStack(Unwinder& unwinder) : unwinder_(unwinder) {}

  // `out` is overwritten; without frames if nothing could be read.
  void Read(ProcessCode& code, const BlockedAt& at, NativeStack& out);

 private:
  Unwinder& unwinder_;
  std::vector<uint8_t> copy_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_UNWIND_SLEEPING_STACK_H_

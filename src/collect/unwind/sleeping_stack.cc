#include "collect/unwind/sleeping_stack.h"

#include <span>

#include "collect/stacks/process_memory.h"
#include "collect/unwind/registers.h"

namespace sonde {

void SleepingStack::Read(ProcessCode& code, const BlockedAt& at,
                         NativeStack& out) {
  constexpr size_t kTimesLonger = 4;
  out.frames.clear();
  out.end = UnwindEnd::kNoCode;
  if (!Works() || at.sp == 0) return;
  Registers registers;
  registers.Set(kRsp, at.sp);
  registers.Set(kRip, at.pc);
  ProcessMemory memory(code.pid());
  size_t have = 0;
  for (size_t want = kFirstBytes; want <= kMostBytes; want *= kTimesLonger) {
    copy_.resize(want);
    have += memory.ReadUpTo(at.sp + have, std::span(copy_).subspan(have));
    unwinder_.Unwind(code, registers,
                     StackCopy{at.sp, std::span(copy_).first(have)}, out);
    if (out.end != UnwindEnd::kEndOfCopy || have < want) return;
  }
}

}  // namespace sonde

#ifndef SONDE_COLLECT_UNWIND_UNWINDER_H_
#define SONDE_COLLECT_UNWIND_UNWINDER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collect/unwind/eh_frame.h"
#include "collect/unwind/process_code.h"
#include "collect/unwind/registers.h"
#include "collect/unwind/unwind_row.h"

namespace sonde {

// A piece of a thread's stack: the bytes from `address` upward.
struct StackCopy {
  uint64_t address = 0;
  std::span<const uint8_t> bytes;
};

// One function that a thread is in.
struct NativeFrame {
  CodeFile* file = nullptr;  // null: code of no file
  uint64_t address = 0;      // in the terms of the file; without one, pc
  uint64_t pc = 0;
  // The place is behind the call: the instruction of the call ends one byte
  // before. False for the innermost, and for what a signal interrupted.
  bool is_return_address = false;
  // Found by frame pointers or the beginning of a function where there is no
  // table, or where the first frame pointer had to be looked for: mostly right,
  // and a function may have been skipped.
  bool guessed = false;
  // Its part of the stack ends here, where that of its caller begins. 0: not
  // known, as of the last frame.
  uint64_t top = 0;
};

// Why an unwinding went no further.
enum class UnwindEnd : uint8_t {
  kComplete,         // the outermost function was reached
  kEndOfCopy,        // the stack goes on where the copy ends
  kNoCode,           // the next place lies in no code
  kNoTable,          // no table tells of this place, and no frame pointer helps
  kBadTable,         // the table makes no sense or is not understood
  kUnknownRegister,  // the value of a register that is needed is not known
  kTooDeep,          // after kMostFrames, or too much work
};
inline constexpr size_t kUnwindEnds = 7;

// "no table": for those who count them.
const char* NameOf(UnwindEnd end);

// The functions that a thread is in, the innermost first, as far as they could
// be found.
struct NativeStack {
  std::vector<NativeFrame> frames;
  UnwindEnd end = UnwindEnd::kNoCode;
};

// Finds who called whom in code of an x86-64, from outside: by the registers, a
// copy of the stack and the tables of the files. Nothing is asked of the
// process but its mappings.
//
//  - Every frame that is told was found by a rule; what is not known ends the
//    stack and says why.
//  - The rules of the last kRows places are kept: only a place that is new
//    costs a search in tables. The work of one stack is limited, whatever the
//    tables say: a few milliseconds at most.
//
// One thread. For the processes of all ProcessCode that share one CodeFiles.
class Unwinder {
 public:
  static constexpr size_t kMostFrames = 1024;
  static constexpr size_t kRows = 16384;  // a power of two
  // New places in one stack, and bytes of tables that are read for them. A
  // stack that needs more is somebody's attempt to keep us busy.
  static constexpr size_t kMostNewRows = 256;
  static constexpr size_t kMostTableBytes = 128 << 10;

  Unwinder() : rows_(kRows) {}

  // `out` is overwritten; its memory is used again. `registers` knows rip and
  // rsp at least: without, nothing is found.
  void Unwind(ProcessCode& code, const Registers& registers,
              const StackCopy& stack, NativeStack& out);

  // Places that were looked up in tables, since the beginning.
  uint64_t lookups() const { return lookups_; }

 private:
  struct KeptRow {
    uint64_t address = 0;
    uint32_t file = ~uint32_t{0};
    UnwindRow row;
  };
  // Either the next frame was found, or why not.
  enum class Step : uint8_t { kNext, kStop };
  struct Walk;

  const UnwindRow* RowAt(Walk& walk, const ProcessCode::Place& place);
  Step ByTable(Walk& walk, const UnwindRow& row);
  Step ByFramePointer(Walk& walk);

  EhFrame tables_;
  std::vector<KeptRow> rows_;
  uint64_t lookups_ = 0;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_UNWIND_UNWINDER_H_

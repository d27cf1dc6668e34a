#ifndef SONDE_COLLECT_UNWIND_MERGED_STACK_H_
#define SONDE_COLLECT_UNWIND_MERGED_STACK_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collect/stacks/elf_file.h"
#include "collect/stacks/python_finder.h"
#include "collect/stacks/raw_python_frame.h"
#include "collect/unwind/unwinder.h"

namespace sonde {

// The Python whose frames lie between native ones.
struct Interpreter {
  int minor = 0;  // 3.x
  // Where the function that runs frames lies, in pieces, by address. Asked for
  // up to 3.11; later versions are merged by where their shims are, since the
  // function may have no name.
  std::vector<ElfFile::Function> eval = {};
  // Files whose functions are the interpreter's own.
  std::string library, program;
  // Those of its functions that are shown all the same, by address.
  std::vector<ElfFile::Function> notable = {};
  // The program is Python itself, not one that holds a Python.
  bool is_program = true;
};

// `program` is the file of the program that holds it.
Interpreter InterpreterOf(const FoundPython& found, std::string program,
                          bool is_program);

// One function on a merged stack: the index of a native frame, or of a frame of
// Python, shims not counted.
struct MergedFrame {
  bool python = false;
  uint32_t index = 0;

  bool operator==(const MergedFrame&) const = default;
};

// Native and Python functions that a thread is in, in the order of their calls.
struct MergedStack {
  std::vector<MergedFrame> frames;  // the innermost first
  // Every frame of Python has its place among the native ones, and the native
  // stack is whole.
  bool complete = false;
};

// Puts the frames of Python in the places of the native functions that run
// them. `native` and `python` are of one thread and one moment, the innermost
// first.
//
//  - What the interpreter itself does counts for the function of Python that it
//    does it for: its functions are left out, but for notable ones. What calls
//    the outermost function of Python is left out too, unless the program only
//    holds a Python.
//  - Frames of Python that find no place, as where the native stack is cut,
//    come last.
//
// `out` is overwritten; its memory is used again.
void MergeStacks(const NativeStack& native,
                 std::span<const RawPythonFrame> python,
                 const Interpreter& interpreter, MergedStack& out);

// How many of the native frames, counted from the innermost, lie below the
// first that runs Python, that one included; 0 if there is none.
size_t InnermostPart(const NativeStack& native,
                     std::span<const RawPythonFrame> python,
                     const Interpreter& interpreter);

}  // namespace sonde

#endif  // SONDE_COLLECT_UNWIND_MERGED_STACK_H_

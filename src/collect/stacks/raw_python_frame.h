#ifndef SONDE_COLLECT_STACKS_RAW_PYTHON_FRAME_H_
#define SONDE_COLLECT_STACKS_RAW_PYTHON_FRAME_H_

#include <cstdint>

namespace sonde {

// One frame of Python as it lay in memory at a moment, before anybody has
// looked up what it runs. Addresses are the process's word: not checked.
struct RawPythonFrame {
  uint64_t address = 0;  // of the frame itself
  uint64_t code = 0;     // of its code object; 0 of a shim
  // As the frame has it: a pointer, or before 3.11 an index.
  uint64_t instruction = 0;
  // From 3.12 on: the interpreter's own frame, made at each call of Python from
  // C, outside of the frames that run there.
  bool shim = false;
  // 3.11: called from C; the frames outside of this one are of another run of
  // the interpreter.
  bool entry = false;

  bool operator==(const RawPythonFrame&) const = default;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_STACKS_RAW_PYTHON_FRAME_H_

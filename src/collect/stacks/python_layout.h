#ifndef SONDE_COLLECT_STACKS_PYTHON_LAYOUT_H_
#define SONDE_COLLECT_STACKS_PYTHON_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "collect/stacks/python_lines.h"

namespace sonde {

// The versions of CPython, 3.x, whose layout is known.
inline constexpr int kFirstPythonMinor = 8;
inline constexpr int kLastPythonMinor = 14;
// From this one on the interpreter describes itself.
inline constexpr int kFirstDescribedMinor = 13;

// Where the fields that a reader of stacks needs lie in CPython's structures,
// in bytes from the beginning of each, for x86-64. Every offset lies inside the
// `_bytes` of its structure, which is how much of the structure is to be read.
struct PythonLayout {
  int minor = 0;
  LineFormat lines = LineFormat::kLocations;

  // _PyRuntime
  uint32_t interpreters = 0;
  // PyInterpreterState. `gil`: a pointer; 0 if the GIL lies in _PyRuntime.
  uint32_t interpreter_next = 0, threads = 0, gil = 0;
  // The GIL: in _PyRuntime, or what `gil` points to.
  uint32_t gil_holder = 0, gil_locked = 0;
  // PyThreadState. `frame`: of the innermost frame, or of a _PyCFrame, in which
  // it lies at `cframe_frame`. `native_id`, `stack_chunk` and `cframe`, which
  // points to a _PyCFrame, are 0 if there is none; behind `stack_chunk` lie the
  // top of the chunk and its end.
  uint32_t thread_previous = 0, thread_next = 8, frame = 0, ident = 0;
  uint32_t native_id = 0, stack_chunk = 0, cframe = 0;
  bool has_cframe = false;
  uint32_t cframe_frame = 0;
  // PyFrameObject, from 3.11 on _PyInterpreterFrame. `owner` and `entry`, a
  // byte that is 1 if C called the frame, are 0 if there is none.
  uint32_t previous = 0, code = 0, instruction = 0, owner = 0, entry = 0;
  // PyCodeObject. `bytecode` is 0 where the frame has an index instead of a
  // pointer to its instruction; the instructions are then in the bytes object
  // that `bytecode_object` points to.
  uint32_t first_line = 0, file = 0, name = 0, line_table = 0, bytecode = 0;
  uint32_t bytecode_object = 0;
  // The name without its class, which always has its hash.
  uint32_t plain_name = 0;
  // str: where the characters begin, if all are ASCII or not.
  uint32_t ascii_data = 0, other_data = 0;

  uint32_t thread_bytes = 0, frame_bytes = 0, code_bytes = 0;

  // Offsets as large as these are refused.
  static constexpr uint32_t kMostBytes = 16 << 10;
  static constexpr uint32_t kMostThreadBytes = 1024;
  static constexpr uint32_t kMostFrameBytes = 128;
  static constexpr uint32_t kMostCodeBytes = 256;
};

// Of 3.8 to 3.12; nothing for others.
std::optional<PythonLayout> TabledLayout(int minor);

// _PyRuntime of 3.13 and later begins with a description of itself,
// _Py_DebugOffsets. The `bytes` below are kDescriptionBytes of its beginning.
inline constexpr size_t kDescriptionBytes = 512;
// PY_VERSION_HEX; nothing if there is no description.
std::optional<uint64_t> DescribedVersion(std::span<const uint8_t> bytes);
bool DescribedFreeThreaded(std::span<const uint8_t> bytes);
// Nothing if the version is not known or the offsets make no sense.
std::optional<PythonLayout> DescribedLayout(std::span<const uint8_t> bytes);

}  // namespace sonde

#endif  // SONDE_COLLECT_STACKS_PYTHON_LAYOUT_H_

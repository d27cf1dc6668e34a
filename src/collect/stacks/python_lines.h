#ifndef SONDE_COLLECT_STACKS_PYTHON_LINES_H_
#define SONDE_COLLECT_STACKS_PYTHON_LINES_H_

#include <cstdint>
#include <span>

namespace sonde {

// How a code object of CPython says which instruction belongs to which line.
enum class LineFormat {
  kLnotab,     // 3.8 and 3.9: co_lnotab, steps of bytes and lines
  kLineTable,  // 3.10: co_linetable, ranges of bytes with a step of lines
  kLocations,  // 3.11 and later: co_linetable, with columns
};

// The line of the instruction that begins `offset` bytes into the bytecode; a
// negative offset is of a frame that has not begun, which stands at
// `first_line`. 0 if the instruction has no line or `table` does not reach it.
// A pure function over hostile bytes: the result may be wrong, never below 0.
int LineAt(LineFormat format, std::span<const uint8_t> table, int first_line,
           int64_t offset);

}  // namespace sonde

#endif  // SONDE_COLLECT_STACKS_PYTHON_LINES_H_

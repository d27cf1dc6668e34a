#ifndef SONDE_COLLECT_UNWIND_FRAME_PROGRAM_H_
#define SONDE_COLLECT_UNWIND_FRAME_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <span>

#include "collect/unwind/unwind_row.h"

namespace sonde {

// What many functions of a file have in common (a CIE of .eh_frame). `program`
// is a view into the bytes that it was read from.
struct CommonFrame {
  uint64_t code_step = 1;
  int64_t data_step = 1;
  uint8_t pointer_encoding = 0;
  bool augmented = false;  // a function has a block to be skipped
  bool signal_frame = false;
  std::span<const uint8_t> program;
};

// `body` is the entry behind its id, `address` that of its first byte in the
// file. Nothing if it makes no sense, or is not of an x86-64.
std::optional<CommonFrame> ParseCommonFrame(std::span<const uint8_t> body,
                                            uint64_t address);

// One function (an FDE of .eh_frame). `program` is a view, as above.
struct FunctionFrame {
  uint64_t begin = 0;
  uint64_t bytes = 0;
  std::span<const uint8_t> program;
};

std::optional<FunctionFrame> ParseFunctionFrame(const CommonFrame& common,
                                                std::span<const uint8_t> body,
                                                uint64_t address);

// Runs the programs of both up to `pc`, which lies in the function. The work is
// that of the bytes they have: there are no loops in such a program.
UnwindRow RunFramePrograms(const CommonFrame& common,
                           const FunctionFrame& function, uint64_t pc);

// States that a program may put aside; one that puts more is a bad table.
inline constexpr size_t kMostAsideStates = 8;

}  // namespace sonde

#endif  // SONDE_COLLECT_UNWIND_FRAME_PROGRAM_H_

#ifndef SONDE_COLLECT_UNWIND_PROLOGUE_H_
#define SONDE_COLLECT_UNWIND_PROLOGUE_H_

#include <cstdint>
#include <optional>

#include "collect/unwind/code_file.h"
#include "collect/unwind/unwind_row.h"

namespace sonde {

// The row of a place of which no table tells, as in functions that were written
// in assembler: by what the first instructions of the function do to the stack.
// A function begins where an endbr64 stands at a multiple of 16, at most 32 KiB
// before the place. Nothing if there is none, or if the function keeps its
// frame in rbp. `bytes_read` grows by what was looked through.
//
// The row may be wrong: the place may be of another function, or behind what
// puts the stack back. Whoever uses it asks whether a call stands before the
// place it returns to (IsBehindCall).
std::optional<UnwindRow> RowByPrologue(const CodeFile& file, uint64_t address,
                                       uint64_t& bytes_read);

// Whether the instruction that ends at `address` may be a call.
bool IsBehindCall(const CodeFile& file, uint64_t address);

}  // namespace sonde

#endif  // SONDE_COLLECT_UNWIND_PROLOGUE_H_

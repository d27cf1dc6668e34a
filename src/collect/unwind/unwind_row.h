#ifndef SONDE_COLLECT_UNWIND_UNWIND_ROW_H_
#define SONDE_COLLECT_UNWIND_UNWIND_ROW_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "collect/unwind/registers.h"

namespace sonde {

// The registers that a function leaves as it found them, and the place it
// returns to: what a row tells of.
inline constexpr Register kKept[] = {kRbx, kRbp, kR12, kR13, kR14, kR15, kRip};
inline constexpr size_t kKeptCount = 7;

// How to find the caller of a function that is at one place of its code. The
// CFA is the stack pointer of the caller, behind the call.
struct UnwindRow {
  enum class Kind : uint8_t {
    kTable,     // as the fields say
    kPrologue,  // as the fields say, if they lead behind a call
    kNoTable,   // nothing is known of this place
    kBadTable,  // what stands there makes no sense, or is not understood
  };
  enum class Cfa : uint8_t {
    kRegister,  // register + offset
    kMemory,    // what lies at register + offset, + add
    kPlt,       // rsp + 8, and 8 more if the last four bits of rip are >= add
    kUnknown,
  };
  // Where the caller's value of a register is.
  struct Rule {
    enum class Kind : uint8_t {
      kSame,        // still in the register
      kAtCfa,       // in memory, at CFA + offset
      kCfa,         // it is CFA + offset
      kAtRegister,  // in memory, at register + offset
      kRegister,    // it is register + offset
      kUndefined,   // lost; of rip: there is no caller
      kUnknown,     // as an expression says that is not understood
    };
    Kind kind = Kind::kSame;
    uint8_t number = 0;
    int32_t offset = 0;

    bool operator==(const Rule&) const = default;
  };

  Kind kind = Kind::kNoTable;
  Cfa cfa = Cfa::kUnknown;
  uint8_t cfa_register = 0;
  bool signal_frame = false;  // the caller was interrupted, it did not call
  int32_t cfa_offset = 0;
  int32_t cfa_add = 0;
  std::array<Rule, kKeptCount> rules;  // in the order of kKept

  bool operator==(const UnwindRow&) const = default;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_UNWIND_UNWIND_ROW_H_

#ifndef SONDE_COLLECT_UNWIND_EH_FRAME_H_
#define SONDE_COLLECT_UNWIND_EH_FRAME_H_

#include <cstdint>
#include <vector>

#include "collect/unwind/code_file.h"
#include "collect/unwind/frame_program.h"
#include "collect/unwind/unwind_row.h"

namespace sonde {

// Looks up places of code in the tables that compilers leave for exceptions,
// .eh_frame, by the sorted list of functions in .eh_frame_hdr.
//
//  - Of a place that no table tells of, the beginning of its function is asked
//    (RowByPrologue).
//  - Nothing is read but what one place needs: some hundred bytes, without a
//    table 32 KiB.
//  - Of a function whose entry is longer than kMostEntryBytes the table is bad.
//
// One thread.
class EhFrame {
 public:
  static constexpr uint64_t kMostEntryBytes = 64 << 10;

  // `address` is that of an instruction, in the terms of the file.
  UnwindRow Find(const CodeFile& file, uint64_t address);
  // Where the function begins that holds this instruction; 0 if no table tells.
  uint64_t FunctionBegin(const CodeFile& file, uint64_t address);

  // Of entries, since the beginning: what the work was.
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  // The entry of a function, with what it shares with others.
  struct Entry {
    CommonFrame common;
    FunctionFrame function;
  };
  enum class Search : uint8_t { kFound, kNone, kBad };

  Search FindEntry(const CodeFile& file, uint64_t address, Entry& out);
  bool ReadEntry(const CodeFile& file, uint64_t address,
                 std::vector<uint8_t>& body);

  // Bytes of the entry behind its length; kept to save allocations.
  std::vector<uint8_t> function_;
  std::vector<uint8_t> common_;
  uint64_t bytes_read_ = 0;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_UNWIND_EH_FRAME_H_

#ifndef SONDE_TRACE_ROW_BUDGET_H_
#define SONDE_TRACE_ROW_BUDGET_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace sonde {

class TraceReader;

// How much the tables of one trace may cost whoever keeps them: a few bytes of
// a file can unpack to gigabytes, and a row of ten bytes takes a hundred in
// memory.
//
//  - Unpack() counts the bytes of each payload, Keep() what a row takes. From
//    the first that is too much on both say no, and status() says why.
//  - kMaxKeptBytes are the rows of 130 000 processes that were sampled, or of a
//    million that were too short for it: with what is made of them it stays
//    below half a gigabyte. What is unpacked may also grow with the file.
class RowBudget {
 public:
  static constexpr uint64_t kMaxKeptBytes = 256'000'000;
  static constexpr uint64_t kMaxUnpackedBytes = 64'000'000;
  static constexpr uint64_t kUnpackedPerByte = 16;  // of the file

  explicit RowBudget(const TraceReader& trace);
  RowBudget(uint64_t file_bytes, size_t frames);

  bool Unpack(size_t bytes);
  bool Keep(size_t bytes) {
    kept_ += bytes;
    return kept_ <= kMaxKeptBytes && !too_long_;
  }
  // The same for a row of a std::map.
  bool KeepNode(size_t bytes) { return Keep(bytes + kNodeBytes); }

  bool over() const { return kept_ > kMaxKeptBytes || too_long_; }
  // An error that names `file`, if there was too much.
  Status status(const std::string& file) const;

 private:
  static constexpr size_t kNodeBytes = 48;  // a tree's and the allocator's

  const uint64_t max_unpacked_;
  uint64_t unpacked_ = 0;
  uint64_t kept_ = 0;
  bool too_long_ = false;
};

// What a string takes besides its place in a row.
inline size_t HeapBytes(size_t text) { return text < 16 ? 0 : text + 16; }

}  // namespace sonde

#endif  // SONDE_TRACE_ROW_BUDGET_H_

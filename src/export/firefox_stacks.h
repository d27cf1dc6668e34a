#ifndef SONDE_EXPORT_FIREFOX_STACKS_H_
#define SONDE_EXPORT_FIREFOX_STACKS_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "export/stack_rows.h"
#include "store/stack_names.h"
#include "store/store.h"

namespace sonde {

// The stacks of a trace as a table in which each row is a place and the row of
// its callers, a smaller one. Stacks that begin alike share rows.
//
//  - A stack that is not known, and what comes behind kMostRows rows, is the
//    row of kNoPlace.
//  - A stack that says it has more than StackNames::kMostPlaces callers is
//    known as far as these; time and memory go with the rows, not with how deep
//    stacks are.
//
// Refers to the store, which must live longer. One thread.
class FirefoxStacks {
 public:
  static constexpr size_t kMostRows = 1 << 20;
  static constexpr uint32_t kNoRow = UINT32_MAX;

  struct Row {
    uint32_t callers = kNoRow;  // a row
    uint32_t frame = 0;         // of frames()
  };

  explicit FirefoxStacks(const Store& store);

  // The row of a stack.
  uint32_t Of(uint32_t stack);

  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<StackPlace>& frames() const { return frames_.rows(); }
  const std::vector<Function>& functions() const { return names_.functions(); }

 private:
  uint32_t Child(uint32_t callers, const StackPlace& place);

  const Store& store_;
  StackNames names_;
  PlaceRows frames_;
  std::vector<Row> rows_;
  std::unordered_map<uint64_t, uint32_t> children_;  // by callers and frame
  std::unordered_map<uint32_t, uint32_t> of_;        // by stack
  std::vector<uint32_t> path_;                       // up a stack
};

}  // namespace sonde

#endif  // SONDE_EXPORT_FIREFOX_STACKS_H_

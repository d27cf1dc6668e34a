// What formats that number functions and their places have in common.

#ifndef SONDE_EXPORT_STACK_ROWS_H_
#define SONDE_EXPORT_STACK_ROWS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "store/stack_names.h"

namespace sonde {

// Longer names are cut; no viewer shows more.
inline constexpr size_t kMaxStackName = 4096;

// Strings by number, in the order in which they were asked for. Each is valid
// UTF-8 without control characters: Printable() of what was given.
class StringRows {
 public:
  uint32_t Of(std::string_view text) {
    const auto [at, fresh] = numbers_.try_emplace(
        Printable(text, kMaxStackName), static_cast<uint32_t>(rows_.size()));
    if (fresh) rows_.push_back(&at->first);
    return at->second;
  }
  const std::vector<const std::string*>& rows() const { return rows_; }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<const std::string*> rows_;
};

// Lines of functions by number, in the order in which they were asked for.
class PlaceRows {
 public:
  uint32_t Of(const StackPlace& place) {
    const uint64_t key = uint64_t{place.function} << 32 | place.line;
    const auto [at, fresh] =
        numbers_.try_emplace(key, static_cast<uint32_t>(rows_.size()));
    if (fresh) rows_.push_back(place);
    return at->second;
  }
  const std::vector<StackPlace>& rows() const { return rows_; }

 private:
  std::unordered_map<uint64_t, uint32_t> numbers_;
  std::vector<StackPlace> rows_;
};

// A place on no stack: of a function that stands for what is not known. Its
// name is kStackNotKnown.
inline constexpr StackPlace kNoPlace = {UINT32_MAX, 0};

}  // namespace sonde

#endif  // SONDE_EXPORT_STACK_ROWS_H_

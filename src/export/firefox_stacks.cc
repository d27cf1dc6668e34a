#include "export/firefox_stacks.h"

namespace sonde {
namespace {

constexpr uint32_t kNotKnownRow = 0;

}  // namespace

FirefoxStacks::FirefoxStacks(const Store& store)
    : store_(store), names_(store) {
  rows_.push_back({kNoRow, frames_.Of(kNoPlace)});
}

uint32_t FirefoxStacks::Of(uint32_t stack) {
  path_.clear();
  uint32_t row = kNoRow;
  // A file can say that a stack was called from itself.
  while (path_.size() < StackNames::kMostPlaces) {
    if (const auto known = of_.find(stack); known != of_.end()) {
      row = known->second;
      break;
    }
    const StackNode* const node = store_.stacks().Find(stack);
    if (node == nullptr) break;
    path_.push_back(stack);
    stack = node->parent;
  }
  if (path_.empty()) return row == kNoRow ? kNotKnownRow : row;
  for (size_t i = path_.size(); i-- > 0;) {
    const std::vector<StackPlace>& places =
        names_.OfFrame(store_.stacks().Find(path_[i])->frame);
    for (size_t j = places.size(); j-- > 0 && row != kNotKnownRow;)
      row = Child(row, places[j]);
    of_.emplace(path_[i], row);
  }
  return row;
}

uint32_t FirefoxStacks::Child(uint32_t callers, const StackPlace& place) {
  if (rows_.size() >= kMostRows) return kNotKnownRow;
  const uint32_t frame = frames_.Of(place);
  const auto [at, fresh] = children_.try_emplace(
      uint64_t{callers} << 32 | frame, static_cast<uint32_t>(rows_.size()));
  if (fresh) rows_.push_back({callers, frame});
  return at->second;
}

}  // namespace sonde

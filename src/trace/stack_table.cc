#include "trace/stack_table.h"

#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sonde {

size_t StackTable::FrameHash::operator()(const StackFrame& frame) const {
  return XXH3_64bits(&frame, sizeof(frame));
}

uint32_t StackTable::AddFrame(const StackFrame& frame) {
  if (frames_.size() >= kMostNodes) frames_.clear();
  const auto [at, fresh] = frames_.try_emplace(frame, last_frame_ + 1);
  if (fresh) rows_.push_back({true, ++last_frame_, frame, {}});
  return at->second;
}

uint32_t StackTable::AddNode(const StackNode& node) {
  if (nodes_.size() >= kMostNodes) nodes_.clear();
  const uint64_t key = uint64_t{node.parent} << 32 | node.frame;
  const auto [at, fresh] = nodes_.try_emplace(key, last_node_ + 1);
  if (fresh) rows_.push_back({false, ++last_node_, {}, node});
  return at->second;
}

uint32_t StackTable::AddStack(std::span<const StackFrame> frames) {
  if (frames.empty()) return 0;
  // At most half full: a free place is near.
  if (stacks_.empty() || stack_count_ >= kMostStacks) {
    stacks_.assign(2 * kMostStacks, {});
    stack_count_ = 0;
  }
  const XXH128_hash_t hash = XXH3_128bits(frames.data(), frames.size_bytes());
  size_t place = hash.low64 % stacks_.size();
  for (; stacks_[place].id != 0; place = (place + 1) % stacks_.size())
    if (stacks_[place].low == hash.low64 && stacks_[place].high == hash.high64)
      return stacks_[place].id;
  uint32_t id = 0;
  for (const StackFrame& frame : frames) id = AddNode({id, AddFrame(frame)});
  stacks_[place] = {hash.low64, hash.high64, id};
  ++stack_count_;
  return id;
}

std::vector<StackRow> StackTable::TakeRows() {
  return std::exchange(rows_, {});
}

}  // namespace sonde

#ifndef SONDE_TRACE_STACK_TABLE_H_
#define SONDE_TRACE_STACK_TABLE_H_

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "trace/model.h"
#include "trace/tables.h"

namespace sonde {

// Gives stacks their ids, each stack once.
//
//  - A stack is a path in a tree whose nodes share their callers. A stack that
//    came before is found as a whole, by one hash of all its frames (0.1 us for
//    40 of them); the tree is walked only for new stacks.
//  - What is remembered is bounded: from kMostStacks whole stacks, or
//    kMostNodes frames or nodes on, all are forgotten, and a stack that comes
//    again gets a new id. Old ids keep their meaning.
//  - Two stacks of equal 128-bit hash are taken for one. No program has such
//    stacks by chance; a program that makes them on purpose mixes up its own
//    stacks.
//
// One thread.
class StackTable {
 public:
  static constexpr size_t kMostStacks = 64 << 10;
  static constexpr size_t kMostNodes = 1 << 20;

  uint32_t AddFrame(const StackFrame& frame);
  uint32_t AddNode(const StackNode& node);
  // The outermost frame first. 0 of no frames.
  uint32_t AddStack(std::span<const StackFrame> frames);

  // The rows made since rows were last taken, callers before those they call.
  std::vector<StackRow> TakeRows();

 private:
  struct FrameHash {
    size_t operator()(const StackFrame& frame) const;
  };
  // An entry of an open hash table; id 0: free.
  struct Whole {
    uint64_t low, high;
    uint32_t id;
  };

  std::unordered_map<StackFrame, uint32_t, FrameHash> frames_;
  std::unordered_map<uint64_t, uint32_t> nodes_;  // parent and frame
  std::vector<Whole> stacks_;
  size_t stack_count_ = 0;
  uint32_t last_frame_ = 0, last_node_ = 0;
  std::vector<StackRow> rows_;
};

}  // namespace sonde

#endif  // SONDE_TRACE_STACK_TABLE_H_

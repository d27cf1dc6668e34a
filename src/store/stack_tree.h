#ifndef SONDE_STORE_STACK_TREE_H_
#define SONDE_STORE_STACK_TREE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/stack_names.h"
#include "store/stack_sums.h"
#include "store/store.h"

namespace sonde {

// One box of a flame graph: a function as called by all that is above it.
struct StackTreeNode {
  enum class Kind : uint8_t {
    kAll,       // the root
    kProcess,   // `number` is Process::number; 0: not known
    kThread,    // `number` is Thread::number; 0: not known
    kFunction,  // `number` is an index into StackTree::functions()
    kNotKnown,  // the stack is not known
    kCallers,   // callers of a stack too long for StackNames
    kDeeper,    // functions below the deepest that are kept
    kLeftOut,   // stacks of a trace that has too many
  };

  Kind kind = Kind::kAll;
  uint32_t number = 0;
  uint32_t parent = 0;  // an index; of the root: 0
  uint32_t line = 0;    // of a function: the line with most time; 0: not known
  uint64_t self_ns = 0;
  uint64_t total_ns = 0;  // with all that is below
  uint64_t samples = 0;   // behind total_ns
};

// The CPU time of a trace as a tree: the whole, processes, threads, and the
// functions from the outermost in. Calls from several lines of a function are
// one.
//
//  - The total of a node is its self time and the totals of its children; the
//    total of the root is all that was sampled.
//  - Functions lie at most kMostDepth below their thread, and there are about
//    kMostNodes nodes. What is beyond is in nodes that say so, the smallest
//    stacks first.
//  - Time and memory go with the stacks of each thread, not with how deep they
//    are: callers that stacks share are looked at once.
//
// Refers to the store, which must live longer. One thread.
class StackTree {
 public:
  static constexpr size_t kMostDepth = 256;
  static constexpr size_t kMostNodes = 1 << 19;

  // `sums` as RunningStacks() gives them.
  StackTree(const Store& store, const std::vector<StackSum>& sums);

  // The root first, each after its parent.
  const std::vector<StackTreeNode>& nodes() const { return nodes_; }
  const std::vector<Function>& functions() const { return names_.functions(); }

  // What a node is called, as the trace has it, not made harmless yet.
  std::string Name(const StackTreeNode& node) const;

 private:
  // A line of a node, as called by another. `ns` is time of its own at first,
  // then also of what it called.
  struct Place {
    uint32_t caller = 0;  // an index; 0: a thread
    uint32_t node = 0;
    uint32_t line = 0;
    uint64_t ns = 0;
  };

  void Add(const StackSum& sum);
  // The place of a stack of a thread; 0 if the stack is not known or there is
  // no room for it.
  uint32_t PlaceOf(uint32_t thread_node, uint32_t stack);
  uint32_t AddPlace(uint32_t caller, uint32_t node, const StackPlace& place);
  uint32_t Child(uint32_t parent, StackTreeNode::Kind kind, uint32_t number);
  void ChooseLines();
  void SumUp();

  const Store& store_;
  StackNames names_;
  std::vector<StackTreeNode> nodes_;
  std::vector<uint16_t> depths_;  // by node: functions from its thread to it
  std::unordered_map<uint64_t, uint32_t> children_;  // by parent and number
  std::vector<Place> places_;                        // the first is nobody's
  std::unordered_map<uint64_t, uint32_t> known_;  // places by thread and stack
  std::vector<uint32_t> path_;                    // up a stack
};

}  // namespace sonde

#endif  // SONDE_STORE_STACK_TREE_H_

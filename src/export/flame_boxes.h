#ifndef SONDE_EXPORT_FLAME_BOXES_H_
#define SONDE_EXPORT_FLAME_BOXES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/stack_tree.h"

namespace sonde {

// One box of a flame graph that is drawn.
struct FlameBox {
  // By what its colour is.
  enum class Look : uint8_t {
    kFrame,  // no function: the whole, a process, a thread, what is left out
    kPython,
    kNative,
    kOther,     // a function of a language that is not known
    kNotKnown,  // time of which no function is known
  };

  uint32_t parent = 0;  // an index; of the first: 0
  uint32_t depth = 0;
  Look look = Look::kFrame;
  uint64_t from_ns = 0;  // from the left border of the picture
  uint64_t ns = 0;
  uint64_t self_ns = 0;
  uint64_t samples = 0;
  std::string name;  // not made harmless yet
};

// The largest boxes of a tree: at most `most` nodes, none below `least_ns`.
// Children lie in their parent, the largest first. What is too small is one box
// at the end of its parent, that says how many, if it is large enough together.
// The first box is the whole, and each comes after its parent.
std::vector<FlameBox> FlameBoxesOf(const StackTree& tree, size_t most,
                                   uint64_t least_ns);

// "python", "native", ...: for classes and legends.
std::string_view NameOf(FlameBox::Look look);

// "400 ms, 33.3 % of 1.20 s, 20 samples": what to know of a box besides its
// name.
std::string FlameBoxText(const FlameBox& box, const FlameBox& whole);

}  // namespace sonde

#endif  // SONDE_EXPORT_FLAME_BOXES_H_

#include "export/flame_boxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/text.h"

namespace sonde {
namespace {

using Kind = StackTreeNode::Kind;
using Look = FlameBox::Look;

constexpr uint32_t kNone = UINT32_MAX;

Look LookOf(const StackTree& tree, const StackTreeNode& node) {
  if (node.kind < Kind::kFunction) return Look::kFrame;
  if (node.kind != Kind::kFunction) return Look::kNotKnown;
  const Function& function = tree.functions()[node.number];
  if (function.language == "python") return Look::kPython;
  if (function.language == "native") return Look::kNative;
  return function.name == "?" ? Look::kNotKnown : Look::kOther;
}

// The time that a node needs to be among the `most` largest.
uint64_t Least(const std::vector<StackTreeNode>& nodes, size_t most) {
  if (nodes.size() <= most) return 0;
  std::vector<uint64_t> times;
  times.reserve(nodes.size());
  for (const StackTreeNode& node : nodes) times.push_back(node.total_ns);
  const auto last = times.begin() + static_cast<ptrdiff_t>(most);
  std::nth_element(times.begin(), last, times.end(), std::greater<>());
  // Those that have the same time as the first that is too many go with it.
  return *last + 1;
}

class BoxMaker {
 public:
  BoxMaker(const StackTree& tree, uint64_t least_ns)
      : tree_(tree),
        nodes_(tree.nodes()),
        least_ns_(least_ns),
        children_(nodes_.size()) {
    for (uint32_t i = 1; i < nodes_.size(); ++i)
      children_[nodes_[i].parent].push_back(i);
  }

  std::vector<FlameBox> Make() {
    Put(0, 0, 0, 0, nodes_[0].total_ns);
    of_.push_back(0);
    // The list grows while it is walked.
    for (uint32_t i = 0; i < boxes_.size(); ++i)
      if (of_[i] != kNone) PutChildren(i);
    return std::move(boxes_);
  }

 private:
  void Put(uint32_t node, uint32_t parent, uint32_t depth, uint64_t from_ns,
           uint64_t ns) {
    const StackTreeNode& n = nodes_[node];
    boxes_.push_back({parent, depth, LookOf(tree_, n), from_ns, ns,
                      std::min(n.self_ns, ns), n.samples, tree_.Name(n)});
  }

  void PutChildren(uint32_t parent) {
    std::vector<uint32_t>& children = children_[of_[parent]];
    std::stable_sort(children.begin(), children.end(),
                     [&](uint32_t a, uint32_t b) {
                       return nodes_[a].total_ns > nodes_[b].total_ns;
                     });
    uint64_t from = boxes_[parent].from_ns;
    // Times that a file makes up may not fit.
    uint64_t left = boxes_[parent].ns;
    const uint32_t depth = boxes_[parent].depth + 1;
    uint64_t more = 0, more_ns = 0, more_samples = 0;
    for (const uint32_t child : children) {
      const uint64_t ns = std::min(left, nodes_[child].total_ns);
      left -= ns;
      if (ns < least_ns_ || ns == 0) {
        ++more;
        more_ns += ns;
        more_samples += nodes_[child].samples;
        continue;
      }
      Put(child, parent, depth, from, ns);
      of_.push_back(child);
      from += ns;
    }
    if (more_ns < least_ns_ || more_ns == 0) return;
    boxes_.push_back({parent, depth, Look::kFrame, from, more_ns, 0,
                      more_samples, fmt::format("{} more", more)});
    of_.push_back(kNone);
  }

  const StackTree& tree_;
  const std::vector<StackTreeNode>& nodes_;
  const uint64_t least_ns_;
  std::vector<std::vector<uint32_t>> children_;  // by node
  std::vector<FlameBox> boxes_;
  std::vector<uint32_t> of_;  // by box: its node
};

}  // namespace

std::vector<FlameBox> FlameBoxesOf(const StackTree& tree, size_t most,
                                   uint64_t least_ns) {
  return BoxMaker(tree, std::max(least_ns, Least(tree.nodes(), most))).Make();
}

std::string_view NameOf(FlameBox::Look look) {
  switch (look) {
    case Look::kFrame:
      return "frame";
    case Look::kPython:
      return "python";
    case Look::kNative:
      return "native";
    case Look::kOther:
      return "other";
    case Look::kNotKnown:
      return "unknown";
  }
  return "";
}

std::string FlameBoxText(const FlameBox& box, const FlameBox& whole) {
  const auto duration = [](uint64_t ns) {
    return FormatDuration(
        static_cast<int64_t>(std::min<uint64_t>(ns, INT64_MAX)));
  };
  return fmt::format(
      "{}, {} of {}, {} {}", duration(box.ns),
      FormatShare(static_cast<double>(box.ns) /
                  static_cast<double>(std::max<uint64_t>(1, whole.ns))),
      duration(whole.ns), box.samples, box.samples == 1 ? "sample" : "samples");
}

}  // namespace sonde

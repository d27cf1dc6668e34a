#include "store/stack_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace sonde {
namespace {

using Kind = StackTreeNode::Kind;

// Of the stacks of all threads: a hundred and fifty megabytes.
constexpr size_t kMostTreePlaces = 1 << 21;

// Children that have no number of their own.
bool IsRest(Kind kind) { return kind > Kind::kFunction; }

uint64_t ChildKey(uint32_t parent, Kind kind, uint32_t number) {
  const uint32_t own =
      IsRest(kind) ? UINT32_MAX - static_cast<uint32_t>(kind) : number;
  return uint64_t{parent} << 32 | own;
}

}  // namespace

StackTree::StackTree(const Store& store, const std::vector<StackSum>& sums)
    : store_(store), names_(store), nodes_(1), depths_(1), places_(1) {
  // About what stacks that differ in their last calls take.
  const size_t most = std::min(4 * sums.size(), kMostNodes);
  nodes_.reserve(most);
  children_.reserve(most);
  known_.reserve(most);
  for (const StackSum& sum : sums) Add(sum);
  ChooseLines();
  SumUp();
}

void StackTree::Add(const StackSum& sum) {
  const auto thread = store_.threads().find(sum.thread);
  uint32_t at = 0;
  if (nodes_.size() < kMostNodes) {
    at = Child(at, Kind::kProcess,
               thread == store_.threads().end() ? 0 : thread->second.process);
    at = Child(at, Kind::kThread, sum.thread);
  }
  if (const uint32_t place = at == 0 ? 0 : PlaceOf(at, sum.stack); place != 0) {
    places_[place].ns += sum.running_ns;
    at = places_[place].node;
  } else {
    const bool known = store_.stacks().Find(sum.stack) != nullptr;
    at = Child(at, known ? Kind::kLeftOut : Kind::kNotKnown, 0);
  }
  nodes_[at].self_ns += sum.running_ns;
  nodes_[at].samples += sum.running;
}

uint32_t StackTree::PlaceOf(uint32_t thread_node, uint32_t stack) {
  const auto key = [&](uint32_t id) {
    return uint64_t{thread_node} << 32 | id;
  };
  path_.clear();
  uint32_t caller = 0, at = thread_node;
  for (;;) {
    if (const auto known = known_.find(key(stack)); known != known_.end()) {
      caller = known->second;
      at = places_[caller].node;
      break;
    }
    if (places_.size() + known_.size() > kMostTreePlaces) return 0;
    const StackNode* const node = store_.stacks().Find(stack);
    if (node == nullptr) break;
    // A file can also say that a stack was called from itself.
    if (path_.size() == StackNames::kMostPlaces) {
      at = Child(at, Kind::kCallers, 0);
      break;
    }
    path_.push_back(stack);
    stack = node->parent;
  }
  for (size_t i = path_.size(); i-- > 0;) {
    const std::vector<StackPlace>& places =
        names_.OfFrame(store_.stacks().Find(path_[i])->frame);
    for (size_t j = places.size(); j-- > 0;) {
      if (IsRest(nodes_[at].kind) && nodes_[at].kind != Kind::kCallers) break;
      caller = AddPlace(caller, at, places[j]);
      at = places_[caller].node;
    }
    known_.emplace(key(path_[i]), caller);
  }
  return caller;
}

// Of what `node` called.
uint32_t StackTree::AddPlace(uint32_t caller, uint32_t node,
                             const StackPlace& place) {
  Place row{caller, 0, 0, 0};
  if (depths_[node] == kMostDepth) {
    row.node = Child(node, Kind::kDeeper, 0);
  } else if (nodes_.size() >= kMostNodes) {
    row.node = Child(node, Kind::kLeftOut, 0);
  } else {
    row.node = Child(node, Kind::kFunction, place.function);
    row.line = place.line;
  }
  places_.push_back(row);
  return static_cast<uint32_t>(places_.size() - 1);
}

uint32_t StackTree::Child(uint32_t parent, Kind kind, uint32_t number) {
  const auto [at, fresh] = children_.try_emplace(
      ChildKey(parent, kind, number), static_cast<uint32_t>(nodes_.size()));
  if (fresh) {
    nodes_.push_back({kind, number, parent});
    depths_.push_back(static_cast<uint16_t>(depths_[parent] +
                                            (kind == Kind::kFunction ? 1 : 0)));
  }
  return at->second;
}

void StackTree::ChooseLines() {
  // Places come after their callers.
  for (size_t i = places_.size(); i-- > 1;)
    places_[places_[i].caller].ns += places_[i].ns;
  std::vector<const Place*> order;
  for (const Place& place : places_)
    if (place.line != 0) order.push_back(&place);
  std::sort(order.begin(), order.end(), [](const Place* a, const Place* b) {
    return std::tie(a->node, a->line) < std::tie(b->node, b->line);
  });
  uint64_t most = 0;
  for (size_t i = 0; i < order.size();) {
    const Place& first = *order[i];
    if (i == 0 || order[i - 1]->node != first.node) most = 0;
    uint64_t ns = 0;
    for (; i < order.size() && order[i]->node == first.node &&
           order[i]->line == first.line;
         ++i)
      ns += order[i]->ns;
    if (ns <= most) continue;
    most = ns;
    nodes_[first.node].line = first.line;
  }
}

void StackTree::SumUp() {
  for (StackTreeNode& node : nodes_) node.total_ns = node.self_ns;
  for (size_t i = nodes_.size(); i-- > 1;) {
    nodes_[nodes_[i].parent].total_ns += nodes_[i].total_ns;
    nodes_[nodes_[i].parent].samples += nodes_[i].samples;
  }
}

std::string StackTree::Name(const StackTreeNode& node) const {
  switch (node.kind) {
    case Kind::kAll:
      return "all";
    case Kind::kProcess:
      return NameProcess(store_, node.number);
    case Kind::kThread:
      return NameThread(store_, node.number).thread;
    case Kind::kFunction:
      return CallPlace(functions()[node.number], node.line);
    case Kind::kNotKnown:
      return std::string(kStackNotKnown);
    case Kind::kCallers:
      return "callers left out";
    case Kind::kDeeper:
      return fmt::format("deeper than {} functions", kMostDepth);
    case Kind::kLeftOut:
      return "left out, there are too many stacks";
  }
  return "";
}

}  // namespace sonde

#include "store/stack_tree.h"

#include <fmt/format.h>

namespace sonde {
namespace {

using Kind = StackTreeNode::Kind;

// Up the stacks of one trace.
constexpr uint64_t kMostTreeSteps = 20'000'000;
// Lines of one node that are told apart.
constexpr size_t kMostLines = 64;

// Children that have no number of their own.
bool IsRest(Kind kind) { return kind > Kind::kFunction; }

uint64_t ChildKey(uint32_t parent, Kind kind, uint32_t number) {
  const uint32_t own =
      IsRest(kind) ? UINT32_MAX - static_cast<uint32_t>(kind) : number;
  return uint64_t{parent} << 32 | own;
}

}  // namespace

StackTree::StackTree(const Store& store, const std::vector<StackSum>& sums)
    : store_(store), names_(store), nodes_(1), first_lines_(1), lines_(1) {
  for (const StackSum& sum : sums) Add(sum);
  ChooseLines();
}

void StackTree::Add(const StackSum& sum) {
  nodes_[0].total_ns += sum.running_ns;
  nodes_[0].samples += sum.running;
  const auto thread = store_.threads().find(sum.thread);
  uint32_t at = 0;
  if (nodes_.size() < kMostNodes) {
    at = Child(at, Kind::kProcess,
               thread == store_.threads().end() ? 0 : thread->second.process,
               sum);
    at = Child(at, Kind::kThread, sum.thread, sum);
    if (steps_ < kMostTreeSteps) return AddPlaces(at, sum);
  }
  nodes_[Child(at, Kind::kLeftOut, 0, sum)].self_ns += sum.running_ns;
}

void StackTree::AddPlaces(uint32_t thread, const StackSum& sum) {
  names_.Of(sum.stack, places_);
  steps_ += places_.size();
  uint32_t at = thread;
  if (places_.empty()) at = Child(at, Kind::kNotKnown, 0, sum);
  if (places_.size() >= StackNames::kMostPlaces)
    at = Child(at, Kind::kCallers, 0, sum);
  size_t depth = 0;
  for (size_t i = places_.size(); i-- > 0;) {
    const StackPlace& place = places_[i];
    const bool deep = depth++ == kMostDepth;
    if (deep || nodes_.size() >= kMostNodes) {
      at = Child(at, deep ? Kind::kDeeper : Kind::kLeftOut, 0, sum);
      break;
    }
    at = Child(at, Kind::kFunction, place.function, sum);
    AddLine(at, place.line, sum.running_ns);
  }
  nodes_[at].self_ns += sum.running_ns;
}

uint32_t StackTree::Child(uint32_t parent, Kind kind, uint32_t number,
                          const StackSum& sum) {
  const auto [at, fresh] = children_.try_emplace(
      ChildKey(parent, kind, number), static_cast<uint32_t>(nodes_.size()));
  if (fresh) {
    nodes_.push_back({kind, number, parent});
    first_lines_.push_back(0);
  }
  nodes_[at->second].total_ns += sum.running_ns;
  nodes_[at->second].samples += sum.running;
  return at->second;
}

void StackTree::AddLine(uint32_t node, uint32_t line, uint64_t ns) {
  if (line == 0) return;
  size_t count = 0;
  for (uint32_t at = first_lines_[node]; at != 0; at = lines_[at].next) {
    if (lines_[at].line == line) {
      lines_[at].ns += ns;
      return;
    }
    if (++count == kMostLines) return;
  }
  lines_.push_back({line, first_lines_[node], ns});
  first_lines_[node] = static_cast<uint32_t>(lines_.size() - 1);
}

void StackTree::ChooseLines() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    uint64_t most = 0;
    for (uint32_t at = first_lines_[i]; at != 0; at = lines_[at].next) {
      const LineTime& line = lines_[at];
      if (line.ns < most || (line.ns == most && line.line > nodes_[i].line))
        continue;
      most = line.ns;
      nodes_[i].line = line.line;
    }
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

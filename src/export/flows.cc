#include "export/flows.h"

#include <algorithm>
#include <tuple>

namespace sonde {
namespace {

bool SameSlice(const FlowEnd& a, const FlowEnd& b) {
  return a.pid == b.pid && a.tid == b.tid && a.moment_ns == b.moment_ns &&
         a.last_ns == b.last_ns;
}

// The begin that `to` most likely comes from: the latest before it; else one
// that lies within it (a wait that began before what it waits for). Null if
// there is none. Begins are in time order.
const FlowEnd* FindBegin(const FlowEnd* begins, const FlowEnd* end,
                         const FlowEnd& to) {
  const FlowEnd* at = std::upper_bound(
      begins, end, to.moment_ns,
      [](int64_t ns, const FlowEnd& b) { return ns < b.moment_ns; });
  for (const FlowEnd* b = at; b != begins;)
    if (!SameSlice(*--b, to)) return b;
  for (; at != end && at->moment_ns <= to.last_ns; ++at)
    if (!SameSlice(*at, to)) return at;
  return nullptr;
}

}  // namespace

void Flows::Match(bool last) {
  std::sort(ends_.begin(), ends_.end(), [](const FlowEnd& a, const FlowEnd& b) {
    return std::tuple(a.flow, !a.begins, a.moment_ns) <
           std::tuple(b.flow, !b.begins, b.moment_ns);
  });
  size_t kept = 0;
  std::vector<bool> used;
  for (size_t i = 0; i < ends_.size();) {
    size_t group = i;
    while (group < ends_.size() && ends_[group].flow == ends_[i].flow) ++group;
    size_t ends = i;
    while (ends < group && ends_[ends].begins) ++ends;
    const size_t kept_before = kept;
    std::vector<FlowEnd> loose;
    used.assign(ends - i, false);
    for (size_t k = ends; k < group; ++k) {
      const FlowEnd* begins = ends_.data() + i;
      const FlowEnd* from = FindBegin(begins, ends_.data() + ends, ends_[k]);
      if (!from || arrows_ == INT32_MAX) {
        loose.push_back(ends_[k]);
        continue;
      }
      used[static_cast<size_t>(from - begins)] = true;
      emit_(static_cast<uint32_t>(++arrows_), *from, ends_[k],
            std::max(from->moment_ns, ends_[k].moment_ns));
    }
    for (size_t k = i; k < ends; ++k)
      if (!used[k - i]) loose.push_back(ends_[k]);
    for (const FlowEnd& end : loose) ends_[kept++] = end;
    if (last) {
      unbound_ += kept - kept_before;
      kept = kept_before;
    }
    i = group;
  }
  ends_.resize(kept);
  // Ends that find no partner must not make every Add() a sort.
  batch_ = std::max(kBatch, ends_.size() * 2);
}

}  // namespace sonde

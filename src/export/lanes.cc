#include "export/lanes.h"

#include <algorithm>

namespace sonde {

bool Lane::FindInner(int64_t begin_ns) {
  const auto inner = std::lower_bound(
      spans_.begin(), spans_.end(), begin_ns,
      [](const Span& span, int64_t at) { return span.begin_ns < at; });
  if (inner != spans_.begin() && std::prev(inner)->end_ns > begin_ns)
    return false;
  first_inner_ = static_cast<size_t>(inner - spans_.begin());
  return true;
}

void Lane::Cover(int64_t begin_ns, int64_t end_ns) {
  int64_t moment = begin_ns;
  for (size_t i = first_inner_; i < spans_.size(); ++i) {
    if (spans_[i].begin_ns > moment) break;
    moment = spans_[i].end_ns;
  }
  self_moment_ns_ = moment < end_ns ? moment : begin_ns;
  budget_->spans -= spans_.size() - first_inner_;
  spans_.resize(first_inner_);
}

void Lane::Forget() {
  const size_t half = spans_.size() / 2;
  floor_ns_ = spans_[half - 1].end_ns;
  spans_.erase(spans_.begin(), spans_.begin() + static_cast<ptrdiff_t>(half));
  budget_->spans -= half;
}

}  // namespace sonde

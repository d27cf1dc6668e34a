#ifndef SONDE_EXPORT_LANES_H_
#define SONDE_EXPORT_LANES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sonde {

// Decides, slice by slice, whether the slices of one row nest: any two are
// apart, touch, or lie one in the other. Viewers drop or misplace what does
// not.
//
//  - Exact for slices that come in the order they end. What comes out of order
//    is refused, never let through wrongly.
//  - Remembers only the outermost slices so far. When these grow too many the
//    oldest are forgotten, and a slice that begins among them is refused.
class Lane {
 public:
  struct Span {
    int64_t begin_ns;
    int64_t end_ns;
  };

  // Shared by all lanes of an export, so that their memory has one limit.
  struct Budget {
    size_t spans = 0;
    size_t max_spans = 1 << 20;  // 16 MB
  };

  explicit Lane(Budget& budget) : budget_(&budget) {}

  // False if the slice crosses another of this lane; nothing is changed then.
  // `depth` is a hint: slices of depth 0 are hardly ever enclosed later.
  bool Take(int64_t begin_ns, int64_t end_ns, uint16_t depth) {
    if (end_ns < last_end_ns_ || begin_ns < floor_ns_) return false;
    if (spans_.empty() || spans_.back().end_ns <= begin_ns) {
      first_inner_ = spans_.size();
    } else if (!FindInner(begin_ns)) {
      return false;
    }
    Push(begin_ns, end_ns, depth);
    return true;
  }

  // For the slice last taken: the first moment at which it, not a slice inside
  // it, was running; the slice's begin if there is no such moment.
  int64_t self_moment_ns() const { return self_moment_ns_; }

 private:
  static constexpr size_t kAlwaysKept = 1024;

  bool FindInner(int64_t begin_ns);
  void Push(int64_t begin_ns, int64_t end_ns, uint16_t depth) {
    self_moment_ns_ = begin_ns;
    if (first_inner_ < spans_.size()) Cover(begin_ns, end_ns);
    spans_.push_back({begin_ns, end_ns});
    ++budget_->spans;
    last_end_ns_ = end_ns;
    if (spans_.size() > kAlwaysKept &&
        (depth == 0 || budget_->spans > budget_->max_spans))
      Forget();
  }
  void Cover(int64_t begin_ns, int64_t end_ns);
  void Forget();

  Budget* budget_;
  std::vector<Span> spans_;  // apart, in time order
  size_t first_inner_ = 0;
  int64_t last_end_ns_ = INT64_MIN;
  int64_t floor_ns_ = INT64_MIN;  // nothing may begin before
  int64_t self_moment_ns_ = 0;
};

}  // namespace sonde

#endif  // SONDE_EXPORT_LANES_H_

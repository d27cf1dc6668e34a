#ifndef SONDE_EXPORT_FLOWS_H_
#define SONDE_EXPORT_FLOWS_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace sonde {

// Where an arrow may begin or end: a slice, and a moment at which that slice
// itself is running.
struct FlowEnd {
  uint64_t flow = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  int64_t moment_ns = 0;  // the first such moment
  int64_t last_ns = 0;    // the slice's last moment
  bool begins = false;    // the arrow starts here
};

// Makes arrows of loose ends. Each arrow gets a small number of its own,
// because viewers take ids as 32 bits and refuse one that is used twice: an id
// with one begin and three ends gives three arrows, a chain gives one per link.
//
// Ends are kept until their batch is full; then the pairs are given out and
// only ends without a partner stay. An end whose partner is not in the trace,
// or ended before the arrow begins, is counted and not drawn: viewers call
// such arrows errors.
class Flows {
 public:
  // `to_ns` is where the arrow arrives, inside the slice of `to`.
  using Emit = std::function<void(uint32_t id, const FlowEnd& from,
                                  const FlowEnd& to, int64_t to_ns)>;

  explicit Flows(Emit emit) : emit_(std::move(emit)) {}

  void Add(const FlowEnd& end) {
    ends_.push_back(end);
    if (ends_.size() >= batch_) Match(false);
  }
  void Finish() { Match(true); }

  uint64_t arrows() const { return arrows_; }
  uint64_t unbound() const { return unbound_; }

 private:
  static constexpr size_t kBatch = 256 << 10;

  void Match(bool last);

  Emit emit_;
  std::vector<FlowEnd> ends_;
  size_t batch_ = kBatch;
  uint64_t arrows_ = 0;
  uint64_t unbound_ = 0;
};

}  // namespace sonde

#endif  // SONDE_EXPORT_FLOWS_H_

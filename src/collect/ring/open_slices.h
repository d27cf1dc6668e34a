#ifndef SONDE_COLLECT_RING_OPEN_SLICES_H_
#define SONDE_COLLECT_RING_OPEN_SLICES_H_

#include <cstdint>
#include <vector>

#include "collect/ring/state_archive.h"
#include "trace/model.h"

namespace sonde {

// A slice that has begun.
struct OpenSlice {
  int64_t begin_ns = 0;
  uint32_t name = 0, category = 0, source = 0;
  Event::Class cls = Event::Class::kProgram;
  uint16_t depth = 0;
  uint64_t flow_in = 0, flow_out = 0;
  std::vector<Arg> args;

  void Archive(StateArchive& archive);
};

// The slices that are open on one row, outermost first. Each knows its depth,
// so that records that were lost leave a gap and no confusion.
class OpenSlices {
 public:
  // Calls `lost(slice)` for each that must have ended without its end being
  // seen: those at `depth` and deeper.
  template <typename Lost>
  void Begin(OpenSlice slice, Lost lost) {
    Unwind(slice.depth, lost);
    open_.push_back(std::move(slice));
  }

  // Calls `ended(slice)` for the one at `depth`, after `lost` for those deeper.
  // False if its begin was not seen.
  template <typename Ended, typename Lost>
  bool End(uint16_t depth, Ended ended, Lost lost) {
    while (!open_.empty() && open_.back().depth > depth) {
      lost(open_.back());
      open_.pop_back();
    }
    if (open_.empty() || open_.back().depth != depth) return false;
    ended(open_.back());
    open_.pop_back();
    return true;
  }

  // Calls `lost` for those at `depth` and deeper, the innermost first.
  template <typename Lost>
  void Unwind(uint16_t depth, Lost lost) {
    while (!open_.empty() && open_.back().depth >= depth) {
      lost(open_.back());
      open_.pop_back();
    }
  }

  void Archive(StateArchive& archive) {
    archive.Each(open_, [&](OpenSlice& slice) { slice.Archive(archive); });
  }

  // The innermost; null if none is open.
  OpenSlice* Top() { return open_.empty() ? nullptr : &open_.back(); }

 private:
  std::vector<OpenSlice> open_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_RING_OPEN_SLICES_H_

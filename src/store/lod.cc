#include "store/lod.h"

#include <algorithm>
#include <cmath>

#include "store/stop.h"

namespace sonde {
namespace {

// One screen being painted.
class Painter {
 public:
  Painter(TimeRange window, uint32_t width)
      : window_(window),
        width_(width),
        pixel_ns_(static_cast<double>(static_cast<uint64_t>(window.end_ns) -
                                      static_cast<uint64_t>(window.begin_ns)) /
                  width) {}

  double pixel_ns() const { return pixel_ns_; }

  // An event, or a node that stands for `count` of them.
  void Paint(const LodNode& node, uint16_t depth) {
    // An event that ends where the window begins is not in it, unless it has no
    // width at all.
    if (node.begin_ns >= window_.end_ns || node.end_ns < window_.begin_ns ||
        (node.end_ns == window_.begin_ns && node.begin_ns < node.end_ns))
      return;
    std::vector<Pixel>& row = RowOf(depth);
    const double from = PixelAt(node.begin_ns);
    const double to = std::max(from, PixelAt(node.end_ns));
    const uint32_t first = Clamp(from);
    row[first].count += node.count;
    // Busy time is spread evenly over what the node covers.
    const double span =
        static_cast<double>(static_cast<uint64_t>(node.end_ns) -
                            static_cast<uint64_t>(node.begin_ns));
    const double density =
        span > 0 ? std::min(1.0, static_cast<double>(node.busy_ns) / span) : 0;
    for (uint32_t x = first; x < width_; ++x) {
      Pixel& pixel = row[x];
      const double begin = std::max(from, static_cast<double>(x));
      const double end = std::min(to, static_cast<double>(x) + 1);
      if (x != first && end <= begin) break;
      pixel.busy_ns += std::max(0.0, end - begin) * pixel_ns_ * density;
      if (node.max_dur_ns >= pixel.max_dur_ns) {
        pixel.max_dur_ns = node.max_dur_ns;
        pixel.name = node.max_name;
      }
      pixel.x = x;
      pixel.depth = depth;
      touched_[depth][x] = true;
    }
  }

  std::vector<Pixel> Take() const {
    std::vector<Pixel> out;
    for (size_t depth = 0; depth < rows_.size(); ++depth)
      for (uint32_t x = 0; x < rows_[depth].size(); ++x)
        if (touched_[depth][x]) {
          out.push_back(rows_[depth][x]);
          out.back().busy_ns = std::min(out.back().busy_ns, pixel_ns_);
        }
    return out;
  }

 private:
  std::vector<Pixel>& RowOf(uint16_t depth) {
    if (depth >= rows_.size()) {
      rows_.resize(depth + 1u);
      touched_.resize(depth + 1u);
    }
    if (rows_[depth].empty()) {
      rows_[depth].resize(width_);
      touched_[depth].resize(width_);
    }
    return rows_[depth];
  }
  // Where a moment is, in pixels; negative if before the window.
  double PixelAt(int64_t ns) const {
    return (static_cast<double>(ns) - static_cast<double>(window_.begin_ns)) /
           pixel_ns_;
  }
  uint32_t Clamp(double x) const {
    return static_cast<uint32_t>(
        std::clamp(std::floor(x), 0.0, static_cast<double>(width_ - 1)));
  }

  const TimeRange window_;
  const uint32_t width_;
  const double pixel_ns_;
  std::vector<std::vector<Pixel>> rows_;  // by depth
  std::vector<std::vector<bool>> touched_;
};

// True if the node says as much as its events would.
bool FineEnough(const LodRow& row, double pixel_ns) {
  return std::all_of(
      row.nodes.begin(), row.nodes.end(), [&](const LodNode& node) {
        return node.count == 1 || static_cast<double>(node.end_ns) -
                                          static_cast<double>(node.begin_ns) <=
                                      pixel_ns;
      });
}

void PaintChunk(const Store& store, const FrameRef& chunk, Painter& painter) {
  // Each depth from the coarsest level that is fine enough: outer slices are
  // few and long, inner ones many and short.
  std::vector<bool> done(kMaxPixelDepth);
  size_t left = 0;
  std::vector<LodRow> rows;
  for (const bool coarse : {true, false}) {
    // A chunk of the journal has no levels.
    if (chunk.journal || !store.ReadLod(chunk, coarse, rows)) break;
    left = 0;
    for (const LodRow& row : rows) {
      if (row.depth >= kMaxPixelDepth || done[row.depth]) continue;
      if (!FineEnough(row, painter.pixel_ns())) {
        ++left;
        continue;
      }
      done[row.depth] = true;
      for (const LodNode& node : row.nodes) painter.Paint(node, row.depth);
    }
    if (left == 0) return;
  }
  EventColumns events;
  if (!store.ReadEvents(chunk, kMaskTime | kMaskName | kMaskDepth, events))
    return;
  for (size_t i = 0; i < events.size(); ++i) {
    const uint16_t depth = events.depth[i];
    if (depth >= kMaxPixelDepth || done[depth]) continue;
    const uint64_t dur = static_cast<uint64_t>(events.dur_ns[i]);
    painter.Paint({events.end_ns[i] - events.dur_ns[i], events.end_ns[i], dur,
                   dur, events.name[i], 1},
                  depth);
  }
}

}  // namespace

std::vector<Pixel> ReadPixels(const Store& store, uint32_t track,
                              TimeRange window, uint32_t width) {
  if (window.begin_ns >= window.end_ns || width == 0) return {};
  Painter painter(window, std::min(width, kMaxPixels));
  for (const FrameRef& chunk : store.event_chunks()) {
    if (StopScope::Asked()) break;
    if (chunk.events.track == track && chunk.events.begin_ns < window.end_ns &&
        chunk.events.end_ns >= window.begin_ns)
      PaintChunk(store, chunk, painter);
  }
  return painter.Take();
}

}  // namespace sonde

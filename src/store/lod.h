#ifndef SONDE_STORE_LOD_H_
#define SONDE_STORE_LOD_H_

#include <cstdint>
#include <vector>

#include "store/store.h"

namespace sonde {

// What a column of pixels shows of one depth of a track.
struct Pixel {
  uint32_t x = 0;
  uint16_t depth = 0;
  uint64_t count = 0;       // events that begin here (at 0: or before)
  double busy_ns = 0;       // covered by events, at most the pixel's width
  uint64_t max_dur_ns = 0;  // of the longest event that touches the pixel
  uint32_t name = 0;        // of that event
};

// The events of a track in a window, as a screen of `width` columns can show
// them, by depth and x; pixels without events are left out.
//
//  - Cost is about the pixels, not about the events: where a node of the level
//    of detail is no wider than a pixel it stands for its events.
//  - Every event of at least a pixel's width is exact. What is narrower may be
//    shown one pixel aside.
//  - width is at most kMaxPixels, and depths from kMaxPixelDepth on are left
//    out.
inline constexpr uint32_t kMaxPixels = 8192;
inline constexpr uint16_t kMaxPixelDepth = 256;
std::vector<Pixel> ReadPixels(const Store& store, uint32_t track,
                              TimeRange window, uint32_t width);

}  // namespace sonde

#endif  // SONDE_STORE_LOD_H_

#ifndef SONDE_COLLECT_GPU_DRM_CLIENT_H_
#define SONDE_COLLECT_GPU_DRM_CLIENT_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "collect/gpu/device.h"

namespace sonde {

// What the engines of one kind have done for a client since it began.
struct DrmEngine {
  uint64_t busy = 0;      // ns; or cycles, if `cycles` is there
  uint64_t cycles = 0;    // of the device's clock, so far
  uint64_t capacity = 1;  // engines of this kind
};

using DrmEngines = std::map<std::string, DrmEngine>;

// One open file of a graphics device, as its fdinfo tells.
struct DrmClient {
  std::string driver, device, id;  // the same id: the same client
  DrmEngines engines;
  double memory_bytes = kNotRead;
};

// Takes what it knows of the text and leaves the rest. Engines are told in ns
// (drm-engine-*) or, by xe, in cycles (drm-cycles-*, drm-total-cycles-*); of
// one that is told in both the ns count.
DrmClient ParseDrmClient(std::string_view text);

// The share of the time in which the busiest kind of engine worked, between two
// readings that are `ns` apart, of clients by id. Only what a client did since
// it was last seen counts: a new one brings its whole past.
double DrmBusyShare(const std::map<std::string, DrmEngines>& before,
                    const std::map<std::string, DrmEngines>& now, int64_t ns);

}  // namespace sonde

#endif  // SONDE_COLLECT_GPU_DRM_CLIENT_H_

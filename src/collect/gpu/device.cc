#include "collect/gpu/device.h"

namespace sonde {

const std::vector<DeviceMaker>& DeviceMakers() {
  static const std::vector<DeviceMaker> makers = {kNvidia, kAmd, kDrm, kAscend,
                                                  kJetson};
  return makers;
}

}  // namespace sonde

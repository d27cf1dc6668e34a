#include "collect/gpu/device.h"

namespace sonde {

const std::vector<DeviceMaker>& DeviceMakers() {
  static const std::vector<DeviceMaker> makers = {
      {"nvidia", &NvidiaPresent, &OpenNvidia},
      {"amd", &AmdPresent, &OpenAmd},
      {"drm", &DrmPresent, &OpenDrm},
      {"ascend", &AscendPresent, &OpenAscend},
      {"jetson", &JetsonPresent, &OpenJetson},
  };
  return makers;
}

}  // namespace sonde

// NVIDIA Jetson: the GPU is part of the chip, NVML knows little of it, and the
// kernel shows its load in /sys. Its memory is the machine's.

#include "collect/gpu/device.h"
#include "collect/gpu/files.h"

namespace sonde {
namespace {

// Where the load is shown, in thousandths, from the oldest board to the newest.
constexpr const char* kLoads[] = {
    "/sys/devices/gpu.0/load",
    "/sys/devices/platform/gpu.0/load",
    "/sys/devices/platform/bus@0/17000000.gpu/load",
    "/sys/devices/platform/17000000.gpu/load",
    "/sys/devices/platform/17000000.ga10b/load",
    "/sys/devices/platform/17000000.gv11b/load",
};

std::string FindLoad(const std::string& root) {
  for (const char* path : kLoads)
    if (!std::isnan(ReadNumber(root + path))) return root + path;
  return "";
}

class Jetson : public DeviceSource {
 public:
  explicit Jetson(const std::string& root) : load_(FindLoad(root)) {
    const auto model = ReadLine(root + "/proc/device-tree/model");
    std::string name = model ? *model : "Jetson";
    // The device tree ends its texts with a NUL.
    if (const size_t end = name.find('\0'); end != std::string::npos)
      name.resize(end);
    infos_.push_back({"jetson", name});
    const std::string thermal = root + "/sys/class/thermal";
    for (const std::string& zone : NamesIn(thermal, "thermal_zone")) {
      const auto type = ReadLine(thermal + "/" + zone + "/type");
      if (type && (type->starts_with("GPU") || type->starts_with("gpu")))
        temperature_ = thermal + "/" + zone + "/temp";
    }
    const std::string clocks = root + "/sys/class/devfreq";
    for (const std::string& one : NamesIn(clocks))
      if (one.find("gpu") != std::string::npos ||
          one.find("gv11b") != std::string::npos ||
          one.find("ga10b") != std::string::npos)
        clock_ = clocks + "/" + one + "/cur_freq";
  }

  bool Read(size_t, DeviceReading& out) override {
    out.busy_pct = ReadNumber(load_, 0.1);
    if (!temperature_.empty()) out.temp_c = ReadNumber(temperature_, 1e-3);
    if (!clock_.empty()) out.clock_mhz = ReadNumber(clock_, 1e-6);
    return !std::isnan(out.busy_pct);
  }

 private:
  const std::string load_;
  std::string temperature_, clock_;
};

bool JetsonPresent(const std::string& root) { return !FindLoad(root).empty(); }

std::unique_ptr<DeviceSource> OpenJetson(const std::string& root,
                                         std::string&) {
  if (!JetsonPresent(root)) return nullptr;
  return std::make_unique<Jetson>(root);
}

}  // namespace

extern const DeviceMaker kJetson = {"jetson", JetsonPresent, OpenJetson};

}  // namespace sonde

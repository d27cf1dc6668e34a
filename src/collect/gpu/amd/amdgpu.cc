// AMD, by what its kernel driver shows in /sys. No library is needed.

#include "collect/gpu/device.h"
#include "collect/gpu/files.h"

namespace sonde {
namespace {

constexpr char kDriver[] = "amdgpu";

class Amdgpu : public DeviceSource {
 public:
  explicit Amdgpu(const std::string& root) {
    for (const std::string& card : DrmCards(root, kDriver)) {
      const std::string device = root + "/sys/class/drm/" + card + "/device";
      const auto name = ReadLine(device + "/product_name");
      infos_.push_back({"amd", name && !name->empty() ? *name : card});
      const std::vector<std::string> sensors =
          NamesIn(device + "/hwmon", "hwmon");
      paths_.push_back(
          {device, sensors.empty() ? "" : device + "/hwmon/" + sensors[0]});
    }
  }

  bool Read(size_t index, DeviceReading& out) override {
    const auto& [device, sensors] = paths_[index];
    out.busy_pct = ReadNumber(device + "/gpu_busy_percent");
    out.mem_busy_pct = ReadNumber(device + "/mem_busy_percent");
    out.mem_used_bytes = ReadNumber(device + "/mem_info_vram_used");
    out.mem_total_bytes = ReadNumber(device + "/mem_info_vram_total");
    if (!sensors.empty()) {
      // Which of the two there is depends on the chip; both in microwatts.
      out.power_w = ReadNumber(sensors + "/power1_average", 1e-6);
      if (std::isnan(out.power_w))
        out.power_w = ReadNumber(sensors + "/power1_input", 1e-6);
      out.temp_c = ReadNumber(sensors + "/temp1_input", 1e-3);
      out.clock_mhz = ReadNumber(sensors + "/freq1_input", 1e-6);
      out.mem_clock_mhz = ReadNumber(sensors + "/freq2_input", 1e-6);
    }
    return !std::isnan(out.busy_pct) || !std::isnan(out.mem_used_bytes);
  }

 private:
  struct Paths {
    std::string device, sensors;
  };
  std::vector<Paths> paths_;
};

bool AmdPresent(const std::string& root) {
  return !DrmCards(root, kDriver).empty();
}

std::unique_ptr<DeviceSource> OpenAmd(const std::string& root, std::string&) {
  auto source = std::make_unique<Amdgpu>(root);
  if (source->devices().empty()) return nullptr;
  return source;
}

}  // namespace

extern const DeviceMaker kAmd = {"amd", AmdPresent, OpenAmd};

}  // namespace sonde

// Huawei Ascend, by its device management library, which npu-smi uses as well.
// The tool is asked where the library cannot be loaded.

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "collect/gpu/ascend/npu_smi.h"
#include "collect/gpu/device.h"

namespace sonde {
namespace {

// DCMI's numbers.
constexpr int kOk = 0;
constexpr int kNotSupported = -8255, kNotInContainer = -8013;
constexpr int kRateAiCore = 2, kRateHbmBandwidth = 10;
constexpr int kFreqAiCore = 7;
constexpr double kMegabyte = 1 << 20;

struct HbmInfo {
  unsigned long long size_mb;
  unsigned frequency;
  unsigned long long used_mb;
  int temperature;
  unsigned bandwidth_pct;
};
struct ChipInfo {
  unsigned char type[32], name[32], version[32];
  unsigned cores;
};

class Dcmi : public DeviceSource {
 public:
  static std::unique_ptr<DeviceSource> Open(const std::string&,
                                            std::string& why) {
    void* const library =
        ::dlopen("libdcmi.so", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) return OpenNpuSmi(why);
    auto dcmi = std::unique_ptr<Dcmi>(new Dcmi);
    dcmi->FindAll(library);
    if (!dcmi->Start(why)) return nullptr;
    return dcmi;
  }

  bool Read(size_t index, DeviceReading& out) override {
    const auto [card, device] = places_[index];
    bool any = false;
    const auto got = [&](int code) {
      any |= code == kOk || code == kNotSupported || code == kNotInContainer;
      return code == kOk;
    };
    unsigned value = 0;
    int number = 0;
    if (rate_ && got(rate_(card, device, kRateAiCore, &value)))
      out.busy_pct = value;
    if (HbmInfo hbm = {}; hbm_ && got(hbm_(card, device, &hbm))) {
      out.mem_used_bytes = static_cast<double>(hbm.used_mb) * kMegabyte;
      out.mem_total_bytes = static_cast<double>(hbm.size_mb) * kMegabyte;
      out.mem_busy_pct = hbm.bandwidth_pct;
      out.mem_clock_mhz = hbm.frequency;
    } else if (rate_ && got(rate_(card, device, kRateHbmBandwidth, &value))) {
      out.mem_busy_pct = value;
    }
    if (power_ && got(power_(card, device, &number)))
      out.power_w = number / 10.0;
    if (temperature_ && got(temperature_(card, device, &number)))
      out.temp_c = number;
    if (frequency_ && got(frequency_(card, device, kFreqAiCore, &value)))
      out.clock_mhz = value;
    return any;
  }

 private:
  template <typename Function>
  static void Find(void* library, Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(::dlsym(library, name));
  }

  void FindAll(void* library) {
    Find(library, init_, "dcmi_init");
    Find(library, cards_, "dcmi_get_card_list");
    Find(library, in_card_, "dcmi_get_device_num_in_card");
    Find(library, chip_, "dcmi_get_device_chip_info");
    Find(library, rate_, "dcmi_get_device_utilization_rate");
    Find(library, hbm_, "dcmi_get_device_hbm_info");
    Find(library, power_, "dcmi_get_device_power_info");
    Find(library, temperature_, "dcmi_get_device_temperature");
    Find(library, frequency_, "dcmi_get_device_frequency");
  }

  bool Start(std::string& why) {
    if (!init_ || !cards_ || !in_card_) {
      why = "libdcmi.so is too old";
      return false;
    }
    if (const int code = init_(); code != kOk) {
      why = "dcmi_init says " + std::to_string(code);
      return false;
    }
    std::array<int, 64> cards = {};
    int count = 0;
    if (cards_(&count, cards.data(), static_cast<int>(cards.size())) != kOk) {
      why = "DCMI lists no cards";
      return false;
    }
    for (int i = 0; i < std::min(count, static_cast<int>(cards.size())); ++i) {
      int devices = 0;
      const int card = cards[static_cast<size_t>(i)];
      if (in_card_(card, &devices) != kOk) continue;
      for (int device = 0; device < std::min(devices, 16); ++device) {
        ChipInfo chip = {};
        std::string name = "NPU";
        if (chip_ && chip_(card, device, &chip) == kOk) {
          chip.name[sizeof(chip.name) - 1] = 0;
          name = reinterpret_cast<const char*>(chip.name);
        }
        places_.push_back({card, device});
        infos_.push_back({"ascend", name});
      }
    }
    if (places_.empty()) why = "DCMI knows no device";
    return !places_.empty();
  }

  int (*init_)() = nullptr;
  int (*cards_)(int*, int*, int) = nullptr;
  int (*in_card_)(int, int*) = nullptr;
  int (*chip_)(int, int, ChipInfo*) = nullptr;
  int (*rate_)(int, int, int, unsigned*) = nullptr;
  int (*hbm_)(int, int, HbmInfo*) = nullptr;
  int (*power_)(int, int, int*) = nullptr;
  int (*temperature_)(int, int, int*) = nullptr;
  int (*frequency_)(int, int, int, unsigned*) = nullptr;
  std::vector<std::pair<int, int>> places_;  // card, device in it
};

bool AscendPresent(const std::string& root) {
  return ::access((root + "/dev/davinci_manager").c_str(), F_OK) == 0;
}

}  // namespace

extern const DeviceMaker kAscend = {"ascend", AscendPresent, Dcmi::Open};

}  // namespace sonde

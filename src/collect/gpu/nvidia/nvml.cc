// NVIDIA, by its management library. The library is loaded here and nowhere
// else; every function of it may be missing.

#include <dlfcn.h>
#include <unistd.h>

#include <array>

#include "collect/gpu/device.h"

namespace sonde {
namespace {

// NVML's numbers.
constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kNoPermission = 4;
constexpr int kInsufficientSize = 7;
constexpr unsigned kClockSm = 1, kClockMemory = 2;
constexpr unsigned kSensorGpu = 0;
constexpr unsigned long long kReasonSwPower = 0x4, kReasonHwSlowdown = 0x8,
                             kReasonSwThermal = 0x20, kReasonHwThermal = 0x40,
                             kReasonHwPowerBrake = 0x80;
constexpr unsigned long long kMemoryNotKnown = ~0ull;

using Handle = void*;
struct Utilization {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
struct ProcessInfo {  // of versions 2 and 3
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

template <typename Function>
void Find(void* library, Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
}

class Nvml : public DeviceSource {
 public:
  static std::unique_ptr<DeviceSource> Open(const std::string&,
                                            std::string& why) {
    void* const library =
        ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
      why = "libnvidia-ml.so.1 cannot be loaded";
      return nullptr;
    }
    auto nvml = std::unique_ptr<Nvml>(new Nvml);
    nvml->FindAll(library);
    if (!nvml->Start(why)) return nullptr;
    return nvml;
  }

  bool Read(size_t device, DeviceReading& out) override {
    const auto [handle, code_of_handle] = handles_[device];
    // One that others may use and we may not has nothing to tell us.
    if (handle == nullptr) return code_of_handle == kNoPermission;
    bool any = false;
    const auto got = [&](int code) {
      any |= code == kSuccess || code == kNotSupported;
      return code == kSuccess;
    };
    if (Utilization use = {}; utilization_ && got(utilization_(handle, &use))) {
      out.busy_pct = use.gpu;
      out.mem_busy_pct = use.memory;
    }
    if (Memory memory = {}; memory_ && got(memory_(handle, &memory))) {
      out.mem_used_bytes = static_cast<double>(memory.used);
      out.mem_total_bytes = static_cast<double>(memory.total);
    }
    unsigned value = 0;
    if (clock_ && got(clock_(handle, kClockSm, &value))) out.clock_mhz = value;
    if (clock_ && got(clock_(handle, kClockMemory, &value)))
      out.mem_clock_mhz = value;
    if (power_ && got(power_(handle, &value))) out.power_w = value / 1000.0;
    if (temperature_ && got(temperature_(handle, kSensorGpu, &value)))
      out.temp_c = value;
    if (unsigned long long reasons = 0;
        reasons_ && got(reasons_(handle, &reasons)))
      out.throttle = static_cast<double>(Bits(reasons));
    Users(handle, out);
    return any;
  }

 private:
  static uint64_t Bits(unsigned long long reasons) {
    uint64_t bits = 0;
    if (reasons & (kReasonSwPower | kReasonHwPowerBrake))
      bits |= kThrottlePower;
    if (reasons & (kReasonSwThermal | kReasonHwThermal))
      bits |= kThrottleThermal;
    if ((reasons & kReasonHwSlowdown) && bits == 0) bits |= kThrottleOther;
    return bits;
  }

  void FindAll(void* library) {
    Find(library, init_, "nvmlInit_v2");
    Find(library, count_, "nvmlDeviceGetCount_v2");
    Find(library, by_index_, "nvmlDeviceGetHandleByIndex_v2");
    Find(library, name_, "nvmlDeviceGetName");
    Find(library, utilization_, "nvmlDeviceGetUtilizationRates");
    Find(library, memory_, "nvmlDeviceGetMemoryInfo");
    Find(library, clock_, "nvmlDeviceGetClockInfo");
    Find(library, power_, "nvmlDeviceGetPowerUsage");
    Find(library, temperature_, "nvmlDeviceGetTemperature");
    Find(library, reasons_, "nvmlDeviceGetCurrentClocksThrottleReasons");
    Find(library, users_, "nvmlDeviceGetComputeRunningProcesses_v3");
    if (users_ == nullptr)
      Find(library, users_, "nvmlDeviceGetComputeRunningProcesses_v2");
  }

  bool Start(std::string& why) {
    if (!init_ || !count_ || !by_index_) {
      why = "libnvidia-ml.so.1 is too old";
      return false;
    }
    unsigned count = 0;
    if (const int code = init_(); code != kSuccess) {
      why = "nvmlInit says " + std::to_string(code);
      return false;
    }
    if (count_(&count) != kSuccess || count == 0) {
      why = "NVML knows no device";
      return false;
    }
    bool any = false;
    for (unsigned i = 0; i < count; ++i) {
      Handle handle = nullptr;
      const int code = by_index_(i, &handle);
      if (code != kSuccess) handle = nullptr;
      any |= handle != nullptr;
      // One that is not given keeps its place: by it a device is known again.
      handles_.push_back({handle, code});
      infos_.push_back({"nvidia", NameOf(handle, i)});
    }
    if (!any) why = "NVML gives no handle of a device";
    return any;
  }

  std::string NameOf(Handle handle, unsigned index) const {
    std::array<char, 128> name = {};
    if (handle == nullptr) return "NVIDIA GPU " + std::to_string(index);
    if (!name_ || name_(handle, name.data(), name.size() - 1) != kSuccess)
      return "";
    return name.data();
  }

  void Users(Handle handle, DeviceReading& out) {
    if (!users_) return;
    std::array<ProcessInfo, 64> processes = {};
    unsigned count = processes.size();
    const int code = users_(handle, &count, processes.data());
    if (code != kSuccess && code != kInsufficientSize) return;
    for (size_t i = 0; i < count && i < processes.size(); ++i) {
      const ProcessInfo& process = processes[i];
      if (process.pid == 0) continue;
      out.users.push_back({static_cast<pid_t>(process.pid),
                           process.used_memory == kMemoryNotKnown
                               ? kNotRead
                               : static_cast<double>(process.used_memory)});
    }
  }

  int (*init_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*by_index_)(unsigned, Handle*) = nullptr;
  int (*name_)(Handle, char*, unsigned) = nullptr;
  int (*utilization_)(Handle, Utilization*) = nullptr;
  int (*memory_)(Handle, Memory*) = nullptr;
  int (*clock_)(Handle, unsigned, unsigned*) = nullptr;
  int (*power_)(Handle, unsigned*) = nullptr;
  int (*temperature_)(Handle, unsigned, unsigned*) = nullptr;
  int (*reasons_)(Handle, unsigned long long*) = nullptr;
  int (*users_)(Handle, unsigned*, ProcessInfo*) = nullptr;
  std::vector<std::pair<Handle, int>> handles_;  // or null, with NVML's code
};

bool NvidiaPresent(const std::string& root) {
  return ::access((root + "/dev/nvidiactl").c_str(), F_OK) == 0 ||
         ::access((root + "/dev/dxg").c_str(), F_OK) == 0;
}

}  // namespace

extern const DeviceMaker kNvidia = {"nvidia", NvidiaPresent, Nvml::Open};

}  // namespace sonde

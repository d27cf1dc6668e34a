// The seam to the makers of accelerators. Each maker has a folder of its own
// here. Most machines have no accelerator at all: absence is normal.

#ifndef SONDE_COLLECT_GPU_DEVICE_H_
#define SONDE_COLLECT_GPU_DEVICE_H_

#include <sys/types.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace sonde {

inline constexpr double kNotRead = std::numeric_limits<double>::quiet_NaN();

// Why a device runs slower than it could.
enum Throttle : uint64_t {
  kThrottlePower = 1,    // a limit of power, set or of the board
  kThrottleThermal = 2,  // too hot
  kThrottleOther = 4,    // by the hardware, for another reason
};

// What one device said at one moment. kNotRead is what it did not say.
struct DeviceReading {
  double busy_pct = kNotRead;  // of the time, something ran on it
  double mem_busy_pct =
      kNotRead;  // of the time, its memory was read or written
  double mem_used_bytes = kNotRead;
  double mem_total_bytes = kNotRead;
  double clock_mhz = kNotRead;
  double mem_clock_mhz = kNotRead;
  double power_w = kNotRead;
  double temp_c = kNotRead;
  double throttle = kNotRead;  // bits of Throttle

  // A process that uses it.
  struct User {
    pid_t pid = 0;
    double mem_bytes = kNotRead;
  };
  std::vector<User> users;
};

// Which device it is.
struct DeviceInfo {
  std::string vendor;  // "nvidia", "amd", ...
  std::string name;    // as its maker calls it
};

// One maker's devices. Lives in a process of its own, because what it calls may
// hang, crash or print.
class DeviceSource {
 public:
  virtual ~DeviceSource() = default;
  // Does not change.
  const std::vector<DeviceInfo>& devices() const { return infos_; }
  // False: the device did not answer. A device that has nothing to tell
  // answers, and leaves `out` as it is.
  virtual bool Read(size_t device, DeviceReading& out) = 0;
  // A maker is asked no more often than this, and given as much longer to
  // answer.
  virtual int64_t interval_ns() const { return 0; }

 protected:
  std::vector<DeviceInfo> infos_;
};

// A maker, and how to find out whether it has something here.
struct DeviceMaker {
  const char* vendor;
  // Whether it is worth asking: files that are there with its driver. Cheap.
  bool (*present)(const std::string& root);
  // Null: it has none, and `why` says why if it should have.
  std::unique_ptr<DeviceSource> (*open)(const std::string& root,
                                        std::string& why);
};

// Every maker of this build. `root` above is where /sys, /dev and /proc are
// looked for: "" or, for tests, a directory that plays a machine.
const std::vector<DeviceMaker>& DeviceMakers();

extern const DeviceMaker kNvidia, kAmd, kDrm, kAscend, kJetson;

}  // namespace sonde

#endif  // SONDE_COLLECT_GPU_DEVICE_H_

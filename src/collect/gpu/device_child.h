#ifndef SONDE_COLLECT_GPU_DEVICE_CHILD_H_
#define SONDE_COLLECT_GPU_DEVICE_CHILD_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/time.h"
#include "collect/gpu/device.h"

namespace sonde {

struct DevicePage;

// The process that asks one maker's devices, and the page on which it leaves
// what they said.
//
//  - Nothing here waits for it, but for 10 ms when it is stopped: whatever the
//    maker's library does (hang, crash, print, end the process), it does it in
//    the child.
//  - The child has none of our descriptors, prints nothing, and ends with us.
//
// One thread.
class DeviceChild {
 public:
  enum class State {
    kStarting,  // nothing is known yet
    kRuns,      // devices() and Read() tell
    kNone,      // there are no devices; why() may tell why
    kEnded,     // it died
  };

  // Null if no process could be made.
  static std::unique_ptr<DeviceChild> Start(const DeviceMaker& maker,
                                            const std::string& root,
                                            double rate_hz);
  // Kills it.
  ~DeviceChild();
  DeviceChild(const DeviceChild&) = delete;
  DeviceChild& operator=(const DeviceChild&) = delete;

  State Look();
  size_t devices() const;
  DeviceInfo info(size_t device) const;
  std::string why() const;
  // How far apart its readings are at least; 0 if only the rate says so.
  int64_t interval_ns() const;
  enum class Answer {
    kNotYet,   // it has not been asked
    kTorn,     // it is being written: ask again at the next tick
    kNothing,  // it did not answer when it was last asked
    kReading,
  };
  // What a device last said, and when.
  Answer Read(size_t device, DeviceReading& out, int64_t& time_ns) const;

  // CPU time it has used, once it has ended.
  int64_t cpu_ns() const { return cpu_ns_; }
  // Ends it now; it has no more readings. Waits no longer than this for it to
  // be gone, as one that sits in a driver dies only when that lets it go.
  void Stop(int64_t wait_ns = 10 * kNsPerMs);

  // Devices of one maker, and processes that use one, beyond which nothing is
  // told.
  static constexpr size_t kMostDevices = 64;
  static constexpr size_t kMostUsers = 64;

 private:
  DeviceChild(DevicePage* page, pid_t pid) : page_(page), pid_(pid) {}
  bool Reap(int options);

  DevicePage* const page_;
  pid_t pid_;
  int64_t cpu_ns_ = 0;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_GPU_DEVICE_CHILD_H_

#ifndef SONDE_COLLECT_GPU_DEVICE_SAMPLER_H_
#define SONDE_COLLECT_GPU_DEVICE_SAMPLER_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/gpu/device_child.h"
#include "collect/gpu/silence.h"
#include "collect/tree/process_tree.h"
#include "trace/series_list.h"
#include "trace/writer.h"

namespace sonde {

// Where devices are looked for: "" for this machine, or the directory that
// SONDE_DEVICE_ROOT names, which plays one.
std::string DeviceRoot();

// Writes what accelerators say as one counter group: each device as a scope of
// its own, and the memory that processes of the tree have on it.
//
//  - Devices are numbered from 0 as they first tell a value, in the order of
//    DeviceMakers() and of the maker's devices. Nobody waits for a maker that
//    takes more than a second to start. A device that tells nothing has no
//    number.
//  - Costs nothing where there is no accelerator.
//  - Values that cannot be (more than 100 %, not a number, more memory than
//    there is) are refused and counted as a loss.
//  - A maker's library that hangs or dies is started again, three times. The
//    time without the library, or without an answer of a device, is a loss. The
//    recording goes on whatever libraries do. Time in which sonde itself did
//    not run is not counted against a library.
//
// One thread. Does not own writer or tree.
class DeviceSampler {
 public:
  // `makers` must live as long; tests bring their own.
  DeviceSampler(TraceWriter& out, ProcessTree& tree, double rate_hz,
                const std::vector<DeviceMaker>& makers = DeviceMakers());
  ~DeviceSampler();

  void Tick(int64_t now_ns);
  // The share of its time in which the busiest device works, as read within
  // about the last second. Nothing if none says so.
  std::optional<double> BusyShare() const;
  // See Gatherer. There are no readings afterwards.
  int64_t EndHelpers();
  // A maker that should have told something and did not.
  struct Missing {
    const char* vendor;
    std::string why;
  };
  std::vector<Missing> missing() const;

  static constexpr size_t kValues = 10;

 private:
  struct Device {
    std::optional<uint32_t> index;  // once it has told a value
    uint32_t row = 0;               // id of its row, from then on
    std::array<uint32_t, kValues> series = {};
    std::map<uint32_t, uint32_t> users;  // process -> series
    int64_t told_ns = 0;                 // it was last asked, as the page says
    int64_t time_ns = 0;                 // the same, as it can be
    int64_t answered_ns = kNoTime;       // it last answered
    std::optional<double> busy_share;    // in its last answer
    Silence silence;
  };
  struct Maker {
    const DeviceMaker* maker;
    std::unique_ptr<DeviceChild> child;
    std::vector<Device> devices;
    int64_t started_ns = 0;
    int64_t heard_ns = 0;
    int64_t away_ns = 0;  // since then, we did not run for so long
    int starts = 1;
    bool over = false;  // it will say nothing more
    std::string why;
    Silence silence;
  };

  int64_t TwoTurnsNs(const Maker& maker) const;
  static bool Starts(const Maker& maker, int64_t now_ns);
  bool NeverAnswered(const Maker& maker) const;
  void Look(Maker& maker, int64_t now_ns, bool may_number);
  void TakeReadings(Maker& maker, int64_t now_ns, bool may_number);
  void Silent(Maker& maker, Device& device, const DeviceInfo& info);
  void Write(Device& device, const DeviceInfo& info,
             const DeviceReading& reading);
  std::map<uint32_t, double> UsersOf(const DeviceReading& reading,
                                     const DeviceInfo& info, int64_t at_ns);
  void WriteUsers(Device& device, const std::map<uint32_t, double>& now);
  void Restart(Maker& maker, int64_t now_ns);
  void End(Maker& maker, int64_t now_ns);
  void Gone(Device& device, int64_t now_ns);
  void GoneUsers(Device& device, int64_t now_ns,
                 const std::map<uint32_t, double>& still);
  void Refuse(SeriesName what, const DeviceInfo& info, int64_t at_ns);
  uint32_t ProcessOf(pid_t pid);
  void Open(int64_t now_ns);

  TraceWriter& out_;
  const uint32_t group_;
  ProcessTree& tree_;
  const double rate_hz_;
  const std::string root_;
  std::vector<Maker> makers_;
  uint32_t next_index_ = 0;
  bool tick_open_ = false;
  int64_t tick_ns_ = 0;                              // of the last tick
  std::vector<std::unique_ptr<DeviceChild>> ended_;  // that were stopped
  // Users by the pids that drivers tell: a process (0: none of ours), and until
  // when that is believed.
  std::map<pid_t, std::pair<uint32_t, int64_t>> users_;
  Loss refused_;
  std::optional<size_t> refused_handle_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_GPU_DEVICE_SAMPLER_H_

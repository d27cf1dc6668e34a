// Intel and all others whose kernel driver accounts in fdinfo: every open file
// of a graphics device says how long its engines have worked for it and how
// much memory it holds. Summed over the processes of this machine that we may
// look into, per device.

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/fd.h"
#include "base/time.h"
#include "collect/gpu/device.h"
#include "collect/gpu/drm/client.h"
#include "collect/gpu/files.h"

namespace sonde {
namespace {

// Finding the files takes a walk over all processes; reading them does not. It
// takes half a percent of a core at most.
constexpr int64_t kWalkEveryNs = 2 * kNsPerSec;
constexpr int64_t kRestFactor = 200;
constexpr size_t kMostFiles = 4096;
// Drivers of accelerators that account so. Displays of servers and virtual
// machines have drivers too, and are none.
constexpr std::string_view kDrivers[] = {
    "i915",     "xe",      "msm",     "msm_dpu", "v3d",
    "panfrost", "panthor", "etnaviv", "lima",    "powervr"};

// What fdinfo calls the driver that sysfs calls so.
std::string NameInFdinfo(const std::string& driver) {
  return driver == "msm_dpu" ? "msm" : driver;
}

bool Accounts(std::string_view driver) {
  return std::find(std::begin(kDrivers), std::end(kDrivers), driver) !=
         std::end(kDrivers);
}

class Fdinfo : public DeviceSource {
 public:
  explicit Fdinfo(const std::string& root) : root_(root) {
    for (const std::string& card : DrmCards(root, "")) {
      const std::string driver = DriverOf(root, card);
      if (!Accounts(driver)) continue;
      char target[512];
      const std::string link = root + "/sys/class/drm/" + card + "/device";
      const ssize_t size = ::readlink(link.c_str(), target, sizeof(target));
      const std::string_view path(target,
                                  size > 0 ? static_cast<size_t>(size) : 0);
      Device device;
      device.driver = NameInFdinfo(driver);
      device.address = path.substr(path.rfind('/') + 1);
      device.path = link;
      device.card = card;
      devices_.push_back(std::move(device));
      infos_.push_back({driver, driver + " " + card});
    }
  }

  bool Read(size_t index, DeviceReading& out) override {
    if (index == 0) ReadAll();
    Device& device = devices_[index];
    // Until somebody uses it, it has nothing to tell.
    if (!device.seen) return true;
    out.busy_pct = device.busy_pct;
    out.mem_total_bytes = ReadNumber(device.path + "/mem_info_vram_total");
    if (device.tells_memory) out.mem_used_bytes = 0;
    for (const auto& [pid, bytes] : device.users) {
      out.mem_used_bytes += bytes;
      out.users.push_back({pid, bytes});
    }
    out.clock_mhz =
        ReadNumber(device.path + "/drm/" + device.card + "/gt_act_freq_mhz");
    return true;
  }

 private:
  struct Device {
    std::string driver, address, path, card;
    std::map<std::string, DrmEngines> clients;
    int64_t read_ns = 0;
    double busy_pct = kNotRead;
    bool seen = false;  // a client
    bool tells_engines = false, tells_memory = false;
    std::map<pid_t, double> users;
  };

  // Every open file of /dev/dri of every process, up to kMostFiles.
  void Walk() {
    files_.clear();
    for (const std::string& pid : NamesIn(root_ + "/proc")) {
      if (pid[0] < '1' || pid[0] > '9') continue;
      const std::string dir = root_ + "/proc/" + pid + "/fd";
      for (const std::string& fd : NamesIn(dir)) {
        if (files_.size() >= kMostFiles) return;
        char target[64];
        const ssize_t size =
            ::readlink((dir + "/" + fd).c_str(), target, sizeof(target));
        if (size > 9 && std::string_view(target, 9) == "/dev/dri/")
          files_.push_back({static_cast<pid_t>(std::atoi(pid.c_str())),
                            root_ + "/proc/" + pid + "/fdinfo/" + fd});
      }
    }
  }

  void ReadAll() {
    if (NowNs() >= next_walk_ns_) {
      const int64_t before_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
      Walk();
      const int64_t took_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID) - before_ns;
      next_walk_ns_ = NowNs() + std::max(kWalkEveryNs, took_ns * kRestFactor);
    }
    // Behind the walk, which may take long: the engines are read now.
    const int64_t now_ns = NowNs();
    std::vector<std::map<std::string, DrmEngines>> now(devices_.size());
    for (Device& device : devices_) device.users.clear();
    std::set<std::string> seen;  // a client may be open several times
    for (const File& file : files_) {
      const auto text = ReadFile(file.path);
      if (!text.ok()) continue;
      const DrmClient client = ParseDrmClient(text.value());
      if (!seen.insert(client.device + " " + client.id).second) continue;
      for (size_t i = 0; i < devices_.size(); ++i) {
        Device& device = devices_[i];
        if (client.driver != device.driver ||
            (!client.device.empty() && client.device != device.address))
          continue;
        now[i][client.id] = client.engines;
        device.seen = true;
        device.tells_engines |= !client.engines.empty();
        if (!std::isnan(client.memory_bytes)) {
          device.tells_memory = true;
          device.users[file.pid] += client.memory_bytes;
        }
        break;
      }
    }
    for (size_t i = 0; i < devices_.size(); ++i) {
      Device& device = devices_[i];
      device.busy_pct = device.read_ns == 0 || !device.tells_engines
                            ? kNotRead
                            : 100 * DrmBusyShare(device.clients, now[i],
                                                 now_ns - device.read_ns);
      device.clients = std::move(now[i]);
      device.read_ns = now_ns;
    }
  }

  struct File {
    pid_t pid;
    std::string path;
  };
  const std::string root_;
  std::vector<Device> devices_;
  std::vector<File> files_;
  int64_t next_walk_ns_ = 0;
};

bool DrmPresent(const std::string& root) { return !DrmCards(root, "").empty(); }

std::unique_ptr<DeviceSource> OpenDrm(const std::string& root, std::string&) {
  auto source = std::make_unique<Fdinfo>(root);
  if (source->devices().empty()) return nullptr;
  return source;
}

}  // namespace

extern const DeviceMaker kDrm = {"drm", DrmPresent, OpenDrm};

}  // namespace sonde

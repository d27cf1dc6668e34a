// Intel and all others whose kernel driver accounts in fdinfo: every open file
// of a graphics device says how long its engines have worked for it and how
// much memory it holds. Summed over the processes of this machine that we may
// look into, per device.

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/fd.h"
#include "base/time.h"
#include "collect/gpu/device.h"
#include "collect/gpu/files.h"

namespace sonde {
namespace {

// Finding the files takes a walk over all processes; reading them does not.
constexpr int64_t kWalkEveryNs = 2 * kNsPerSec;
constexpr size_t kMostFiles = 4096;
// Drivers of accelerators that account so. Displays of servers and virtual
// machines have drivers too, and are none.
constexpr std::string_view kDrivers[] = {
    "i915",    "xe",      "msm",  "msm_dpu",   "v3d",    "panfrost",
    "panthor", "etnaviv", "lima", "intel_vpu", "powervr"};

// One open file, as its fdinfo tells.
struct Client {
  std::string driver, device, id;          // the same id: the same client
  std::map<std::string, uint64_t> engine;  // ns it has worked, by name
  double memory_bytes = kNotRead;
};

bool Accounts(std::string_view driver) {
  return std::find(std::begin(kDrivers), std::end(kDrivers), driver) !=
         std::end(kDrivers);
}

// "2048 KiB" and the like as bytes.
double Bytes(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return kNotRead;
  const std::string_view unit(
      end, static_cast<size_t>(text.data() + text.size() - end));
  if (unit.find("KiB") != std::string_view::npos) return value * 1024;
  if (unit.find("MiB") != std::string_view::npos) return value * 1024 * 1024;
  return value;
}

Client Parse(std::string_view text) {
  Client client;
  double resident = 0, total = 0;
  bool has_resident = false, has_total = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || !line.starts_with("drm-")) continue;
    const std::string_view key = line.substr(4, colon - 4);
    std::string_view value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    if (key == "driver") {
      client.driver = value;
    } else if (key == "pdev") {
      client.device = value;
    } else if (key == "client-id") {
      client.id = value;
    } else if (key.starts_with("engine-") &&
               !key.starts_with("engine-capacity-")) {
      uint64_t ns = 0;
      if (std::from_chars(value.data(), value.data() + value.size(), ns).ec ==
          std::errc())
        client.engine[std::string(key.substr(7))] = ns;
    } else if (key.starts_with("resident-") || key.starts_with("memory-")) {
      if (const double bytes = Bytes(value); !std::isnan(bytes))
        resident += bytes, has_resident = true;
    } else if (key.starts_with("total-")) {
      if (const double bytes = Bytes(value); !std::isnan(bytes))
        total += bytes, has_total = true;
    }
  }
  if (has_resident)
    client.memory_bytes = resident;
  else if (has_total)
    client.memory_bytes = total;
  return client;
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
      device.driver = driver;
      device.address = path.substr(path.rfind('/') + 1);
      device.path = link;
      device.card = card;
      devices_.push_back(std::move(device));
      infos_.push_back({driver, driver + " " + card});
    }
  }

  const std::vector<DeviceInfo>& devices() const override { return infos_; }

  bool Read(size_t index, DeviceReading& out) override {
    if (index == 0) ReadAll();
    Device& device = devices_[index];
    // Until somebody uses it, it has nothing to tell.
    if (!device.seen) return true;
    out.busy_pct = device.busy_pct;
    out.mem_total_bytes = ReadNumber(device.path + "/mem_info_vram_total");
    double sum = 0;
    for (const auto& [pid, bytes] : device.users) {
      sum += bytes;
      out.users.push_back({pid, bytes});
    }
    out.mem_used_bytes = sum;
    out.clock_mhz =
        ReadNumber(device.path + "/drm/" + device.card + "/gt_act_freq_mhz");
    return true;
  }

 private:
  struct Device {
    std::string driver, address, path, card;
    // ns of each engine, by client.
    std::map<std::string, std::map<std::string, uint64_t>> clients;
    int64_t read_ns = 0;
    double busy_pct = kNotRead;
    bool seen = false;  // a client that accounts
    std::map<pid_t, double> users;
  };

  // Every open file of /dev/dri of every process.
  void Walk() {
    files_.clear();
    for (const std::string& pid : NamesIn(root_ + "/proc")) {
      if (pid[0] < '1' || pid[0] > '9') continue;
      const std::string dir = root_ + "/proc/" + pid + "/fd";
      for (const std::string& fd : NamesIn(dir)) {
        char target[64];
        const ssize_t size =
            ::readlink((dir + "/" + fd).c_str(), target, sizeof(target));
        if (size > 9 && std::string_view(target, 9) == "/dev/dri/" &&
            files_.size() < kMostFiles)
          files_.push_back({static_cast<pid_t>(std::atoi(pid.c_str())),
                            root_ + "/proc/" + pid + "/fdinfo/" + fd});
      }
    }
  }

  void ReadAll() {
    const int64_t now_ns = NowNs();
    if (now_ns >= next_walk_ns_) {
      Walk();
      next_walk_ns_ = now_ns + kWalkEveryNs;
    }
    std::vector<std::map<std::string, std::map<std::string, uint64_t>>> now(
        devices_.size());
    for (Device& device : devices_) device.users.clear();
    std::set<std::string> seen;  // a client may be open several times
    for (const File& file : files_) {
      const auto text = ReadFile(file.path);
      if (!text.ok()) continue;
      const Client client = Parse(text.value());
      if (!seen.insert(client.device + " " + client.id).second) continue;
      for (size_t i = 0; i < devices_.size(); ++i) {
        Device& device = devices_[i];
        if (client.driver != device.driver ||
            (!client.device.empty() && client.device != device.address))
          continue;
        now[i][client.id] = client.engine;
        device.seen |= !client.engine.empty();
        if (!std::isnan(client.memory_bytes))
          device.users[file.pid] += client.memory_bytes;
        break;
      }
    }
    for (size_t i = 0; i < devices_.size(); ++i)
      Account(devices_[i], now[i], now_ns);
  }

  // A device is as busy as the busiest of its engines. Only what its clients
  // did since they were last seen counts: a new one brings its whole past.
  static void Account(
      Device& device,
      const std::map<std::string, std::map<std::string, uint64_t>>& clients,
      int64_t now_ns) {
    std::map<std::string, uint64_t> grown;
    for (const auto& [id, engines] : clients) {
      const auto before = device.clients.find(id);
      if (before == device.clients.end()) continue;
      for (const auto& [name, ns] : engines) {
        const auto old = before->second.find(name);
        if (old != before->second.end() && ns > old->second)
          grown[name] += ns - old->second;
      }
    }
    uint64_t most = 0;
    for (const auto& [name, ns] : grown) most = std::max(most, ns);
    const double share = static_cast<double>(most) /
                         static_cast<double>(now_ns - device.read_ns);
    device.busy_pct =
        device.read_ns == 0 ? kNotRead : std::min(100.0, 100 * share);
    device.clients = clients;
    device.read_ns = now_ns;
  }

  struct File {
    pid_t pid;
    std::string path;
  };
  const std::string root_;
  std::vector<Device> devices_;
  std::vector<DeviceInfo> infos_;
  std::vector<File> files_;
  int64_t next_walk_ns_ = 0;
};

}  // namespace

bool DrmPresent(const std::string& root) { return !DrmCards(root, "").empty(); }

std::unique_ptr<DeviceSource> OpenDrm(const std::string& root, std::string&) {
  auto source = std::make_unique<Fdinfo>(root);
  if (source->devices().empty()) return nullptr;
  return source;
}

}  // namespace sonde

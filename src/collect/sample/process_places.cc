#include "collect/sample/process_places.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "collect/proc/proc_file.h"

namespace sonde {

void ProcessPlaces::Ran(uint32_t number, pid_t pid) {
  Place& place = places_[number];
  place.pid = pid;
  if (place.waits) return;
  place.waits = true;
  queue_.push_back(number);
}

void ProcessPlaces::Ended(uint32_t number) {
  const auto at = places_.find(number);
  if (at == places_.end()) return;
  networks_moved_ |= at->second.network != 0;
  places_.erase(at);
}

void ProcessPlaces::LookAt(Place& place) {
  place.waits = false;
  if (cgroup_ != nullptr)
    cgroup_->Add(
        ReadOnce(fmt::format("/proc/{}/cgroup", place.pid).c_str(), buffer_));
  struct stat network = {};
  if (::stat(fmt::format("/proc/{}/ns/net", place.pid).c_str(), &network) !=
          0 ||
      network.st_ino == place.network)
    return;
  place.network = network.st_ino;
  networks_moved_ = true;
}

void ProcessPlaces::Look(size_t most) {
  for (size_t looks = 0; looks < most && !queue_.empty();) {
    const auto at = places_.find(queue_.front());
    queue_.pop_front();
    if (at == places_.end()) continue;
    LookAt(at->second);
    ++looks;
  }
  if (!networks_moved_) return;
  networks_moved_ = false;
  std::vector<NetworkPlace> networks;
  for (const auto& [number, found] : places_) {
    const Place& place = found;  // clang 14 captures no structured binding
    const auto same = [&](const NetworkPlace& one) {
      return one.network == place.network;
    };
    if (place.network != 0 &&
        std::none_of(networks.begin(), networks.end(), same))
      networks.push_back({place.network, place.pid});
  }
  // A tree of which nothing is known any more has not moved.
  if (!networks.empty()) machine_.FollowNetworks(networks);
}

}  // namespace sonde

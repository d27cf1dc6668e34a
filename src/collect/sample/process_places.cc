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

// Whether one of them was in a network namespace.
bool ProcessPlaces::ForgetEnded() {
  if (tree_.changes() == seen_changes_) return false;
  seen_changes_ = tree_.changes();
  bool moved = false;
  std::erase_if(places_, [&](const auto& one) {
    if (tree_.live().contains(one.first)) return false;
    moved |= one.second.network != 0;
    return true;
  });
  return moved;
}

// Whether it is in another network namespace than before.
bool ProcessPlaces::LookAt(Place& place) {
  place.waits = false;
  if (follow_cgroups_)
    cgroups_.emplace_back(
        ReadOnce(fmt::format("/proc/{}/cgroup", place.pid).c_str(), buffer_));
  struct stat network = {};
  if (::stat(fmt::format("/proc/{}/ns/net", place.pid).c_str(), &network) !=
          0 ||
      network.st_ino == place.network)
    return false;
  place.network = network.st_ino;
  return true;
}

void ProcessPlaces::Look() {
  if (first_)
    for (const auto& [number, live] : tree_.live()) Ran(number, live.pid);
  const size_t most = first_ ? places_.size() : kLooks;
  first_ = false;
  bool moved = ForgetEnded();
  cgroups_.clear();
  for (size_t looks = 0; looks < most && !queue_.empty();) {
    const auto at = places_.find(queue_.front());
    queue_.pop_front();
    if (at == places_.end()) continue;
    moved |= LookAt(at->second);
    ++looks;
  }
  if (!moved) return;
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
  if (!networks.empty()) networks_ = std::move(networks);
}

}  // namespace sonde

#include "collect/proc/container.h"

#include <unistd.h>

#include <cstdlib>

#include "base/fd.h"

namespace sonde {

bool InContainer() {
  if (::access("/.dockerenv", F_OK) == 0 ||
      ::access("/run/.containerenv", F_OK) == 0 ||
      std::getenv("KUBERNETES_SERVICE_HOST") != nullptr ||
      std::getenv("container") != nullptr)
    return true;
  const auto cgroup = ReadFile("/proc/1/cgroup");
  if (!cgroup.ok()) return false;
  for (const char* const word : {"docker", "kubepods", "containerd", "lxc"})
    if (cgroup.value().find(word) != std::string::npos) return true;
  return false;
}

}  // namespace sonde

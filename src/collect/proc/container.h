// Containers as seen from outside and inside, without asking any daemon.

#ifndef SONDE_COLLECT_PROC_CONTAINER_H_
#define SONDE_COLLECT_PROC_CONTAINER_H_

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace sonde {

// Does this process run inside a container (docker, podman, kubernetes, lxc)?
// A guess from the traces they leave; only used to choose the words of advice,
// and whether a cgroup bounds what runs here.
bool InContainer();

// A container that runs here.
struct ContainerPlace {
  std::string id;      // 64 hex digits, or the name for lxc
  std::string cgroup;  // /proc/PID/cgroup of one of its processes
  std::string part;    // the part of its paths that is the container
  pid_t pid = 0;       // its first process
};

// The id in one part of a cgroup path, as docker, podman and kubernetes write
// it: "libpod-<id>.scope", "<id>". Empty if it is none.
std::string_view ContainerId(std::string_view part);

// By name or by the beginning of its id. Names are looked up in the files of
// docker and podman, and where those may not be read by asking their commands.
Result<ContainerPlace> FindContainer(const std::string& name);

}  // namespace sonde

#endif  // SONDE_COLLECT_PROC_CONTAINER_H_

#ifndef SONDE_COLLECT_CONTAINER_H_
#define SONDE_COLLECT_CONTAINER_H_

namespace sonde {

// Does this process run inside a container (docker, podman, kubernetes, lxc)?
// A guess from the traces they leave; only used to choose the words of advice.
bool InContainer();

}  // namespace sonde

#endif  // SONDE_COLLECT_CONTAINER_H_

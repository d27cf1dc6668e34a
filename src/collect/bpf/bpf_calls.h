// The system call bpf(), as much of it as the walker of frames needs. Errors
// are of kind kDenied where rights are missing, with the cure, and kUnsupported
// where the kernel does not take what it is given.

#ifndef SONDE_COLLECT_BPF_BPF_CALLS_H_
#define SONDE_COLLECT_BPF_BPF_CALLS_H_

#include <linux/bpf.h>

#include <cstdint>
#include <span>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// What a map holds. `name` is what others see of it: at most 15 letters.
struct BpfMapShape {
  bpf_map_type type = BPF_MAP_TYPE_UNSPEC;
  uint32_t key_bytes = 4;
  uint32_t value_bytes = 4;
  uint32_t entries = 1;
  const char* name = "";
};
Result<Fd> MakeBpfMap(const BpfMapShape& shape);

// `key` and `value` point to as many bytes as the map's shape says.
Status SetInBpfMap(int map, const void* key, const void* value);
// Nothing happens if there is no such key.
void DropFromBpfMap(int map, const void* key);

// For events of perf. The error of one that the kernel refuses has the last
// line of what the kernel says about that.
Result<Fd> LoadBpfProgram(std::span<const uint64_t> instructions,
                          const char* name);

// `thing` failed with `saved_errno`, in the words of this file.
Error BpfError(const std::string& thing, int saved_errno);

}  // namespace sonde

#endif  // SONDE_COLLECT_BPF_BPF_CALLS_H_

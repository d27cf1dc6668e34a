#ifndef SONDE_COLLECT_BPF_WALKER_CODE_H_
#define SONDE_COLLECT_BPF_WALKER_CODE_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace sonde {

// A place of the walker at which the descriptor of a map belongs.
struct MapReference {
  uint32_t instruction = 0;  // the first of two words
  std::string_view map;      // as walker.bpf.c calls it
};

// walker.bpf.c, compiled: the words of its instructions. Made by
// tools/check_bpf.py, so that sonde is built without a compiler for BPF.
std::span<const uint64_t> WalkerInstructions();
std::span<const MapReference> WalkerReferences();

}  // namespace sonde

#endif  // SONDE_COLLECT_BPF_WALKER_CODE_H_

#ifndef SONDE_COLLECT_GPU_ASCEND_NPU_SMI_H_
#define SONDE_COLLECT_GPU_ASCEND_NPU_SMI_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collect/gpu/device.h"

namespace sonde {

// What `npu-smi info` prints of a card: values by name, by chip. Lines are
// "name : value"; an empty line ends what is told of a chip, and "Chip ID" is
// its first or its last line. What is of no chip (the card's controller) is
// left out; where no chip is named at all there is one.
using NpuSmiChips = std::map<int, std::map<std::string, std::string>>;
NpuSmiChips ParseNpuSmi(std::string_view text);

// The cards of `npu-smi info -l` and the number of their chips.
std::vector<std::pair<int, int>> ParseNpuSmiList(std::string_view text);

// A reading of one chip from what `-t common` and `-t usages` say of its card.
// False if nothing of it is there.
bool ReadNpuSmi(const NpuSmiChips& common, const NpuSmiChips& usages, int chip,
                DeviceReading& out);

// Huawei Ascend by its command line tool, where its library cannot be used.
// Blocks while the tool runs, for up to three seconds a card.
std::unique_ptr<DeviceSource> OpenNpuSmi(std::string& why);

}  // namespace sonde

#endif  // SONDE_COLLECT_GPU_ASCEND_NPU_SMI_H_

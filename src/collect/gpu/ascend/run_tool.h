#ifndef SONDE_COLLECT_GPU_ASCEND_RUN_TOOL_H_
#define SONDE_COLLECT_GPU_ASCEND_RUN_TOOL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sonde {

// What a program of PATH prints. Nothing if it is not there, fails, takes
// longer than `limit_ns` to print or prints more than kMostToolBytes; it is
// then killed. It is also killed when the caller dies. No shell is involved.
// Waits for its end. Only for processes of one thread.
std::optional<std::string> RunTool(const std::vector<std::string>& words,
                                   int64_t limit_ns);

inline constexpr size_t kMostToolBytes = 64 << 10;

}  // namespace sonde

#endif  // SONDE_COLLECT_GPU_ASCEND_RUN_TOOL_H_

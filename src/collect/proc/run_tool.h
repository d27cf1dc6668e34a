#ifndef SONDE_COLLECT_PROC_RUN_TOOL_H_
#define SONDE_COLLECT_PROC_RUN_TOOL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sonde {

// What a program of PATH prints. Nothing if the program is not there, fails,
// has not ended after `limit_ns` or prints more than kMostToolBytes; the
// program is then killed, with what it has started, and also when the caller
// dies. Its standard input is empty, its errors are not shown. No shell is
// involved. Only for processes of one thread.
std::optional<std::string> RunTool(const std::vector<std::string>& words,
                                   int64_t limit_ns);

inline constexpr size_t kMostToolBytes = 64 << 10;

}  // namespace sonde

#endif  // SONDE_COLLECT_PROC_RUN_TOOL_H_

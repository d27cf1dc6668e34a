#ifndef SONDE_CLI_SUMMARY_H_
#define SONDE_CLI_SUMMARY_H_

#include <string>

#include "base/result.h"

namespace sonde {

// What `sonde run` says of a trace it has just written; whole lines.
Result<std::string> Summary(const std::string& trace_path);

// What is said of a session's directory that stays; a whole line.
std::string LeftLine(const std::string& path);

}  // namespace sonde

#endif  // SONDE_CLI_SUMMARY_H_

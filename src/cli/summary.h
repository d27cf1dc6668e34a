#ifndef SONDE_CLI_SUMMARY_H_
#define SONDE_CLI_SUMMARY_H_

#include <string>

#include "base/result.h"

namespace sonde {

// What `sonde run` says of a trace it has just written; whole lines.
Result<std::string> Summary(const std::string& trace_path);

}  // namespace sonde

#endif  // SONDE_CLI_SUMMARY_H_

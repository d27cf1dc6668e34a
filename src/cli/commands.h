// The entry point of each verb; cli/main.cc lists them.

#ifndef SONDE_CLI_COMMANDS_H_
#define SONDE_CLI_COMMANDS_H_

#include "cli/command.h"

namespace sonde {

Result<int> RunReport(const Args& args);

}  // namespace sonde

#endif  // SONDE_CLI_COMMANDS_H_

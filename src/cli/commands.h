// The entry point of each verb; cli/main.cc lists them.

#ifndef SONDE_CLI_COMMANDS_H_
#define SONDE_CLI_COMMANDS_H_

#include "cli/command.h"

namespace sonde {

Result<int> RunReport(const Args& args);
Result<int> RunRun(const Args& args);
Result<int> RunRecover(const Args& args);
Result<int> RunWatch(const Args& args);
Result<int> RunCtl(const Args& args);
Result<int> RunExport(const Args& args);
Result<int> RunQuery(const Args& args);
Result<int> RunStacks(const Args& args);
Result<int> RunDoctor(const Args& args);

}  // namespace sonde

#endif  // SONDE_CLI_COMMANDS_H_

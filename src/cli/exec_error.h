#ifndef SONDE_CLI_EXEC_ERROR_H_
#define SONDE_CLI_EXEC_ERROR_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace sonde {

// Why a command could not be executed, with the cure for the usual mistakes:
// all words in one pair of quotes, a variable before the command, a directory,
// a script that is not executable. `error` is the errno of exec.
Error ExecError(const std::vector<std::string>& command, int error);

}  // namespace sonde

#endif  // SONDE_CLI_EXEC_ERROR_H_

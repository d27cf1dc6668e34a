#ifndef SONDE_CLI_COMMAND_H_
#define SONDE_CLI_COMMAND_H_

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace sonde {

using Args = std::vector<std::string>;

// One subcommand: `sonde NAME ...`. Its file is cli/cmd_NAME.cc, its page
// docs/cli/NAME.md, its golden tests tests/golden/NAME_*.
//
// `run` gets the words behind NAME. Its value is the exit code; an Error is
// printed by main, which picks the code.
struct Command {
  const char* name;
  const char* summary;  // one line, shown by `sonde help`
  Result<int> (*run)(const Args& args);
};

// Every command, in the order a new user meets them. This table is
// `sonde help`; nothing registers itself anywhere else.
std::span<const Command> Commands();

// Parses `args` into the variables bound to `app`. True: go on. False: help was
// asked for and printed, `help` if that is not null. Wrong use is an Error of
// kind kUsage.
Result<bool> ParseArgs(CLI::App& app, const Args& args,
                       const char* help = nullptr);

// "sonde: what" and its hint on stderr. Only for commands that choose their own
// exit code; the others return the Error.
void PrintError(const Error& error);

}  // namespace sonde

#endif  // SONDE_CLI_COMMAND_H_

// The options that `sonde run` and `sonde watch` share: where the trace goes,
// what is in it, when the recording begins and ends.

#ifndef SONDE_CLI_RECORD_OPTIONS_H_
#define SONDE_CLI_RECORD_OPTIONS_H_

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/command.h"
#include "collect/session/session.h"

namespace sonde {

// As written on the command line.
struct RecordArgs {
  std::string output, max_size, time, delay, stop_file, hang;
  double rate_hz = 10;
  std::string stacks = "199";  // looks a second, or "off"
  std::string stacks_by;       // "": the best way that works here
  bool force = false, quiet = false;
  bool all_args = false, environment = false;
};

// Binds them to `args`, which must live as long as `app`.
void AddRecordOptions(CLI::App& app, RecordArgs& args);

// The words of a command line: options and their values, and behind them the
// command, which begins behind "--", or at the first word that is neither.
struct RecordWords {
  Args options, command;
  // The first of the options that there is not, safe to print.
  std::optional<std::string> unknown;
};
RecordWords SplitWords(const Args& args, const CLI::App& app);

// All of SessionOptions that they say. An Error, beginning with `verb`, if one
// makes no sense, or asks for a way to sample stacks that does not work here.
Result<SessionOptions> CheckRecordArgs(const RecordArgs& args,
                                       const std::string& verb);

}  // namespace sonde

#endif  // SONDE_CLI_RECORD_OPTIONS_H_

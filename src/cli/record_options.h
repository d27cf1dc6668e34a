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
  std::string output, max_size, time, delay, stop_file;
  double rate_hz = 10;
  bool force = false, quiet = false;
  bool all_args = false, environment = false;
};

// Binds them to `args`, which must live as long as `app`.
void AddRecordOptions(CLI::App& app, RecordArgs& args);

// Whether the word behind this option is its value.
bool TakesValue(const CLI::App& app, const std::string& word);

// Where a command begins among `args`: behind "--", or at the first word that
// is neither an option nor an option's value. args.size() if there is none.
size_t CommandStart(const Args& args, const CLI::App& app, size_t& options_end);

// The first of `options` (what stands before options_end) that `app` does not
// have, safe to print.
std::optional<std::string> UnknownOption(const Args& options,
                                         const CLI::App& app);

// All of SessionOptions that they say. An Error of kind kUsage, beginning with
// `verb`, if one makes no sense.
Result<SessionOptions> CheckRecordArgs(const RecordArgs& args,
                                       const std::string& verb);

}  // namespace sonde

#endif  // SONDE_CLI_RECORD_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/exec_error.h"
#include "cli/output_name.h"
#include "cli/summary.h"
#include "collect/launcher.h"
#include "collect/session.h"
#include "collect/session_dir.h"
#include "collect/signals.h"
#include "collect/standard_fds.h"

namespace sonde {
namespace {

constexpr char kHelp[] = R"(usage: sonde run [OPTIONS] [--] COMMAND [ARGS...]

  sonde run -- python train.py            record it, then say what limits it
  sonde run -o train.sonde -- ./train.sh  choose the trace's name
  sonde run --rate 100 -- ./short-job     sample a hundred times a second
  sonde run --max-size 200M -- ./server   keep the newest 200 MiB of detail
  sonde run --wait-tree -- ./start-all    until the last descendant has ended

The command and everything it starts are recorded from outside; its input,
output, signals and exit status are as without sonde.

  -o, --output FILE  the trace (default: sonde-<command>-<time>.sonde here)
  --force            overwrite the trace if it exists
  --rate HZ          samples a second, 0.1 to 1000 (default: 10)
  --max-size SIZE    limit of the trace, e.g. 500M; the oldest detail goes first
  --wait-tree        end with the last descendant, not with the command
  --quiet            print nothing at all
  --args             record the whole command lines of descendants
  --env              record the values of environment variables, not only names
  --no-perf          follow processes by /proc alone
  -h, --help         this text

Exit status: the command's; if it died of a signal, sonde dies of the same one.
125: sonde could not start, 126: COMMAND cannot be executed, 127: not found.
)";

constexpr int kCouldNot = 125;
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;

struct RunArgs {
  std::string output, max_size;
  double rate_hz = 10;
  bool force = false, quiet = false, wait_tree = false;
  bool all_args = false, environment = false, no_perf = false;
  bool help = false;
  int64_t max_bytes = 0;
  std::vector<std::string> command;
};

bool TakesValue(const std::string& option) {
  return option == "-o" || option == "--output" || option == "--rate" ||
         option == "--max-size";
}

// Where the command begins: behind "--", or at the first word that is neither
// an option nor an option's value.
size_t CommandStart(const Args& args, size_t& options_end) {
  for (size_t i = 0; i < args.size(); ++i) {
    options_end = i;
    if (args[i] == "--") return i + 1;
    if (args[i].size() < 2 || args[i][0] != '-') return i;
    if (TakesValue(args[i])) ++i;
  }
  return options_end = args.size();
}

// An option that is not ours is most often the command's, written before it.
Status CheckOptions(const Args& options, const CLI::App& app) {
  for (size_t i = 0; i < options.size(); ++i) {
    const std::string& word = options[i];
    const std::string name = word.starts_with("--")
                                 ? word.substr(0, word.find('='))
                                 : word.substr(0, 2);
    if (app.get_option_no_throw(name) != nullptr) {
      i += TakesValue(word) ? 1 : 0;
      continue;
    }
    const std::string shown = Printable(name, 60);
    return Error{Error::Kind::kUsage, "run: there is no option " + shown,
                 "is it the command's? then it stands behind it: sonde run -- "
                 "COMMAND " +
                     shown + "; `sonde run --help` lists ours"};
  }
  return Ok();
}

Result<RunArgs> Parse(const Args& args) {
  RunArgs run;
  size_t options_end = 0;
  const size_t start = CommandStart(args, options_end);
  CLI::App app("", "run");
  app.set_help_flag();
  app.add_option("-o,--output", run.output);
  app.add_option("--rate", run.rate_hz);
  app.add_option("--max-size", run.max_size);
  app.add_flag("--force", run.force);
  app.add_flag("--quiet", run.quiet);
  app.add_flag("--wait-tree", run.wait_tree);
  app.add_flag("--args", run.all_args);
  app.add_flag("--env", run.environment);
  app.add_flag("--no-perf", run.no_perf);
  app.add_flag("-h,--help", run.help);
  const Args options(args.begin(),
                     args.begin() + static_cast<ptrdiff_t>(options_end));
  TRY_OK(CheckOptions(options, app));
  TRY(const bool parsed, ParseArgs(app, options));
  if (!parsed || run.help) {
    run.help = true;
    return run;
  }
  run.command.assign(args.begin() + static_cast<ptrdiff_t>(start), args.end());
  if (run.command.empty())
    return Error{Error::Kind::kUsage, "run: there is no command to record",
                 "sonde run -- python train.py"};
  if (!(run.rate_hz >= 0.1 && run.rate_hz <= 1000))
    return Error{Error::Kind::kUsage, "run: --rate is from 0.1 to 1000 Hz",
                 "without it, 10 samples a second are taken"};
  if (!run.max_size.empty()) {
    const auto bytes = ParseBytes(run.max_size);
    if (!bytes || *bytes < TraceWriter::kMinMaxBytes)
      return Error{Error::Kind::kUsage,
                   "run: --max-size is a size of at least 256k, not '" +
                       Printable(run.max_size) + "'",
                   "sonde run --max-size 500M -- python train.py"};
    run.max_bytes = *bytes;
  }
  return run;
}

int TellExecFailure(const std::vector<std::string>& command, int error) {
  PrintError(ExecError(command, error));
  return error == ENOENT ? kNotFound : kCannotExecute;
}

// Inside another recording: that one sees this command as well.
int JoinSession(const RunArgs& run, const SessionInfo& outer) {
  if (!run.quiet)
    std::fprintf(stderr,
                 "sonde: already recorded, into %s; no trace of its own\n",
                 Printable(outer.trace).c_str());
  std::fflush(stderr);
  return TellExecFailure(run.command, ExecCommand(run.command));
}

Result<int> Record(const RunArgs& run, const InheritedFds& inherited) {
  if (const char* dir = ::secure_getenv("SONDE_SESSION"); dir && *dir)
    if (const auto outer = FindSession(dir); outer.ok())
      return JoinSession(run, outer.value());

  SessionOptions options;
  options.recording.command = run.command;
  options.recording.rate_hz = run.rate_hz;
  options.recording.use_perf = !run.no_perf;
  options.recording.all_args = run.all_args;
  options.recording.environment_values = run.environment;
  options.replace = run.force;
  options.max_bytes = run.max_bytes;
  options.wait_tree = run.wait_tree;
  options.on_failure = [&run](const Error& error) {
    if (!run.quiet)
      PrintError({error.kind, error.what + ": the recording stops here, the "
                                           "command is not affected"});
  };
  options.on_started = [&] { inherited.Release(run.quiet); };
  TRY(options.trace, ChooseOutput(run.output, run.command[0], run.force));
  auto session = RunSession(options);
  if (!session.ok()) {
    Error error = session.error();
    if (error.hint.empty() && run.output.empty())
      error.hint = "choose where the trace goes with -o FILE";
    return error;
  }
  const SessionResult result = session.Take();
  if (result.exec_error != 0)
    return TellExecFailure(run.command, result.exec_error);
  if (!run.quiet) {
    EndEarlyLike(result.wait_status);
    const auto summary = Summary(options.trace);
    if (summary.ok())
      std::fputs(summary.value().c_str(), stderr);
    else
      PrintError(summary.error());
  }
  return EndLike(result.wait_status);
}

}  // namespace

// A wrong use must not look like an exit status of the command either, so every
// Error ends here and becomes 125.
Result<int> RunRun(const Args& args) {
  const InheritedFds inherited = InheritedFds::Capture();
  HoldStandardFds();
  auto run = Parse(args);
  if (run.ok() && run.value().help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  const Result<int> code =
      run.ok() ? Record(run.value(), inherited) : Result<int>(run.error());
  if (code.ok()) return code;
  PrintError(code.error());
  return kCouldNot;
}

}  // namespace sonde

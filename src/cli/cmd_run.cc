#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/exec_error.h"
#include "cli/output_name.h"
#include "cli/record_options.h"
#include "cli/stack_text.h"
#include "cli/summary.h"
#include "collect/session/launcher.h"
#include "collect/session/session.h"
#include "collect/session/session_dir.h"
#include "collect/session/signals.h"
#include "collect/session/standard_fds.h"

namespace sonde {
namespace {

constexpr char kRunHelp[] = R"(usage: sonde run [OPTIONS] [--] COMMAND [ARGS...]

  sonde run -- python train.py            record train.py, say what limits it
  sonde run -o train.sonde -- ./train.sh  choose the trace's name
  sonde run --rate 100 -- ./short-job     take a hundred samples a second
  sonde run --delay 90s --for 10m -- ./train.sh   from 1:30 to 10:00 only
  sonde run --stop-file stop.flag -- ./server     until `touch stop.flag`
  sonde run --max-size 200M -- ./server   keep the newest 200 MiB of detail
  sonde run --wait-tree -- ./start-all    until the last descendant has ended

The command and everything it starts are recorded from outside; its input,
output, signals and exit status are as without sonde.

  -o, --output FILE  the trace (default: sonde-<command>-<time>.sonde here)
  --force            overwrite the trace if it exists
  -t, --for TIME     end the recording after TIME (30m, 90s, 2h; a plain number
                     is minutes); the command goes on, and sonde waits for it
  --delay TIME       sample nothing before TIME (90s) has passed; `auto`: judge
                     only the time after the start-up, whose end sonde finds
  --stop-file FILE   end the recording when FILE appears; a FILE that is left
                     over is removed at the start
  --hang TIME        if nothing was done for TIME (60s), show where the threads
                     stand
  --rate HZ          samples a second, 0.1 to 1000 (default: 10)
  --stacks HZ|off    look so often where in their code programs are,
                     1 to 1000 (default: 199)
  --stacks-by HOW    proc: Python only, by reading its memory; perf: native code
                     too; bpf: Python at the very moment of a sample, as root
                     (default: the last of these that works here)
  --max-size SIZE    limit of the trace, e.g. 500M; the oldest detail goes first
  --wait-tree        end with the last descendant, not with the command
  --quiet            print nothing at all
  --args             record the whole command lines of descendants
  --env              record the values of environment variables, not only names
  --no-perf          follow processes by /proc alone; may miss short ones
  -h, --help         this text

Exit status: the command's; if the command died of a signal, sonde dies of the
same signal. 125: sonde could not start, 126: COMMAND cannot be executed, 127:
COMMAND was not found.
)";

constexpr int kCouldNot = 125;
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;

struct RunArgs {
  RecordArgs record;
  bool wait_tree = false, no_perf = false, help = false;
  std::vector<std::string> command;
  SessionOptions options;
};

Result<RunArgs> Parse(const Args& args) {
  RunArgs run;
  CLI::App app("", "run");
  AddRecordOptions(app, run.record);
  app.add_flag("--wait-tree", run.wait_tree);
  app.add_flag("--no-perf", run.no_perf);
  const RecordWords words = SplitWords(args, app);
  // One that is not ours is most often the command's, written before it.
  if (words.unknown)
    return Error{Error::Kind::kUsage,
                 "run: there is no option " + *words.unknown,
                 "is it the command's? then it stands behind it: sonde run -- "
                 "COMMAND " +
                     *words.unknown + "; `sonde run --help` lists ours"};
  TRY(const bool go_on, ParseArgs(app, words.options, kRunHelp));
  run.help = !go_on;
  if (run.help) return run;
  run.command = words.command;
  if (run.command.empty())
    return Error{Error::Kind::kUsage, "run: there is no command to record",
                 "sonde run -- python train.py"};
  TRY(run.options, CheckRecordArgs(run.record, "run"));
  run.options.recording.command = run.command;
  run.options.recording.use_perf = !run.no_perf;
  if (run.no_perf && !run.record.stacks_by.empty() &&
      run.options.recording.stacks_by != StacksBy::kProc)
    return Error{Error::Kind::kUsage, "run: --stacks-by " +
                                          run.record.stacks_by +
                                          " and --no-perf exclude each other"};
  run.options.wait_tree = run.wait_tree;
  return run;
}

int TellExecFailure(const std::vector<std::string>& command, int error) {
  PrintError(ExecError(command, error));
  return error == ENOENT ? kNotFound : kCannotExecute;
}

// Inside another recording: that one sees this command as well.
int JoinSession(const RunArgs& run, const SessionInfo& outer) {
  if (!run.record.quiet)
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

  SessionOptions options = run.options;
  const bool quiet = run.record.quiet;
  const std::string& output = run.record.output;
  options.on_ended = [&](const std::string& why) {
    if (!quiet)
      std::fprintf(stderr,
                   "sonde: the recording ended: %s. The command goes on. "
                   "Trace: %s\n",
                   why.c_str(), Printable(options.trace, 4096).c_str());
  };
  // Said behind what the command says.
  std::string left;
  options.on_left = [&](const std::string& path) { left += LeftLine(path); };
  options.on_hang = [&](const std::vector<pid_t>& pids) {
    if (!quiet) PrintHang(pids, FormatDuration(options.life.hang_ns));
  };
  options.on_failure = [quiet](const Error& error) {
    if (!quiet)
      PrintError({error.kind, error.what + ": the recording stops here, the "
                                           "command is not affected"});
  };
  options.on_started = [&] { inherited.Release(quiet); };
  TRY(options.trace, ChooseOutput(output, run.command[0], run.record.force));
  auto session = RunSession(options);
  if (!session.ok()) {
    Error error = session.error();
    if (error.hint.empty())
      error.hint =
          error.what.find(std::strerror(ENOSPC)) != std::string::npos
              ? "the command was not started; make room there, or choose "
                "another disk for the trace with -o FILE"
              : "the command was not started; choose where the trace goes with "
                "-o FILE";
    return error;
  }
  const SessionResult result = session.Take();
  if (result.exec_error != 0)
    return TellExecFailure(run.command, result.exec_error);
  if (!quiet) {
    std::fputs(left.c_str(), stderr);
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
  if (run.ok() && run.value().help) return 0;
  const Result<int> code =
      run.ok() ? Record(run.value(), inherited) : Result<int>(run.error());
  if (code.ok()) return code;
  PrintError(code.error());
  return kCouldNot;
}

}  // namespace sonde

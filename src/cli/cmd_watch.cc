#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdio>

#include "base/shell_word.h"
#include "base/text.h"
#include "cli/background.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/output_name.h"
#include "cli/record_options.h"
#include "cli/stack_text.h"
#include "cli/summary.h"
#include "collect/session/session.h"
#include "collect/session/signals.h"
#include "collect/session/standard_fds.h"
#include "collect/session/stop_file.h"
#include "collect/tree/watch_target.h"

namespace sonde {
namespace {

constexpr char kWatchHelp[] = R"(usage: sonde watch [OPTIONS]

  sonde watch                      record this container or machine
  sonde watch --pid 1234           that process and its descendants
  sonde watch --container train    a docker or podman container, by name or id
  sonde watch --cgroup /sys/fs/cgroup/train       the processes of a cgroup
  sonde watch --background --stop-file stop.flag  while other commands run

Records what runs already, for jobs that cannot be started by `sonde run`. The
recording ends with Ctrl-C, `sonde ctl stop`, the stop file, the time, or with
the processes; then sonde says what limits them.

  --pid PID          record this process and its descendants
  --container NAME   record this container: its name, or the first digits of
                     its id
  --cgroup PATH      record the processes of this cgroup and the cgroups below
  --background       go on without the terminal; prints the trace's name and how
                     to stop, and leaves the verdict in the file TRACE.txt
  -o, --output FILE  the trace (default: sonde-watch-<time>.sonde here)
  --force            overwrite the trace if it exists
  -t, --for TIME     end after TIME (30m, 90s, 2h; a plain number is minutes;
                     default: 1h)
  --delay TIME       sample nothing before TIME (90s) has passed; `auto`: judge
                     only the time after the start-up, whose end sonde finds
  --stop-file FILE   end when FILE appears; a FILE that is left over is removed
                     at the start
  --hang TIME        if nothing was done for TIME (60s), show where the threads
                     stand
  --rate HZ          samples a second, 0.1 to 1000 (default: 10)
  --stacks HZ|off    look so often where in their code programs are,
                     1 to 1000 (default: 199; of the whole machine: off)
  --stacks-by HOW    proc: Python only, by reading its memory; perf: native code
                     too; bpf: Python at the very moment of a sample, as root
                     (default: the last of these that works here)
  --max-size SIZE    limit of the trace, e.g. 500M; the oldest detail goes first
  --quiet            print nothing but errors
  --args             record the whole command lines of processes
  --env              record the values of sonde's environment variables
  -h, --help         this text
)";

constexpr char kDefaultTime[] = "1h";

struct WatchArgs {
  RecordArgs record;
  std::string pid, container, cgroup;
  bool background = false;
};

Result<WatchTarget> TargetOf(const WatchArgs& args) {
  const int given =
      !args.pid.empty() + !args.container.empty() + !args.cgroup.empty();
  if (given > 1)
    return Error{Error::Kind::kUsage,
                 "watch: one of --pid, --container and --cgroup, not several",
                 "two recordings can run at the same time"};
  if (!args.container.empty()) return WatchTarget::Container(args.container);
  if (!args.cgroup.empty()) return WatchTarget::Cgroup(args.cgroup);
  if (args.pid.empty()) return WatchTarget::Everything();
  const bool number =
      args.pid.find_first_not_of("0123456789") == std::string::npos;
  const int64_t pid = number && args.pid.size() < 10 ? std::stoll(args.pid) : 0;
  if (pid <= 0)
    return Error{Error::Kind::kUsage,
                 "watch: --pid is the number of a process, not '" +
                     Printable(args.pid) + "'",
                 "`pgrep -f train.py` finds it"};
  return WatchTarget::Process(static_cast<pid_t>(pid));
}

// Somebody takes it for `sonde run`, or forgot --pid.
Error NoCommand(const Args& command) {
  if (command[0].find_first_not_of("0123456789") == std::string::npos)
    return {Error::Kind::kUsage, "watch: --pid says which process",
            "sonde watch --pid " + command[0]};
  std::string line;
  for (const std::string& word : command) line += " " + ShellWord(word);
  return {Error::Kind::kUsage,
          "watch: records what runs already, it does not start '" +
              Printable(command[0]) + "'",
          "sonde run --" + line};
}

// How long at most, as the user said it.
std::string LimitOf(const RecordArgs& args) {
  const bool plain =
      std::isdigit(static_cast<unsigned char>(args.time.back())) != 0;
  return args.time + (plain ? " min" : "");
}

void TellStart(const WatchArgs& args, const SessionOptions& options) {
  std::fprintf(stderr,
               "sonde: recording %s, for %s at most; Ctrl-C or `sonde ctl "
               "stop` ends it\n",
               NameOf(options.recording).c_str(), LimitOf(args.record).c_str());
}

void TellBackground(const WatchArgs& args, const SessionOptions& options,
                    pid_t pid, const std::string& log) {
  const std::string trace = ShellWord(options.trace);
  std::printf("recording %s, for %s at most, into %s\n",
              NameOf(options.recording).c_str(), LimitOf(args.record).c_str(),
              trace.c_str());
  std::printf("  stop:    sonde ctl stop --session %d\n", pid);
  if (!options.life.stop_file.empty())
    std::printf("     or:    touch %s\n",
                ShellWord(options.life.stop_file).c_str());
  std::printf("  verdict: in %s then; sonde report %s\n",
              ShellWord(log).c_str(), trace.c_str());
}

Result<int> Record(const WatchArgs& args, SessionOptions& options,
                   Background* background) {
  const bool quiet = args.record.quiet;
  bool failed = false;
  options.on_started = [&] {
    if (background != nullptr)
      background->Ready();
    else if (!quiet)
      TellStart(args, options);
  };
  options.on_ended = [&](const std::string& why) {
    if (!quiet)
      std::fprintf(stderr, "sonde: the recording ended: %s\n", why.c_str());
  };
  options.on_left = [quiet](const std::string& path) {
    if (!quiet) std::fputs(LeftLine(path).c_str(), stderr);
  };
  options.on_hang = [&](const std::vector<pid_t>& pids) {
    if (!quiet) PrintHang(pids, FormatDuration(options.life.hang_ns));
  };
  options.on_failure = [&](const Error& error) {
    failed = true;
    PrintError({error.kind, error.what + ": the recording stops here"});
  };
  TRY_OK(WatchSession(options));
  EndEarlyLike(failed ? 1 << 8 : 0);
  if (quiet) return failed ? 1 : 0;
  TRY(const std::string summary, Summary(options.trace));
  std::fputs(summary.c_str(), stderr);
  return failed ? 1 : 0;
}

Result<int> RecordInBackground(const WatchArgs& args, SessionOptions& options) {
  std::string log;
  if (!args.record.quiet) {
    TRY(log, ChooseOutput(options.trace + ".txt", "", args.record.force));
    if (!options.life.stop_file.empty())
      TRY_OK(StopFile::CheckApart(options.life.stop_file, log));
  }
  TRY(Background background, Background::Detach(log));
  if (!background.child()) {
    if (!args.record.quiet)
      TellBackground(args, options, background.pid(), log);
    return 0;
  }
  const Result<int> code = Record(args, options, &background);
  if (code.ok()) return code;
  if (!background.child()) return code;  // after it was ready
  background.Failed(code.error());
  return 1;
}

}  // namespace

Result<int> RunWatch(const Args& words) {
  HoldStandardFds();
  WatchArgs args;
  CLI::App app("", "watch");
  AddRecordOptions(app, args.record);
  app.add_option("--pid", args.pid);
  app.add_option("--container", args.container);
  app.add_option("--cgroup", args.cgroup);
  app.add_flag("--background", args.background);
  const RecordWords given = SplitWords(words, app);
  if (given.unknown)
    return Error{Error::Kind::kUsage,
                 "watch: there is no option " + *given.unknown,
                 "`sonde watch --help` lists them"};
  if (!given.command.empty()) return NoCommand(given.command);
  TRY(const bool go_on, ParseArgs(app, words, kWatchHelp));
  if (!go_on) return 0;
  if (args.record.time.empty()) args.record.time = kDefaultTime;
  const bool whole_machine =
      args.pid.empty() && args.container.empty() && args.cgroup.empty();
  if (whole_machine && app.count("--stacks") == 0) args.record.stacks = "off";
  TRY(SessionOptions options, CheckRecordArgs(args.record, "watch"));
  TRY(const WatchTarget target, TargetOf(args));
  options.recording.target = &target;
  TRY(options.trace,
      ChooseOutput(args.record.output, "watch", args.record.force));
  if (args.background) return RecordInBackground(args, options);
  return Record(args, options, nullptr);
}

}  // namespace sonde

// Chooses a command, runs it, and is the only code that prints an error or
// picks an exit code: 0 done, 1 could not, 2 asked wrongly. `run` has codes of
// its own, the command's.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <string_view>

#include "base/text.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/commands.h"

namespace sonde {

std::span<const Command> Commands() {
  static constexpr Command kCommands[] = {
      {"run", "record a command and say what limits it", &RunRun},
      {"watch", "record what runs already", &RunWatch},
      {"report", "say what limited a program, and why", &RunReport},
      {"query", "ask a trace in SQL", &RunQuery},
      {"export", "write a trace for other tools", &RunExport},
      {"ctl", "pause, mark or stop a running recording", &RunCtl},
      {"recover", "finish a recording that was killed", &RunRecover},
      {"stacks", "show where a running program is now", &RunStacks},
      {"doctor", "say what can be recorded here", &RunDoctor},
  };
  return kCommands;
}

namespace {

// An empty value, as of a variable that is not set, would look like none.
Status CheckValues(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const int most = option->get_items_expected_max();
    // Several words without a name are for the command to judge.
    if (most == 0 || (most > 1 && option->get_positional())) continue;
    for (const std::string& value : option->results())
      if (value.empty())
        return Error{
            Error::Kind::kUsage,
            app.get_name() + ": " + option->get_name() + " needs a value"};
  }
  return Ok();
}

}  // namespace

Result<bool> ParseArgs(CLI::App& app, const Args& args, const char* help) {
  bool help_asked = false;
  if (help != nullptr) {
    app.set_help_flag();
    app.add_flag("-h,--help", help_asked);
  }
  try {
    // CLI11 takes its words from the back.
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
    TRY_OK(CheckValues(app));
    if (help_asked) std::fputs(help, stdout);
    return !help_asked;
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help("sonde");
    return false;
  } catch (const CLI::ParseError& error) {
    return Error{Error::Kind::kUsage, app.get_name() + ": " + error.what(),
                 "`sonde " + app.get_name() + " --help` shows how"};
  }
}

namespace {

// Line by line without what a terminal would obey: messages repeat arguments,
// SQL and names.
std::string Safe(std::string_view text) {
  std::string out;
  for (;;) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    out += Printable(line, line.size());
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace

void PrintError(const Error& error) {
  // In one piece, so that nothing else comes between.
  std::string text = "sonde: " + Safe(error.what) + "\n";
  if (!error.hint.empty()) text += "  hint: " + Safe(error.hint) + "\n";
  std::fputs(text.c_str(), stderr);
}

namespace {

int Fail(const Error& error) {
  PrintError(error);
  return error.kind == Error::Kind::kUsage ? 2 : 1;
}

int Help() {
  std::puts(
      "sonde: why is this program slow?\n\n"
      "  sonde run -- python train.py    record train.py, say what limits it\n"
      "  sonde report                    say what limited the newest "
      "recording\n");
  for (const Command& c : Commands())
    std::printf("  %-8s %s\n", c.name, c.summary);
  std::puts("\n`sonde COMMAND --help` tells more about a command.");
  return 0;
}

// Levenshtein distance, for "did you mean".
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t up = row[j];
      row[j] = std::min(
          {up + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1] ? 1 : 0)});
      diagonal = up;
    }
  }
  return row[b.size()];
}

// What other tools call it, and people try first.
struct UsualWord {
  std::string_view word;
  const char* ours;
};
constexpr UsualWord kUsualWords[] = {
    {"record", "run"},        {"profile", "run"},      {"prof", "run"},
    {"start", "run"},         {"exec", "run"},         {"launch", "run"},
    {"trace", "run"},         {"stat", "run"},         {"time", "run"},
    {"attach", "watch"},      {"monitor", "watch"},    {"top", "watch"},
    {"live", "watch"},        {"analyze", "report"},   {"analyse", "report"},
    {"show", "report"},       {"open", "report"},      {"view", "report"},
    {"stats", "report"},      {"summary", "report"},   {"print", "report"},
    {"sql", "query"},         {"tables", "query"},     {"convert", "export"},
    {"dump", "export"},       {"to", "export"},        {"stop", "ctl stop"},
    {"pause", "ctl pause"},   {"mark", "ctl mark"},    {"resume", "ctl resume"},
    {"status", "ctl status"}, {"check", "doctor"},     {"info", "doctor"},
    {"list", "doctor"},       {"repair", "recover"},   {"finish", "recover"},
    {"stack", "stacks"},      {"backtrace", "stacks"}, {"bt", "stacks"},
    {"threads", "stacks"},    {"pystack", "stacks"},
};

std::string HintFor(std::string_view word) {
  std::string meant;
  for (const Command& c : Commands())
    if (Distance(word, c.name) <= 2) meant = c.name;
  // A word of its own comes before one that is spelt like ours.
  for (const UsualWord& usual : kUsualWords)
    if (word == usual.word) meant = usual.ours;
  return meant.empty() ? "`sonde help` lists them"
                       : "did you mean `sonde " + meant + "`?";
}

int Main(const Args& args) {
  if (args.size() == 2 && args[0] == "help") return Main({args[1], "--help"});
  if (args.empty() || args[0] == "help" || args[0] == "--help" ||
      args[0] == "-h")
    return Help();
  if (args[0] == "--version" || args[0] == "version") {
    std::printf("sonde %s\n", kSondeVersion);
    return 0;
  }
  for (const Command& c : Commands()) {
    if (args[0] != c.name) continue;
    const auto code = c.run({args.begin() + 1, args.end()});
    return code.ok() ? code.value() : Fail(code.error());
  }
  return Fail({Error::Kind::kUsage, "no command called '" + args[0] + "'",
               HintFor(args[0])});
}

}  // namespace
}  // namespace sonde

int main(int argc, char** argv) {
  const int code = sonde::Main({argv + 1, argv + argc});
  // What did not get out was not said.
  if (std::cout.flush() && std::fflush(stdout) == 0 && !std::ferror(stdout))
    return code;
  std::fputs("sonde: standard output: cannot be written\n", stderr);
  return code == 0 ? 1 : code;
}

#include "cli/record_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "base/text.h"
#include "base/time.h"
#include "collect/session/gatherers.h"

namespace sonde {
namespace {

constexpr int64_t kNsPerMinute = 60 * kNsPerSec;
constexpr char kAuto[] = "auto";

Error Wrong(const std::string& verb, const std::string& what,
            std::string hint) {
  return {Error::Kind::kUsage, verb + ": " + what, std::move(hint)};
}

Result<SessionLife> LifeOf(const RecordArgs& args, const std::string& verb) {
  SessionLife life;
  if (!args.time.empty()) {
    const auto ns = ParseDuration(args.time, kNsPerMinute);
    constexpr char kHint[] =
        "--for 30m, --for 90s or --for 2h; a plain number is minutes";
    if (!ns)
      return Wrong(verb, "--for is a time, not '" + Printable(args.time) + "'",
                   kHint);
    if (*ns <= 0)
      return Wrong(verb,
                   "--for " + Printable(args.time) + " would record nothing",
                   kHint);
    life.for_ns = *ns;
  }
  if (!args.delay.empty() && args.delay != kAuto) {
    // Without a unit some would mean seconds and others minutes.
    const auto ns = ParseDuration(args.delay, 0);
    if (ns && *ns <= 0 &&
        std::isalpha(static_cast<unsigned char>(args.delay.back())))
      return Wrong(verb, "--delay " + Printable(args.delay) + " is no delay",
                   "leave it out to record from the start");
    if (!ns || *ns <= 0)
      return Wrong(verb,
                   "--delay is a time with its unit, not '" +
                       Printable(args.delay) + "'",
                   "--delay 90s, --delay 2m or --delay auto");
    life.delay_ns = *ns;
  }
  if (!args.hang.empty()) {
    const auto ns = ParseDuration(args.hang, 0);
    if (!ns || *ns < kNsPerSec)
      return Wrong(verb,
                   "--hang is a time of a second at least, with its unit, not "
                   "'" +
                       Printable(args.hang) + "'",
                   "--hang 60s or --hang 5m");
    life.hang_ns = *ns;
  }
  if (life.for_ns > 0 && life.delay_ns >= life.for_ns)
    return Wrong(verb,
                 "--delay " + Printable(args.delay) + " is not shorter than " +
                     "--for " + Printable(args.time) +
                     ": nothing would be recorded",
                 "--for counts from the start, with the delay in it");
  if (!args.stop_file.empty()) {
    std::error_code failure;
    // Whatever links lead to it, others may wait for the same one.
    const auto path = std::filesystem::weakly_canonical(
        std::filesystem::absolute(args.stop_file, failure).parent_path(),
        failure);
    if (failure)
      return Error{Error::Kind::kIo, verb + ": --stop-file " +
                                         Printable(args.stop_file) + ": " +
                                         failure.message()};
    life.stop_file =
        (path / std::filesystem::path(args.stop_file).filename()).string();
  }
  return life;
}

// The way to sample stacks that was asked for, if it works here: who asks for
// one does not want another.
Result<StacksBy> StacksByOf(const RecordArgs& args, const std::string& verb) {
  if (args.stacks == "off")
    return Error{Error::Kind::kUsage,
                 verb + ": --stacks-by goes with stacks, and they are off"};
  struct Way {
    StacksBy by;
    const char* source;  // of `sonde doctor`
  };
  constexpr Way kWays[] = {{StacksBy::kProc, "stacks"},
                           {StacksBy::kPerf, "native stacks"},
                           {StacksBy::kBpf, "exact Python stacks"}};
  for (const Way& way : kWays) {
    if (args.stacks_by != NameOf(way.by)) continue;
    for (const SourceInfo* const source : Sources()) {
      if (std::string_view(source->name) != way.source) continue;
      if (const SourceState state = source->check(); !state.works)
        return Error{Error::Kind::kUnsupported,
                     fmt::format("{}: --stacks-by {} does not work here: {}",
                                 verb, args.stacks_by, state.why),
                     state.cure};
    }
    return way.by;
  }
  return Wrong(verb,
               "--stacks-by is proc, perf or bpf, not '" +
                   Printable(args.stacks_by) + "'",
               "without it, the best way that works here is taken");
}

// Whether the word behind this option is its value.
bool TakesValue(const CLI::App& app, const std::string& word) {
  const CLI::Option* const option = app.get_option_no_throw(word);
  return option != nullptr && option->get_items_expected_max() > 0;
}

std::optional<std::string> UnknownOption(const Args& options,
                                         const CLI::App& app) {
  for (size_t i = 0; i < options.size(); ++i) {
    const std::string& word = options[i];
    const std::string name = word.starts_with("--")
                                 ? word.substr(0, word.find('='))
                                 : word.substr(0, 2);
    if (app.get_option_no_throw(name) == nullptr) return Printable(name, 60);
    if (TakesValue(app, word)) ++i;
  }
  return std::nullopt;
}

}  // namespace

RecordWords SplitWords(const Args& args, const CLI::App& app) {
  size_t end = 0;  // of the options
  while (end < args.size() && args[end].size() > 1 && args[end][0] == '-' &&
         args[end] != "--")
    end += TakesValue(app, args[end]) ? 2 : 1;
  const auto at =
      args.begin() + static_cast<ptrdiff_t>(std::min(end, args.size()));
  const bool marked = at != args.end() && *at == "--";
  RecordWords out{{args.begin(), at}, {marked ? at + 1 : at, args.end()}, {}};
  out.unknown = UnknownOption(out.options, app);
  return out;
}

void AddRecordOptions(CLI::App& app, RecordArgs& args) {
  app.add_option("-o,--output", args.output);
  app.add_option("--rate", args.rate_hz);
  app.add_option("--stacks", args.stacks);
  app.add_option("--stacks-by", args.stacks_by);
  app.add_option("--max-size", args.max_size);
  app.add_option("-t,--for", args.time);
  app.add_option("--delay", args.delay);
  app.add_option("--stop-file", args.stop_file);
  app.add_option("--hang", args.hang);
  app.add_flag("--force", args.force);
  app.add_flag("--quiet", args.quiet);
  app.add_flag("--args", args.all_args);
  app.add_flag("--env", args.environment);
}

Result<SessionOptions> CheckRecordArgs(const RecordArgs& args,
                                       const std::string& verb) {
  SessionOptions options;
  if (!(args.rate_hz >= 0.1 && args.rate_hz <= 1000))
    return Wrong(verb, "--rate is from 0.1 to 1000 Hz",
                 "without it, 10 samples a second are taken");
  if (!args.max_size.empty()) {
    const auto bytes = ParseBytes(args.max_size);
    if (!bytes || *bytes < TraceWriter::kMinMaxBytes)
      return Wrong(verb,
                   "--max-size is a size of at least 256k, not '" +
                       Printable(args.max_size) + "'",
                   "--max-size 500M");
    options.max_bytes = *bytes;
  }
  TRY(options.life, LifeOf(args, verb));
  if (args.stacks != "off") {
    char* end = nullptr;
    const double hz = std::strtod(args.stacks.c_str(), &end);
    if (*end != '\0' || !(hz >= 1 && hz <= 1000))
      return Wrong(verb,
                   "--stacks is from 1 to 1000 Hz, or off, not '" +
                       Printable(args.stacks) + "'",
                   "--stacks 199");
    options.recording.stacks_hz = hz;
  }
  if (!args.stacks_by.empty()) {
    TRY(options.recording.stacks_by, StacksByOf(args, verb));
  }
  options.recording.rate_hz = args.rate_hz;
  options.recording.find_steady = args.delay == kAuto;
  options.recording.all_args = args.all_args;
  options.recording.environment_values = args.environment;
  options.replace = args.force;
  return options;
}

}  // namespace sonde

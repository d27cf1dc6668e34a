#include "report/head.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "base/text.h"

namespace sonde {
namespace {

// "SIGSEGV", or "signal 77" if it has no name.
std::string SignalName(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name != nullptr ? fmt::format("SIG{}", name)
                         : fmt::format("signal {}", number);
}

// `exit` is "exit 2" or "signal 11".
Lines FailureLines(std::string_view exit) {
  const size_t space = exit.find(' ');
  if (space == std::string_view::npos) return {};
  const std::string_view digits = exit.substr(space + 1);
  int code = 0;
  const auto [end, failure] =
      std::from_chars(digits.data(), digits.data() + digits.size(), code);
  if (failure != std::errc() || end != digits.data() + digits.size() ||
      code <= 0)
    return {};
  if (exit.starts_with("exit "))
    return {fmt::format("The command failed (exit {}).", code)};
  if (exit.starts_with("signal "))
    return {fmt::format("The command was killed by {}.", SignalName(code))};
  return {};
}

}  // namespace

Lines HeadLines(const Report& report) {
  Lines out = FailureLines(report.facts.store->Meta("exit"));
  for (const Loss& loss : report.losses) {
    if (loss.reason != "disk-full") continue;
    Append(out, Wrap("", fmt::format(
                             "The disk became full: the recording ends after "
                             "{}.",
                             FormatDuration(report.facts.run.wall_ns))));
    break;
  }
  return out;
}

}  // namespace sonde

#include "analyze/facts/command_words.h"

#include <nlohmann/json.hpp>
#include <span>

#include "base/shell_word.h"

namespace sonde {
namespace {

constexpr size_t kMaxChars = 120;

std::string ForShell(std::span<const std::string> words, const char* unknown) {
  std::string out;
  for (const std::string& word : words) {
    out += out.empty() ? "" : " ";
    out += ShellWord(word, kMaxChars + 1);
    if (out.size() > kMaxChars) return unknown;
  }
  return out.empty() ? unknown : out;
}

}  // namespace

std::vector<std::string> CommandWords(const Store& store) {
  // What is not what it should be is left out: the trace may come from
  // anywhere.
  const auto json = nlohmann::json::parse(store.Meta("command"), nullptr,
                                          /*allow_exceptions=*/false);
  std::vector<std::string> out;
  if (!json.is_array()) return out;
  for (const auto& word : json)
    if (word.is_string()) out.push_back(word.get<std::string>());
  return out;
}

std::string CommandForShell(const Store& store) {
  return ForShell(CommandWords(store), "COMMAND");
}

bool IsPython(std::string_view cmdline) {
  std::string_view program = cmdline.substr(0, cmdline.find(' '));
  program.remove_prefix(program.rfind('/') + 1);  // npos + 1 is 0
  return program.starts_with("python") || program.starts_with("pypy");
}

std::string MemoryToolFor(const Store& store, std::string_view cmdline) {
  const std::vector<std::string> words = CommandWords(store);
  const bool direct = !words.empty() && IsPython(words[0]);
  if (!direct && !IsPython(cmdline))
    return "heaptrack " + CommandForShell(store);
  // Options of the interpreter are none of memray's, but for these two.
  const bool script =
      direct && words.size() > 1 &&
      (!words[1].starts_with('-') || words[1] == "-m" || words[1] == "-c");
  return "memray run --native " +
         (script ? ForShell(std::span(words).subspan(1), "SCRIPT")
                 : std::string("SCRIPT")) +
         ", or tracemalloc in the program";
}

}  // namespace sonde

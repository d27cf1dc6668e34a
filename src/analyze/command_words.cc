#include "analyze/command_words.h"

#include <nlohmann/json.hpp>

#include "base/shell_word.h"

namespace sonde {
namespace {

constexpr size_t kMaxChars = 120;

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
  std::string out;
  for (const std::string& word : CommandWords(store)) {
    out += out.empty() ? "" : " ";
    out += ShellWord(word, kMaxChars + 1);
    if (out.size() > kMaxChars) return "COMMAND";
  }
  return out.empty() ? "COMMAND" : out;
}

}  // namespace sonde

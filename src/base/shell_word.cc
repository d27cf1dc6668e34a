#include "base/shell_word.h"

#include <algorithm>

#include "base/text.h"

namespace sonde {

std::string ShellWord(std::string_view text, size_t max_chars) {
  const std::string safe = Printable(text, max_chars);
  const bool plain = std::all_of(safe.begin(), safe.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') ||
           std::string_view("-_./:+=,@%").find(c) != std::string_view::npos;
  });
  if (plain && !safe.empty()) return safe;
  std::string out = "'";
  for (const char c : safe) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

}  // namespace sonde

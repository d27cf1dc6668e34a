#include "base/shell_word.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace sonde {

namespace {

// $'...', in which bash takes \n and \x1b for what they mean.
std::string WithEscapes(std::string_view text) {
  std::string out = "$'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (byte < 0x20 || byte >= 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + "'";
}

}  // namespace

std::string ShellWord(std::string_view text, size_t max_chars) {
  const bool control = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (control && text.size() <= max_chars) return WithEscapes(text);
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

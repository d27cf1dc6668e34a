#include "collect/symbols/demangle.h"

#include <cxxabi.h>
#include <stdlib.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace sonde {
namespace {

bool IsLowerHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

// Rust ends its paths with "::h" and 16 digits, which say nothing to people.
std::optional<std::string_view> WithoutHash(std::string_view path) {
  constexpr std::string_view kMark = "::h";
  constexpr size_t kDigits = 16;
  if (path.size() <= kMark.size() + kDigits) return std::nullopt;
  const std::string_view end =
      path.substr(path.size() - kMark.size() - kDigits);
  if (!end.starts_with(kMark) ||
      !std::all_of(end.begin() + kMark.size(), end.end(), IsLowerHex))
    return std::nullopt;
  return path.substr(0, path.size() - end.size());
}

// What Rust writes for characters that linkers would not take: "$LT$", "..".
std::string Unescaped(std::string_view path) {
  struct Escape {
    std::string_view text, meaning;
  };
  constexpr Escape kEscapes[] = {
      {"$LT$", "<"},  {"$GT$", ">"},  {"$RF$", "&"},  {"$BP$", "*"},
      {"$C$", ","},   {"$LP$", "("},  {"$RP$", ")"},  {"$SP$", "@"},
      {"$u20$", " "}, {"$u27$", "'"}, {"$u5b$", "["}, {"$u5d$", "]"},
      {"$u7b$", "{"}, {"$u7d$", "}"}, {"$u7e$", "~"}, {"..", "::"}};
  std::string out;
  while (!path.empty()) {
    const auto* const found =
        std::find_if(std::begin(kEscapes), std::end(kEscapes),
                     [&](const Escape& e) { return path.starts_with(e.text); });
    // A part that begins with an escape has an underscore before it.
    if (path.starts_with("_$") && (out.empty() || out.ends_with("::"))) {
      path.remove_prefix(1);
    } else if (found != std::end(kEscapes)) {
      out += found->meaning;
      path.remove_prefix(found->text.size());
    } else {
      out += path.front();
      path.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace

std::string Demangled(std::string_view linker_name) {
  std::string name(linker_name);
  if (!linker_name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), ::free);
  if (!text || status != 0) return name;
  const std::string_view path = text.get();
  const auto rust = WithoutHash(path);
  return rust ? Unescaped(*rust) : std::string(path);
}

}  // namespace sonde

#include "export/json_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "base/text.h"

namespace sonde {
namespace {

constexpr std::array<bool, 256> PlainBytes() {
  std::array<bool, 256> plain = {};
  for (int c = 0x20; c < 0x7f; ++c) plain[static_cast<size_t>(c)] = true;
  // '/' is plain unless it ends a tag; looked at where it appears.
  plain['"'] = plain['\\'] = plain['/'] = false;
  return plain;
}
constexpr std::array<bool, 256> kPlain = PlainBytes();

// Two- and three-byte characters that are valid but must not be seen raw.
bool NeedsEscape(uint32_t code) {
  return (code >= 0x80 && code < 0xa0) || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

uint32_t CodePoint(std::string_view text) {
  const auto at = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(text[i]));
  };
  if (text.size() == 2) return (at(0) & 0x1f) << 6 | (at(1) & 0x3f);
  if (text.size() == 3)
    return (at(0) & 0x0f) << 12 | (at(1) & 0x3f) << 6 | (at(2) & 0x3f);
  return 0x10000;
}

void AppendEscape(uint32_t code, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  const char escape[] = {'\\',
                         'u',
                         kHex[code >> 12 & 15],
                         kHex[code >> 8 & 15],
                         kHex[code >> 4 & 15],
                         kHex[code & 15]};
  out.append(escape, sizeof(escape));
}

}  // namespace

bool IsPlainJson(std::string_view text) {
  if (text.size() > kMaxJsonText) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (kPlain[c]) continue;
    if (c != '/' || (i > 0 && text[i - 1] == '<')) return false;
  }
  return true;
}

void AppendJson(std::string_view text, std::string& out) {
  const bool cut = text.size() > kMaxJsonText;
  if (cut) text = text.substr(0, kMaxJsonText);
  char before = 0;
  while (!text.empty()) {
    const unsigned char c = static_cast<unsigned char>(text[0]);
    if (c < 0x80) {
      if (kPlain[c] || (c == '/' && before != '<')) {
        out += text[0];
      } else if (c == '"' || c == '\\' || c == '/') {
        out += '\\';
        out += text[0];
      } else if (c == '\n') {
        out += "\\n";
      } else if (c == '\t') {
        out += "\\t";
      } else {
        AppendEscape(c, out);
      }
      before = text[0];
      text.remove_prefix(1);
      continue;
    }
    before = 0;
    const size_t length = Utf8Length(text);
    if (length == 0) {
      // The cut may have hit a character in the middle; so it shows.
      out += "\\ufffd";
      text.remove_prefix(1);
      continue;
    }
    const uint32_t code = CodePoint(text.substr(0, length));
    if (NeedsEscape(code))
      AppendEscape(code, out);
    else
      out += text.substr(0, length);
    text.remove_prefix(length);
  }
  if (cut) out += "...";
}

void AppendQuoted(std::string_view text, std::string& out) {
  out += '"';
  AppendJson(text, out);
  out += '"';
}

void AppendNumber(double value, std::string& out) {
  if (std::isnan(value)) {
    out += "\"NaN\"";
  } else if (std::isinf(value)) {
    out += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else {
    char digits[40];
    out.append(digits, std::to_chars(digits, digits + 40, value).ptr);
  }
}

}  // namespace sonde

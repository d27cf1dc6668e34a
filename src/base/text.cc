#include "base/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstddef>

namespace sonde {
namespace {

// Three significant digits: 1.23, 12.3, 123.
std::string ThreeDigits(double value) {
  const double size = std::fabs(value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

// A number in front of `text`, which is moved behind it.
std::optional<double> TakeNumber(std::string_view& text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(
      text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (failure != std::errc() || !std::isfinite(value) || value < 0)
    return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

std::optional<int64_t> Scaled(double value, double scale) {
  const double result = value * scale;
  if (!(result < 9e18)) return std::nullopt;
  return static_cast<int64_t>(std::llround(result));
}

}  // namespace

size_t Utf8Length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char c = at(0);
  if (c < 0x80) return 1;
  const size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
  if (c < 0xc2 || c > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((at(i) & 0xc0) != 0x80) return 0;
  if (c == 0xe0 && at(1) < 0xa0) return 0;
  if (c == 0xed && at(1) > 0x9f) return 0;
  if (c == 0xf0 && at(1) < 0x90) return 0;
  if (c == 0xf4 && at(1) > 0x8f) return 0;
  return length;
}

std::string FormatDuration(int64_t ns) {
  const double size = std::fabs(static_cast<double>(ns));
  const double value = static_cast<double>(ns);
  if (size >= 1e9) return ThreeDigits(value / 1e9) + " s";
  if (size >= 1e6) return ThreeDigits(value / 1e6) + " ms";
  if (size >= 1e3) return ThreeDigits(value / 1e3) + " us";
  return fmt::format("{} ns", ns);
}

std::string FormatBytes(double bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  while (std::fabs(bytes) >= 1000 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} B", bytes);
  return ThreeDigits(bytes) + " " + kUnits[unit];
}

std::string FormatShare(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

std::string Printable(std::string_view text, size_t max_chars) {
  std::string out;
  size_t chars = 0;
  while (!text.empty()) {
    if (chars++ == max_chars) return out + "...";
    const size_t length = Utf8Length(text);
    const unsigned char c = static_cast<unsigned char>(text[0]);
    // C1 controls (U+0080..U+009F) are c2 80..c2 9f; U+202A..U+202E and
    // U+2066..U+2069 turn the direction of writing.
    const bool c1 =
        length == 2 && c == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    const bool turns =
        length == 3 &&
        (text.substr(0, 2) == "\xe2\x80" || text.substr(0, 2) == "\xe2\x81") &&
        ((text[1] == '\x80' && text[2] >= '\xaa' && text[2] <= '\xae') ||
         (text[1] == '\x81' && text[2] >= '\xa6' && text[2] <= '\xa9'));
    // U+FFFE and U+FFFF are no characters, and no XML may have them.
    const bool none =
        length == 3 && text.substr(0, 2) == "\xef\xbf" && text[2] >= '\xbe';
    if (length == 0 || c < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", c);
      text.remove_prefix(1);
    } else if (c1 || turns || none) {
      for (size_t i = 0; i < length; ++i)
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
      text.remove_prefix(length);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

std::optional<int64_t> ParseDuration(std::string_view text,
                                     int64_t bare_unit_ns) {
  const auto value = TakeNumber(text);
  if (!value) return std::nullopt;
  if (text.empty()) return Scaled(*value, static_cast<double>(bare_unit_ns));
  if (text == "ns") return Scaled(*value, 1);
  if (text == "us") return Scaled(*value, 1e3);
  if (text == "ms") return Scaled(*value, 1e6);
  if (text == "s") return Scaled(*value, 1e9);
  if (text == "m" || text == "min") return Scaled(*value, 60e9);
  if (text == "h") return Scaled(*value, 3600e9);
  return std::nullopt;
}

std::optional<int64_t> ParseBytes(std::string_view text) {
  const auto value = TakeNumber(text);
  if (!value) return std::nullopt;
  if (text.empty() || text == "B") return Scaled(*value, 1);
  const char prefix = text[0] == 'K' ? 'k' : text[0];
  const size_t power = std::string_view("kMGT").find(prefix);
  const std::string_view rest = text.substr(1);
  if (power == std::string_view::npos ||
      (rest != "" && rest != "B" && rest != "iB"))
    return std::nullopt;
  return Scaled(*value, std::ldexp(1, 10 * (static_cast<int>(power) + 1)));
}

}  // namespace sonde

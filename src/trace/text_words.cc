#include "trace/text_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "trace/format.h"

namespace sonde {
namespace {

constexpr uint64_t kPlainNan = 0x7ff8000000000000;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// What ends a word that is not in quotes.
bool EndsWord(char c) {
  return IsSpace(c) || c == '"' || c == '=' || c == ',' || c == '{' ||
         c == '}' || c == '#';
}

bool IsSimple(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/' ||
         c == ':' || c == '+' || c == '-' || c == '@' || c == '%';
}

template <typename T, typename... Base>
std::optional<T> Whole(std::string_view word, Base... base) {
  T value{};
  const auto [end, failure] =
      std::from_chars(word.data(), word.data() + word.size(), value, base...);
  if (failure != std::errc() || end != word.data() + word.size())
    return std::nullopt;
  return value;
}

// Nanoseconds of one of the unit at the end of `word`, which is cut off.
int64_t TakeTimeUnit(std::string_view& word) {
  for (const auto& [unit, ns] : {std::pair<std::string_view, int64_t>{"ns", 1},
                                 {"us", 1'000},
                                 {"ms", 1'000'000},
                                 {"s", 1'000'000'000}}) {
    if (!word.ends_with(unit)) continue;
    word.remove_suffix(unit.size());
    return ns;
  }
  return 1;
}

}  // namespace

std::string TextQuoted(std::string_view text) {
  // Valid UTF-8 that no terminal obeys stays readable.
  std::string visible;
  for (char c : text)
    if (!IsControl(c)) visible += c;
  const bool readable = Printable(visible, SIZE_MAX) == visible;
  std::string out = "\"";
  for (char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (IsControl(c) || (byte >= 0x80 && !readable))
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + '"';
}

std::string TextWord(std::string_view text) {
  const bool simple =
      !text.empty() && std::all_of(text.begin(), text.end(), IsSimple);
  return simple ? std::string(text) : TextQuoted(text);
}

std::string TextRest(std::string_view text) {
  const bool plain = !text.empty() && text[0] != '"' && text[0] != ' ' &&
                     text.back() != ' ' &&
                     text.find('#') == std::string_view::npos &&
                     Printable(text, SIZE_MAX) == text;
  return plain ? std::string(text) : TextQuoted(text);
}

std::string TextTime(int64_t ns) {
  if (ns == 0) return "0";
  if (ns % 1'000'000'000 == 0) return fmt::format("{}s", ns / 1'000'000'000);
  if (ns % 1'000'000 == 0) return fmt::format("{}ms", ns / 1'000'000);
  if (ns % 1'000 == 0) return fmt::format("{}us", ns / 1'000);
  return fmt::format("{}", ns);
}

std::string TextDouble(double value) {
  if (std::isnan(value)) {
    const uint64_t bits = std::bit_cast<uint64_t>(value);
    return bits == kPlainNan ? "nan" : fmt::format("nan:0x{:016x}", bits);
  }
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".ein") == std::string::npos) text += ".0";
  return text;
}

std::optional<int64_t> ParseTextTime(std::string_view word) {
  const int64_t unit = TakeTimeUnit(word);
  const bool negative = word.starts_with('-');
  if (negative) word.remove_prefix(1);
  const size_t dot = word.find('.');
  const std::string_view whole = word.substr(0, dot);
  std::string_view part =
      dot == std::string_view::npos ? std::string_view() : word.substr(dot + 1);
  if (whole.empty() || (dot != std::string_view::npos && part.empty()))
    return std::nullopt;
  const auto digits = Whole<uint64_t>(whole);
  if (!digits || *digits > static_cast<uint64_t>(kMaxTimeNs / unit))
    return std::nullopt;
  int64_t ns = static_cast<int64_t>(*digits) * unit;
  int64_t scale = unit;
  for (char c : part) {
    if (c < '0' || c > '9') return std::nullopt;
    if (scale == 1 && c != '0') return std::nullopt;
    scale = std::max<int64_t>(scale / 10, 1);
    ns += (c - '0') * scale;
  }
  if (ns > kMaxTimeNs) return std::nullopt;
  return negative ? -ns : ns;
}

std::optional<int64_t> ParseTextInt(std::string_view word) {
  return Whole<int64_t>(word);
}

std::optional<uint64_t> ParseTextUnsigned(std::string_view word) {
  if (word.starts_with("0x")) return Whole<uint64_t>(word.substr(2), 16);
  return Whole<uint64_t>(word);
}

std::optional<double> ParseTextDouble(std::string_view word) {
  if (word.starts_with("nan:0x")) {
    const auto bits = Whole<uint64_t>(word.substr(6), 16);
    if (!bits || !std::isnan(std::bit_cast<double>(*bits))) return std::nullopt;
    return std::bit_cast<double>(*bits);
  }
  if (word == "nan") return std::bit_cast<double>(kPlainNan);
  if (word == "inf") return HUGE_VAL;
  if (word == "-inf") return -HUGE_VAL;
  const auto value = Whole<double>(word);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<double> ParseTextQuantity(std::string_view word) {
  for (const auto& [unit, size] :
       {std::pair<std::string_view, double>{"KiB", 1024},
        {"MiB", 1024.0 * 1024},
        {"GiB", 1024.0 * 1024 * 1024},
        {"kB", 1e3},
        {"MB", 1e6},
        {"GB", 1e9},
        {"B", 1}}) {
    if (!word.ends_with(unit)) continue;
    word.remove_suffix(unit.size());
    const auto value = ParseTextDouble(word);
    return value ? std::optional(*value * size) : std::nullopt;
  }
  const auto scale = static_cast<double>(TakeTimeUnit(word));
  const auto value = ParseTextDouble(word);
  if (!value) return std::nullopt;
  return scale == 1 ? *value : *value * scale;
}

void TextLine::SkipSpace() {
  while (!rest_.empty() && IsSpace(rest_[0])) rest_.remove_prefix(1);
}

bool TextLine::AtEnd() {
  SkipSpace();
  return rest_.empty() || rest_[0] == '#';
}

bool TextLine::Take(char c) {
  if (rest_.empty() || rest_[0] != c) return false;
  rest_.remove_prefix(1);
  return true;
}

std::string_view TextLine::PeekWord() const {
  size_t size = 0;
  while (size < rest_.size() && !EndsWord(rest_[size])) ++size;
  return rest_.substr(0, size);
}

Result<std::string_view> TextLine::Word(std::string_view what) {
  SkipSpace();
  const std::string_view word = PeekWord();
  if (word.empty()) return Expected(what);
  rest_.remove_prefix(word.size());
  return word;
}

Result<std::string> TextLine::Quoted() {
  const TextLine start = *this;
  std::string out;
  rest_.remove_prefix(1);
  while (!rest_.empty() && rest_[0] != '"') {
    char c = rest_[0];
    rest_.remove_prefix(1);
    if (c == '\\') {
      if (rest_.empty()) break;
      c = rest_[0];
      rest_.remove_prefix(1);
      if (c == 'n') {
        c = '\n';
      } else if (c == 't') {
        c = '\t';
      } else if (c == 'x') {
        const auto byte = Whole<uint8_t>(rest_.substr(0, 2), 16);
        if (rest_.size() < 2 || !byte)
          return Expected("two hexadecimal digits after \\x");
        c = static_cast<char>(*byte);
        rest_.remove_prefix(2);
      } else if (c != '"' && c != '\\') {
        return start.Expected("one of \\n \\t \\\" \\\\ \\xNN in the string");
      }
    }
    out += c;
  }
  if (!Take('"')) return start.Expected("a closing quote");
  if (out.size() > kMaxTextString)
    return start.Expected("a string of at most 65536 bytes");
  return out;
}

Result<std::string> TextLine::String() {
  SkipSpace();
  if (!rest_.empty() && rest_[0] == '"') return Quoted();
  const TextLine start = *this;
  TRY(const std::string_view word, Word("a word or a string in quotes"));
  if (word.size() > kMaxTextString)
    return start.Expected("a string of at most 65536 bytes");
  return std::string(word);
}

Result<int64_t> TextLine::Time() {
  SkipSpace();
  const auto time = ParseTextTime(PeekWord());
  if (!time) return Expected("a time like 12ms (ns, us, ms, s)");
  rest_.remove_prefix(PeekWord().size());
  return *time;
}

Result<int64_t> TextLine::Int(int64_t min, int64_t max) {
  SkipSpace();
  const auto value = ParseTextInt(PeekWord());
  if (!value || *value < min || *value > max)
    return Expected(fmt::format("a number from {} to {}", min, max));
  rest_.remove_prefix(PeekWord().size());
  return *value;
}

Result<uint64_t> TextLine::Unsigned(uint64_t max) {
  SkipSpace();
  const auto value = ParseTextUnsigned(PeekWord());
  if (!value || *value > max)
    return Expected(fmt::format("a number from 0 to {}", max));
  rest_.remove_prefix(PeekWord().size());
  return *value;
}

Result<std::string> TextLine::Rest() {
  SkipSpace();
  if (!rest_.empty() && rest_[0] == '"') return Quoted();
  std::string_view out = rest_;
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i] == '#' && (i == 0 || IsSpace(out[i - 1])))
      out = out.substr(0, i);
  while (!out.empty() && IsSpace(out.back())) out.remove_suffix(1);
  if (out.size() > kMaxTextString)
    return Expected("a string of at most 65536 bytes");
  rest_ = {};
  return std::string(out);
}

Status TextLine::Fields(std::span<const Field> fields) {
  while (!AtEnd()) {
    const std::string_view key = PeekWord();
    const bool flag = rest_.substr(key.size(), 1) != "=";
    const Field* found = nullptr;
    for (const Field& field : fields)
      if (field.key == key && field.flag == flag) found = &field;
    if (!found) {
      std::string known;
      for (const Field& field : fields)
        known += fmt::format(" {}{}", field.key, field.flag ? "" : "=");
      return Expected("one of" + known);
    }
    rest_.remove_prefix(key.size() + (flag ? 0 : 1));
    TRY_OK(found->take());
    // A value ends where a space is: a=1b=2 is a slip, not two fields.
    if (!rest_.empty() && !IsSpace(rest_[0])) return Expected("a space");
  }
  return Ok();
}

Status TextLine::End() {
  if (!AtEnd()) return Expected("the end of the line");
  return Ok();
}

Error TextLine::Expected(std::string_view what) const {
  TextLine here = *this;
  here.SkipSpace();
  std::string_view found = here.PeekWord();
  if (found.empty()) found = here.rest_.substr(0, 1);
  std::string error =
      fmt::format("{}:{}: expected {}, found ", file_, number_, what);
  if (found.empty())
    error += "the end of the line";
  else
    error += fmt::format("'{}'", Printable(found, 40));
  return {Error::Kind::kCorrupt, error};
}

}  // namespace sonde

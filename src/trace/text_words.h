// The words of the text form of a trace: how a value is spelled, and read
// again. docs/trace-format.md has the grammar.

#ifndef SONDE_TRACE_TEXT_WORDS_H_
#define SONDE_TRACE_TEXT_WORDS_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sonde {

inline constexpr std::string_view kTextMagic = "sonde-text";
inline constexpr size_t kMaxTextString = 64 << 10;

// `text` as it is if it is a simple word, else in quotes with C escapes. Every
// byte survives.
std::string TextWord(std::string_view text);
// The same, but always in quotes.
std::string TextQuoted(std::string_view text);
// For the rest of a line: as it is if TextLine::Rest() gives it back so, else
// in quotes.
std::string TextRest(std::string_view text);
// "12ms": the largest unit that divides it.
std::string TextTime(int64_t ns);
// Shortest form that reads back the same; never looks like an integer. NaNs
// keep their bits.
std::string TextDouble(double value);

// "1.5ms" to nanoseconds; a bare number is nanoseconds. Nothing if it is no
// time, or one between two nanoseconds, or beyond 126 years.
std::optional<int64_t> ParseTextTime(std::string_view word);
std::optional<int64_t> ParseTextInt(std::string_view word);
std::optional<uint64_t> ParseTextUnsigned(std::string_view word);  // 0x too
std::optional<double> ParseTextDouble(std::string_view word);
// A number with an optional unit: ns us ms s (in ns), B kB MB GB KiB MiB GiB.
// "2MiB" is 2097152, "1.5s" is 1.5e9.
std::optional<double> ParseTextQuantity(std::string_view word);

// Takes one line apart from left to right. Errors name the file, the line, what
// was expected and what stands there.
class TextLine {
 public:
  // One KEY=VALUE, or a bare word that is a flag.
  struct Field {
    std::string_view key;
    std::function<Status()> take;
    bool flag = false;
  };

  TextLine(std::string_view line, const std::string& file, size_t number)
      : rest_(line), file_(file), number_(number) {}

  // Nothing but space and a comment is left.
  bool AtEnd();
  // Takes `c` if it stands here, without space before it.
  bool Take(char c);
  // Up to the next space or punctuation; may be empty.
  std::string_view PeekWord() const;
  Result<std::string> String();
  Result<int64_t> Time();
  Result<int64_t> Int(int64_t min, int64_t max);
  Result<uint64_t> Unsigned(uint64_t max = UINT64_MAX);
  Result<std::string_view> Word(std::string_view what);
  void SkipWord() { rest_.remove_prefix(PeekWord().size()); }
  // A string in quotes, or all that is left without space around it and
  // without a comment.
  Result<std::string> Rest();
  // The fields in any order until the line ends.
  Status Fields(std::span<const Field> fields);
  Status Fields(std::initializer_list<Field> fields) {
    return Fields(std::span(fields.begin(), fields.size()));
  }
  Status End();

  Error Expected(std::string_view what) const;
  size_t number() const { return number_; }

 private:
  void SkipSpace();
  Result<std::string> Quoted();

  std::string_view rest_;
  const std::string& file_;
  size_t number_;
};

}  // namespace sonde

#endif  // SONDE_TRACE_TEXT_WORDS_H_

#ifndef SONDE_COLLECT_PROC_TEXT_SCANNER_H_
#define SONDE_COLLECT_PROC_TEXT_SCANNER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sonde {

// Takes numbers, words and lines off the front of a text of the kernel's. The
// text is hostile: a function that does not find what it should returns false
// or nothing and takes nothing.
class TextScanner {
 public:
  explicit TextScanner(std::string_view text) : text_(text) {}

  std::string_view rest() const { return text_; }
  bool done() const { return text_.empty(); }

  void SkipSpaces() {
    size_t i = 0;
    while (i < text_.size() && (text_[i] == ' ' || text_[i] == '\t')) ++i;
    text_.remove_prefix(i);
  }

  // A decimal number behind spaces. Too large is not a number.
  bool Number(uint64_t* value) {
    size_t i = 0;
    while (i < text_.size() && (text_[i] == ' ' || text_[i] == '\t')) ++i;
    const size_t first = i;
    uint64_t sum = 0;
    for (; i < text_.size(); ++i) {
      const unsigned digit = static_cast<unsigned char>(text_[i]) - '0';
      if (digit > 9) break;
      if (__builtin_mul_overflow(sum, uint64_t{10}, &sum) ||
          __builtin_add_overflow(sum, uint64_t{digit}, &sum))
        return false;
    }
    if (i == first) return false;
    *value = sum;
    text_.remove_prefix(i);
    return true;
  }

  // Characters up to the next space, tab or line end, behind spaces.
  std::string_view Word() {
    SkipSpaces();
    size_t i = 0;
    while (i < text_.size() && text_[i] != ' ' && text_[i] != '\t' &&
           text_[i] != '\n')
      ++i;
    const std::string_view word = text_.substr(0, i);
    text_.remove_prefix(i);
    return word;
  }

  bool SkipWords(int count) {
    for (int i = 0; i < count; ++i)
      if (Word().empty()) return false;
    return true;
  }

  // Everything up to the line end, which is taken too.
  std::string_view Line() {
    const size_t end = text_.find('\n');
    const std::string_view line = text_.substr(0, end);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    return line;
  }

 private:
  std::string_view text_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_PROC_TEXT_SCANNER_H_

#include "trace/text_row_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "trace/text_words.h"

namespace sonde {

void TextRowWriter::Word(std::string_view key, std::string_view word) {
  ((text_ += ' ') += key) += '=';
  text_ += word;
}

std::string_view TextRowWriter::StringOf(uint32_t id) const {
  const std::string* const text = rows_.strings.Find(id);
  return text == nullptr ? std::string_view()
                         : std::string_view(*text).substr(0, kMaxTextString);
}

void TextRowWriter::Number(std::string_view key, int64_t v) {
  if (key == "exit_code") {
    if (exit_ == Process::Exit::kRunning)
      text_ += " running";
    else if (exit_ == Process::Exit::kUnknown)
      text_ += " exit=unknown";
    else
      Word(exit_ == Process::Exit::kExited ? "exit" : "signal",
           std::to_string(v));
  } else if (v != 0) {
    Word(key, std::to_string(v));
  }
}

void TextRowWriter::Number(std::string_view key, uint64_t v) {
  if (key == "scope_id") {
    Word("scope", kScopes[static_cast<size_t>(scope_) - 1]);
    if (v != 0) (text_ += ':') += std::to_string(v);
  } else if (v != 0) {
    Word(key, key == "offset" ? fmt::format("0x{:x}", v) : std::to_string(v));
  }
}

void TextRowWriter::Time(std::string_view key, int64_t v, int64_t none) {
  // The text form only knows times within 126 years.
  if (v != none) Word(key, TextTime(std::clamp(v, -kMaxTimeNs, kMaxTimeNs)));
}

void TextRowWriter::String(std::string_view key, uint32_t v) {
  const std::string_view text = StringOf(v);
  // Where these are not said, a reader finds them by other fields.
  const bool must = key == "unit" || key == "source";
  if (!text.empty() || must) Word(key, TextWord(text));
}

void TextRowWriter::Text(std::string_view key, std::string_view v) {
  if (!v.empty()) Word(key, TextQuoted(v.substr(0, kMaxTextString)));
}

void TextRowWriter::Ref(FrameKind kind, std::string_view key, uint32_t v) {
  const auto ids = ids_.find(kind);
  Number(key, uint64_t{ids == ids_.end() ? v : ids->second[v]});
}

}  // namespace sonde

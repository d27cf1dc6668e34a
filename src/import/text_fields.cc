#include "import/text_fields.h"

#include <fmt/format.h>

namespace sonde {

TextLine::Field TimeField(std::string_view key, TextLine& line, int64_t& to) {
  return FieldOf(key, to, [&line] { return line.Time(); });
}

TextLine::Field IntField(std::string_view key, TextLine& line, int64_t& to) {
  return FieldOf(key, to, [&line] { return line.Int(INT64_MIN, INT64_MAX); });
}

TextLine::Field Int32Field(std::string_view key, TextLine& line, int32_t& to) {
  return FieldOf(key, to, [&line] { return line.Int(INT32_MIN, INT32_MAX); });
}

TextLine::Field U32Field(std::string_view key, TextLine& line, uint32_t& to,
                         uint32_t max) {
  return FieldOf(key, to, [&line, max] { return line.Unsigned(max); });
}

TextLine::Field U64Field(std::string_view key, TextLine& line, uint64_t& to) {
  return FieldOf(key, to, [&line] { return line.Unsigned(); });
}

TextLine::Field TextField(std::string_view key, TextLine& line,
                          std::string& to) {
  return FieldOf(key, to, [&line] { return line.String(); });
}

TextLine::Field StringField(std::string_view key, TextLine& line,
                            TraceWriter& writer, uint32_t& to) {
  return FieldOf(key, to, [&line, &writer]() -> Result<uint32_t> {
    TRY(const std::string text, line.String());
    return writer.Intern(text);
  });
}

TextLine::Field FlagField(std::string_view key, uint8_t& flags, uint8_t bit) {
  return {key,
          [&flags, bit] {
            flags |= bit;
            return Ok();
          },
          true};
}

TextLine::Field IdField(std::string_view key, TextLine& line,
                        const TextIds& ids, uint32_t& to) {
  return FieldOf(key, to, [=, &line, &ids] { return Known(line, ids, key); });
}

Result<uint32_t> Known(TextLine& line, const TextIds& ids,
                       std::string_view what) {
  const TextLine start = line;
  TRY(const uint64_t id, line.Unsigned());
  const auto at = ids.find(id);
  if (at == ids.end())
    return start.Expected(fmt::format("a {} that was named above", what));
  return at->second;
}

Result<uint64_t> NewId(TextLine& line, const TextIds& ids) {
  const TextLine start = line;
  TRY(const uint64_t id, line.Unsigned());
  if (ids.contains(id)) return start.Expected("an id that is not in use");
  return id;
}

Result<size_t> Choice(TextLine& line, std::span<const std::string_view> words) {
  for (size_t at = 0; at < words.size(); ++at) {
    if (line.PeekWord() != words[at]) continue;
    line.SkipWord();
    return at;
  }
  std::string known;
  for (std::string_view word : words) (known += ' ') += word;
  return line.Expected("one of" + known);
}

Result<uint32_t> ReadArgs(TextLine& line, TraceWriter& writer) {
  if (!line.Take('{')) return line.Expected("{");
  std::vector<Arg> args;
  while (!line.Take('}')) {
    if (!args.empty() && !line.Take(',')) return line.Expected(", or }");
    Arg arg;
    TRY(const std::string key, line.String());
    arg.key = writer.Intern(key);
    if (!line.Take('=')) return line.Expected("=");
    const std::string_view word = line.PeekWord();
    if (const auto whole = ParseTextInt(word)) {
      arg.int_value = *whole;
    } else if (const auto value = ParseTextDouble(word)) {
      arg.type = Arg::Type::kDouble;
      arg.double_value = *value;
    } else {
      arg.type = Arg::Type::kString;
      TRY(const std::string text, line.String());
      arg.string_value = writer.Intern(text);
    }
    if (arg.type != Arg::Type::kString) line.SkipWord();
    args.push_back(arg);
  }
  return writer.AddArgs(args);
}

}  // namespace sonde

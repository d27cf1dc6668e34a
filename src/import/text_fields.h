// Fields of a line of the text form: each takes one value and stores it.

#ifndef SONDE_IMPORT_TEXT_FIELDS_H_
#define SONDE_IMPORT_TEXT_FIELDS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/text_words.h"
#include "trace/writer.h"

namespace sonde {

// KEY=VALUE, where `read` takes the value from its line and `to` stores it.
// What `read` refers to and `to` must outlive the field.
template <typename To, typename Read>
TextLine::Field FieldOf(std::string_view key, To& to, Read read) {
  return {key, [&to, read]() -> Status {
            TRY(const auto value, read());
            to = static_cast<To>(value);
            return Ok();
          }};
}
// The same for a value of each type. A string becomes its id in `writer`.
TextLine::Field TimeField(std::string_view key, TextLine& line, int64_t& to);
TextLine::Field IntField(std::string_view key, TextLine& line, int64_t& to);
TextLine::Field Int32Field(std::string_view key, TextLine& line, int32_t& to);
TextLine::Field U32Field(std::string_view key, TextLine& line, uint32_t& to,
                         uint32_t max = UINT32_MAX);
TextLine::Field U64Field(std::string_view key, TextLine& line, uint64_t& to);
TextLine::Field TextField(std::string_view key, TextLine& line,
                          std::string& to);
TextLine::Field StringField(std::string_view key, TextLine& line,
                            TraceWriter& writer, uint32_t& to);
// A bare word that sets `bit` of `flags`.
TextLine::Field FlagField(std::string_view key, uint8_t& flags, uint8_t bit);

// Ids as the text has them, and ours.
using TextIds = std::unordered_map<uint64_t, uint32_t>;

// An id of the text, turned into ours.
TextLine::Field IdField(std::string_view key, TextLine& line,
                        const TextIds& ids, uint32_t& to);
Result<uint32_t> Known(TextLine& line, const TextIds& ids,
                       std::string_view what);
// An id that is not in `ids` yet.
Result<uint64_t> NewId(TextLine& line, const TextIds& ids);

// One of `words`, as its place in the list.
Result<size_t> Choice(TextLine& line, std::span<const std::string_view> words);

// {key=1,key=1.5,key="text"}; the id that `writer` gives the set.
Result<uint32_t> ReadArgs(TextLine& line, TraceWriter& writer);

}  // namespace sonde

#endif  // SONDE_IMPORT_TEXT_FIELDS_H_

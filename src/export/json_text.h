// Strings of a trace as JSON: always valid UTF-8, nothing in them that a
// terminal or a script tag would obey.

#ifndef SONDE_EXPORT_JSON_TEXT_H_
#define SONDE_EXPORT_JSON_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace sonde {

// Longer names are cut; no viewer shows more.
inline constexpr size_t kMaxJsonText = 64 << 10;

// `text` may stand between quotes as it is.
bool IsPlainJson(std::string_view text);

// Appends `text` escaped, without quotes. Control characters, marks that turn
// the direction of writing and "</" are escaped, bytes that are not UTF-8
// become U+FFFD. At most 6 * kMaxJsonText + 3 bytes.
void AppendJson(std::string_view text, std::string& out);

// The same with quotes.
void AppendQuoted(std::string_view text, std::string& out);

// A JSON number; what JSON has no number for (NaN, infinity) as a string.
void AppendNumber(double value, std::string& out);

}  // namespace sonde

#endif  // SONDE_EXPORT_JSON_TEXT_H_

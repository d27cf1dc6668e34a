// Words for people: quantities with units, and names that cannot hurt a
// terminal.

#ifndef SONDE_BASE_TEXT_H_
#define SONDE_BASE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sonde {

// "1.50 s", "12.3 ms", "850 us", "12 ns". Three significant digits.
std::string FormatDuration(int64_t ns);

// "1.5 GB", "640 kB", "12 B"; powers of 1000.
std::string FormatBytes(double bytes);

// "41.0 %"; `share` of 1.
std::string FormatShare(double share);

// `text` as valid UTF-8 without control characters: what a terminal would obey,
// and U+FFFE and U+FFFF, which are no characters, become \xNN. At most
// `max_chars` characters, the rest cut with "...".
std::string Printable(std::string_view text, size_t max_chars = 200);

// Bytes of the UTF-8 character that `text` (not empty) begins with; 0 if it is
// none. Overlong forms, surrogates and values over U+10FFFF are none.
size_t Utf8Length(std::string_view text);

// "10", "1.5s", "250ms", "30m", "2h" to nanoseconds; a bare number is in
// `bare_unit_ns`. Nothing if it is none of these, negative or too large.
std::optional<int64_t> ParseDuration(std::string_view text,
                                     int64_t bare_unit_ns);

// "4096", "64k", "10M", "2G" (powers of 1024, an optional B or iB after them).
std::optional<int64_t> ParseBytes(std::string_view text);

}  // namespace sonde

#endif  // SONDE_BASE_TEXT_H_

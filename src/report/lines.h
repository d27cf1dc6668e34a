// Text in lines of at most 80 columns.

#ifndef SONDE_REPORT_LINES_H_
#define SONDE_REPORT_LINES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

inline constexpr size_t kColumns = 80;

using Lines = std::vector<std::string>;

// Characters of valid UTF-8 (a byte that is none counts as one).
size_t ColumnsOf(std::string_view text);

// `text` in at most `columns`, cut with "..." if need be.
std::string Cut(std::string_view text, size_t columns);

// `text` in exactly `columns`: cut, or filled up with spaces on its right or
// left.
std::string PadRight(std::string_view text, size_t columns);
std::string PadLeft(std::string_view text, size_t columns);

// `text` broken at spaces. The first line begins with `lead`, the others with
// as many spaces.
Lines Wrap(std::string_view lead, std::string_view text);

void Append(Lines& out, Lines lines);

// How many of `all` rows are shown where `top` are wanted: one row more costs
// no more than saying that there is one more.
inline size_t RowsShown(size_t all, size_t top) {
  return all <= top + 1 ? all : top;
}

// A column of a table whose first is text and whose others are numbers.
struct Column {
  const char* title;
  size_t columns;
};
std::string RowOf(const std::vector<Column>& columns,
                  const std::vector<std::string>& cells);
std::string TitlesOf(const std::vector<Column>& columns);

}  // namespace sonde

#endif  // SONDE_REPORT_LINES_H_

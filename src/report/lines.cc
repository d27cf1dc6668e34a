#include "report/lines.h"

#include <fmt/format.h>

#include <algorithm>

namespace sonde {
namespace {

bool BeginsCharacter(char c) { return (c & 0xc0) != 0x80; }

// Bytes of the first `columns` characters.
size_t BytesOf(std::string_view text, size_t columns) {
  size_t at = 0;
  while (at < text.size()) {
    if (BeginsCharacter(text[at]) && columns-- == 0) break;
    ++at;
  }
  return at;
}

}  // namespace

size_t ColumnsOf(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), BeginsCharacter));
}

std::string Cut(std::string_view text, size_t columns) {
  if (ColumnsOf(text) <= columns) return std::string(text);
  if (columns <= 3) return std::string(text.substr(0, BytesOf(text, columns)));
  return std::string(text.substr(0, BytesOf(text, columns - 3))) + "...";
}

std::string PadRight(std::string_view text, size_t columns) {
  std::string out = Cut(text, columns);
  out.append(columns - ColumnsOf(out), ' ');
  return out;
}

std::string PadLeft(std::string_view text, size_t columns) {
  const std::string out = Cut(text, columns);
  return std::string(columns - ColumnsOf(out), ' ') + out;
}

Lines Wrap(std::string_view lead, std::string_view text) {
  Lines out;
  std::string line(lead);
  const size_t indent = std::min(ColumnsOf(lead), kColumns / 2);
  bool empty = true;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size()
                                                       : space + 1);
    while (!word.empty()) {
      const size_t used = ColumnsOf(line) + (empty ? 0 : 1);
      const size_t room = used < kColumns ? kColumns - used : 0;
      if (ColumnsOf(word) <= room) {
        line += empty ? "" : " ";
        line += word;
        word = {};
        empty = false;
      } else if (!empty) {
        out.push_back(std::move(line));
        line.assign(indent, ' ');
        empty = true;
      } else {
        // One word longer than a line.
        const size_t bytes = BytesOf(word, std::max<size_t>(room, 1));
        line += word.substr(0, bytes);
        word.remove_prefix(bytes);
        out.push_back(std::move(line));
        line.assign(indent, ' ');
      }
    }
  }
  if (!empty || out.empty()) out.push_back(std::move(line));
  return out;
}

void Append(Lines& out, Lines lines) {
  for (std::string& line : lines) out.push_back(std::move(line));
}

std::string RowOf(const std::vector<Column>& columns,
                  const std::vector<std::string>& cells) {
  std::string out;
  for (size_t i = 0; i < columns.size() && i < cells.size(); ++i) {
    // The space keeps a long number from touching the one before it.
    out += i == 0
               ? PadRight(cells[i], columns[i].columns)
               : fmt::format(" {}", PadLeft(cells[i], columns[i].columns - 1));
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}
std::string TitlesOf(const std::vector<Column>& columns) {
  std::vector<std::string> titles;
  for (const Column& column : columns) titles.emplace_back(column.title);
  return RowOf(columns, titles);
}

}  // namespace sonde

#include "collect/stacks/python_lines.h"

#include <cstddef>

namespace sonde {
namespace {

constexpr int64_t kMostLines = INT32_MAX;

int CheckedLine(int64_t line) {
  return line > 0 && line <= kMostLines ? static_cast<int>(line) : 0;
}

int8_t Signed(uint8_t byte) { return static_cast<int8_t>(byte); }

// Pairs: so many bytes further, so many lines further.
int LnotabLine(std::span<const uint8_t> table, int64_t line, int64_t offset) {
  int64_t start = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    start += table[i];
    if (start > offset) break;
    line += Signed(table[i + 1]);
  }
  return CheckedLine(line);
}

// Pairs: the length of a range in bytes, and by how much its line differs from
// the last one; -128: the range has no line.
int LineTableLine(std::span<const uint8_t> table, int64_t line,
                  int64_t offset) {
  constexpr int8_t kNoLine = -128;
  int64_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    end += table[i];
    const int8_t step = Signed(table[i + 1]);
    if (step != kNoLine) line += step;
    if (offset < end) return step == kNoLine ? 0 : CheckedLine(line);
  }
  return 0;
}

// Takes entries off a location table; beyond the end everything is 0.
class LocationReader {
 public:
  explicit LocationReader(std::span<const uint8_t> table) : table_(table) {}

  bool done() const { return at_ >= table_.size(); }
  uint8_t Byte() { return done() ? 0 : table_[at_++]; }

  // Six bits a byte, the lowest first; 0x40: another byte follows.
  uint32_t Number() {
    uint32_t value = 0;
    for (unsigned shift = 0;; shift += 6) {
      const uint8_t byte = Byte();
      // More than 32 bits are no number that the compiler writes.
      if (shift < 32) value |= static_cast<uint32_t>(byte & 0x3f) << shift;
      if ((byte & 0x40) == 0) return value;
    }
  }
  // The lowest bit is the sign.
  int64_t SignedNumber() {
    const uint32_t value = Number();
    const int64_t size = value >> 1;
    return (value & 1) != 0 ? -size : size;
  }

 private:
  std::span<const uint8_t> table_;
  size_t at_ = 0;
};

// Entries: a byte 1cccclll with the kind c and the length l + 1 in instructions
// of two bytes, then what the kind has.
int LocationLine(std::span<const uint8_t> table, int64_t line, int64_t offset) {
  constexpr int kNone = 15, kLong = 14, kNoColumns = 13, kOneLine = 10;
  LocationReader in(table);
  int64_t end = 0;
  while (!in.done()) {
    const uint8_t head = in.Byte();
    const int kind = head >> 3 & 15;
    end += 2 * ((head & 7) + 1);
    if (kind == kLong) {
      line += in.SignedNumber();
      for (int i = 0; i < 3; ++i) in.Number();  // last line, columns
    } else if (kind == kNoColumns) {
      line += in.SignedNumber();
    } else if (kind >= kOneLine && kind != kNone) {
      line += kind - kOneLine;
      in.Byte();
      in.Byte();
    } else if (kind != kNone) {
      in.Byte();  // columns; the line is the last one
    }
    if (offset < end) return kind == kNone ? 0 : CheckedLine(line);
  }
  return 0;
}

}  // namespace

int LineAt(LineFormat format, std::span<const uint8_t> table, int first_line,
           int64_t offset) {
  if (offset < 0) return CheckedLine(first_line);
  switch (format) {
    case LineFormat::kLnotab:
      return LnotabLine(table, first_line, offset);
    case LineFormat::kLineTable:
      return LineTableLine(table, first_line, offset);
    case LineFormat::kLocations:
      return LocationLine(table, first_line, offset);
  }
  return 0;
}

}  // namespace sonde

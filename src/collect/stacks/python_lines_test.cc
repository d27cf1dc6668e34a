#include "collect/stacks/python_lines.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace sonde {
namespace {

using Bytes = std::vector<uint8_t>;

// What CPython 3.9, 3.10 and 3.12 make of one function:
//   1 def f(x):
//   2     try:
//   3         for i in x:
//   4             g(
//   5                 i,
//   6                 h)
//   7     except E as e:
// 308         return e
const Bytes kLnotab = {0x00, 0x01, 0x02, 0x01, 0x08, 0x01, 0x02,
                       0x01, 0x02, 0x01, 0x02, 0xfe, 0x0a, 0x03,
                       0x0e, 0x7f, 0x00, 0x7f, 0x00, 0x2f};
const Bytes kLineTable = {0x02, 0x01, 0x08, 0x01, 0x02, 0x01, 0x02, 0x01,
                          0x02, 0x01, 0x06, 0xfe, 0x06, 0xff, 0x0e, 0x04,
                          0x00, 0x7f, 0x00, 0x7f, 0x10, 0x2f, 0x08, 0x80,
                          0x00, 0x81, 0x00, 0x81, 0x02, 0xd1};
const Bytes kLocations = {
    0x80, 0x00, 0xf0, 0x02, 0x72, 0x04, 0x05, 0x11, 0xd8, 0x11, 0x12,
    0xf2, 0x00, 0x03, 0x09, 0x13, 0x88, 0x41, 0xdc, 0x0c, 0x0d, 0xd8,
    0x10, 0x11, 0xdc, 0x10, 0x11, 0xf5, 0x05, 0x02, 0x0d, 0x13, 0xf1,
    0x03, 0x03, 0x09, 0x13, 0xf8, 0xf4, 0x08, 0x00, 0x0c, 0x0d, 0xf2,
    0x00, 0x6d, 0x04, 0x05, 0x11, 0xf0, 0x5a, 0x09, 0x00, 0x10, 0x11,
    0x8d, 0x08, 0xfb, 0xf0, 0x5b, 0x09, 0x6d, 0x04, 0x05, 0x11, 0xfa};

// `starts`: the offset at which each range begins, and its line.
void ExpectLines(LineFormat format, const Bytes& table,
                 const std::map<int, int>& starts, int size) {
  for (int offset = 0; offset < size; offset += 2)
    EXPECT_EQ(LineAt(format, table, 1, offset),
              std::prev(starts.upper_bound(offset))->second)
        << "at " << offset;
  EXPECT_EQ(LineAt(format, table, 1, -2), 1) << "has not begun";
}

TEST(LineAt, TheTableOf39IsReadAsPythonReadsIt) {
  ExpectLines(
      LineFormat::kLnotab, kLnotab,
      {{0, 2}, {2, 3}, {10, 4}, {12, 5}, {14, 6}, {16, 4}, {26, 7}, {40, 308}},
      70);
}

TEST(LineAt, TheTableOf310IsReadAsPythonReadsIt) {
  ExpectLines(LineFormat::kLineTable, kLineTable,
              {{0, 2},
               {2, 3},
               {10, 4},
               {12, 5},
               {14, 6},
               {16, 4},
               {22, 3},
               {28, 7},
               {42, 308},
               {58, 0},
               {66, 7}},
              68);
}

TEST(LineAt, TheTableOf312IsReadAsPythonReadsIt) {
  ExpectLines(LineFormat::kLocations, kLocations,
              {{0, 1},
               {2, 2},
               {4, 3},
               {14, 4},
               {24, 5},
               {26, 6},
               {36, 4},
               {48, 3},
               {52, 0},
               {54, 7},
               {70, 308},
               {84, 0},
               {92, 7},
               {94, 0}},
              100);
}

TEST(LineAt, BeyondTheTableThereIsNoLine) {
  EXPECT_EQ(LineAt(LineFormat::kLineTable, kLineTable, 1, 1 << 20), 0);
  EXPECT_EQ(LineAt(LineFormat::kLocations, kLocations, 1, 1 << 20), 0);
  EXPECT_EQ(LineAt(LineFormat::kLocations, {}, 1, 0), 0);
  EXPECT_EQ(LineAt(LineFormat::kLnotab, {}, 7, 0), 7) << "needs no entry";
}

TEST(LineAt, EveryTruncationGivesSomeLine) {
  for (const auto& [format, table] :
       {std::pair{LineFormat::kLnotab, kLnotab},
        std::pair{LineFormat::kLineTable, kLineTable},
        std::pair{LineFormat::kLocations, kLocations}})
    for (size_t size = 0; size < table.size(); ++size) {
      const Bytes cut(table.begin(), table.begin() + static_cast<long>(size));
      EXPECT_GE(LineAt(format, cut, 1, 60), 0);
    }
}

TEST(LineAt, NumbersWithoutEndAndLinesBelowZeroAreNoLines) {
  EXPECT_EQ(LineAt(LineFormat::kLocations, Bytes(1000, 0xff), 1, 5000), 0);
  Bytes endless = {0xe8};  // without columns, a number of very many bytes
  endless.insert(endless.end(), 1000, 0x7f);
  EXPECT_GE(LineAt(LineFormat::kLocations, endless, 1, 0), 0);
  EXPECT_EQ(LineAt(LineFormat::kLnotab, Bytes{0, 0x80}, 1, 0), 0);
  EXPECT_EQ(LineAt(LineFormat::kLnotab, Bytes{0, 1}, INT32_MAX, 0), 0);
}

}  // namespace
}  // namespace sonde

#include "report/lines.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

const std::vector<Column> kTable = {{"Name", 10}, {"CPU", 8}, {"share", 8}};

TEST(Lines, AColumnIsACharacterNotAByte) {
  EXPECT_EQ(ColumnsOf("añ→界"), 4u);
  EXPECT_EQ(ColumnsOf("\xff\xfe"), 2u) << "bytes that are no character";
}

TEST(Lines, WhatIsCutKeepsWholeCharacters) {
  EXPECT_EQ(Cut("界界界界界", 5), "界界界界界");
  EXPECT_EQ(Cut("界界界界界界", 5), "界界...");
  EXPECT_EQ(Cut("界界界界", 2), "界界") << "no room for dots";
}

TEST(Lines, WhatIsFilledUpHasExactlyItsColumns) {
  EXPECT_EQ(PadRight("ñ", 3), "ñ  ");
  EXPECT_EQ(PadLeft("ñ", 3), "  ñ");
  for (const char* text :
       {"", "a", "界界界", "a long text that does not fit"}) {
    EXPECT_EQ(ColumnsOf(PadRight(text, 12)), 12u) << text;
    EXPECT_EQ(ColumnsOf(PadLeft(text, 12)), 12u) << text;
  }
}

TEST(Lines, NoWrappedLineIsLongerThan80ColumnsAndNoCharacterIsLost) {
  std::string wide;
  for (int i = 0; i < 300; ++i) wide += "界";
  const std::string text = "some words before " + wide + " and some behind it";
  std::string together;
  for (const std::string& line : Wrap("Lost: ", text)) {
    EXPECT_LE(ColumnsOf(line), kColumns) << line;
    together += line.substr(6);
  }
  std::string want = text;
  std::erase(want, ' ');
  std::erase(together, ' ');
  EXPECT_EQ(together, want);
}

TEST(Lines, LinesBehindTheFirstAreIndentedAsFarAsItsLead) {
  const Lines lines = Wrap("Do: ", std::string(76, 'a') + " next");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(ColumnsOf(lines[0]), kColumns) << "the last column is used";
  EXPECT_EQ(lines[1], "    next");
}

TEST(Lines, NoCellOfATableMovesTheNextOne) {
  EXPECT_EQ(TitlesOf(kTable), "Name           CPU   share");
  EXPECT_EQ(RowOf(kTable, {"main", "7.00 s", "53.8 %"}),
            "main        7.00 s  53.8 %");
  EXPECT_EQ(RowOf(kTable, {"界界界界界界界界界界界界", "7.00 s", "53.8 %"}),
            "界界界界界界界...  7.00 s  53.8 %");
  EXPECT_EQ(RowOf(kTable, {"main", "123456789 s", "123456789 %"}),
            "main       1234... 1234...")
      << "a space stays between two long numbers";
  EXPECT_EQ(RowOf(kTable, {"main"}), "main") << "no spaces at the end";
}

TEST(Lines, OneRowMoreIsShownRatherThanCounted) {
  EXPECT_EQ(RowsShown(3, 10), 3u);
  EXPECT_EQ(RowsShown(11, 10), 11u);
  EXPECT_EQ(RowsShown(12, 10), 10u);
}

}  // namespace
}  // namespace sonde

#include "base/text.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(PrintableTest, WhatATerminalWouldObeyIsEscaped) {
  EXPECT_EQ(Printable("a\x1b[1m\n"), "a\\x1b[1m\\x0a");
  EXPECT_EQ(Printable("\xc2\x9b"), "\\xc2\\x9b") << "a C1 control";
  EXPECT_EQ(Printable("\xe2\x80\xae"), "\\xe2\\x80\\xae")
      << "turns the direction of writing";
  EXPECT_EQ(Printable("\xff"), "\\xff") << "no UTF-8";
}

TEST(PrintableTest, WhatIsNoCharacterIsEscaped) {
  EXPECT_EQ(Printable("a\xef\xbf\xbez"), "a\\xef\\xbf\\xbez") << "U+FFFE";
  EXPECT_EQ(Printable("a\xef\xbf\xbfz"), "a\\xef\\xbf\\xbfz") << "U+FFFF";
  for (const char* text : {"\xef\xbf\xbd", "\xef\xbe\xbf", "\xf0\x9f\xbf\xbe"})
    EXPECT_EQ(Printable(text), text);
}

TEST(PrintableTest, IsCutByCharacters) {
  EXPECT_EQ(Printable("\xc3\xa4\xc3\xb6\xc3\xbc", 2), "\xc3\xa4\xc3\xb6...");
}

}  // namespace
}  // namespace sonde

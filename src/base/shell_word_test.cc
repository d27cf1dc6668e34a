#include "base/shell_word.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(ShellWordTest, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(ShellWord("--lr=0.1"), "--lr=0.1");
  EXPECT_EQ(ShellWord("a b"), "'a b'");
  EXPECT_EQ(ShellWord("$HOME"), "'$HOME'");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
}

TEST(ShellWordTest, IsPrintableAndBounded) {
  EXPECT_EQ(ShellWord("a\x1b"), "$'a\\x1b'");
  EXPECT_EQ(ShellWord("a'b\\\nc"), "$'a\\'b\\\\\\nc'");
  EXPECT_EQ(ShellWord("abcdefgh", 6), "abcdef...");
}

}  // namespace
}  // namespace sonde

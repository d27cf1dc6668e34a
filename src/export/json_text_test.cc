#include "export/json_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/text.h"

namespace sonde {
namespace {

std::string Json(std::string_view text) {
  std::string out;
  AppendQuoted(text, out);
  return out;
}

TEST(JsonText, PlainTextStaysAsItIs) {
  EXPECT_EQ(Json("aten::mm <T> / x"), "\"aten::mm <T> / x\"");
  EXPECT_TRUE(IsPlainJson("aten::mm <T> / x"));
  EXPECT_EQ(Json("\xc3\xa4\xf0\x9f\x98\x80"), "\"\xc3\xa4\xf0\x9f\x98\x80\"");
}

TEST(JsonText, WhatJsonForbidsIsEscaped) {
  EXPECT_EQ(Json("a\"b\\c\nd\te"), "\"a\\\"b\\\\c\\nd\\te\"");
  EXPECT_EQ(Json(std::string_view("\0\x01\x1b\x7f", 4)),
            "\"\\u0000\\u0001\\u001b\\u007f\"");
}

TEST(JsonText, WhatIsNotUtf8IsReplaced) {
  EXPECT_EQ(Json("a\xff z"), "\"a\\ufffd z\"");
  EXPECT_EQ(Json("\xc3"), "\"\\ufffd\"");
  EXPECT_EQ(Json("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");
  EXPECT_EQ(Json("\xc0\xaf"), "\"\\ufffd\\ufffd\"") << "overlong";
}

TEST(JsonText, WhatATerminalOrAPageObeysIsEscaped) {
  EXPECT_EQ(Json("</script>"), "\"<\\/script>\"");
  EXPECT_EQ(Json("\xc2\x9b"), "\"\\u009b\"");
  EXPECT_EQ(Json("\xe2\x80\xae"), "\"\\u202e\"");
  EXPECT_EQ(Json("\xe2\x80\xa8"), "\"\\u2028\"");
}

TEST(JsonText, PlainMeansNothingToEscape) {
  for (int c = 0; c < 256; ++c) {
    for (const std::string& text : {std::string(1, static_cast<char>(c)),
                                    std::string("<") + static_cast<char>(c)}) {
      std::string out;
      AppendJson(text, out);
      if (IsPlainJson(text)) {
        EXPECT_EQ(out, text) << c;
      } else if (c < 0x80) {
        EXPECT_NE(out, text) << c;
      }
    }
  }
}

TEST(JsonText, LongNamesAreCut) {
  const std::string text(kMaxJsonText + 1, '\x01');
  EXPECT_FALSE(IsPlainJson(std::string(kMaxJsonText + 1, 'x')));
  std::string out;
  AppendJson(text, out);
  EXPECT_EQ(out.size(), 6 * kMaxJsonText + 3);
}

TEST(JsonText, NumbersAreNumbersAndTheRestIsText) {
  const auto number = [](double value) {
    std::string out;
    AppendNumber(value, out);
    return out;
  };
  EXPECT_EQ(number(0.1), "0.1");
  EXPECT_EQ(number(-3), "-3");
  EXPECT_EQ(number(1e300), "1e+300");
  EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN()), "\"NaN\"");
  EXPECT_EQ(number(-std::numeric_limits<double>::infinity()), "\"-Infinity\"");
}

}  // namespace
}  // namespace sonde

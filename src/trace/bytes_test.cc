#include "trace/bytes.h"

#include <gtest/gtest.h>

#include <vector>

namespace sonde {
namespace {

// Both sides of every length of a varint, and the ends of the range.
std::vector<uint64_t> Edges() {
  std::vector<uint64_t> out = {0, 1, 2, UINT64_MAX, UINT64_MAX - 1};
  for (int bit = 1; bit < 64; ++bit)
    for (int64_t by : {-1, 0, 1})
      out.push_back((uint64_t{1} << bit) + static_cast<uint64_t>(by));
  return out;
}

TEST(Bytes, FastVarintsAreTheSlowOnes) {
  for (uint64_t value : Edges()) {
    uint8_t slow[kMaxVarint + 8] = {}, fast[kMaxVarint + 8] = {};
    const size_t size = static_cast<size_t>(PutVarint(slow, value) - slow);
    ASSERT_EQ(PutVarintFast(fast, value) - fast, static_cast<ptrdiff_t>(size))
        << value;
    EXPECT_EQ(std::memcmp(slow, fast, size), 0) << value;
    for (uint8_t behind : {0x00, 0x7f, 0x80, 0xff}) {
      std::memset(slow + size, behind, sizeof(slow) - size);
      uint64_t a = 0, b = 0;
      EXPECT_EQ(GetVarint(slow, slow + sizeof(slow), &a), slow + size);
      EXPECT_EQ(GetVarintFast(slow, slow + sizeof(slow), &b), slow + size);
      EXPECT_EQ(a, value);
      EXPECT_EQ(b, value);
    }
  }
}

TEST(Bytes, AVarintCutOffOrTooLongIsRefused) {
  for (uint64_t value : Edges()) {
    uint8_t bytes[kMaxVarint];
    const uint8_t* const end = PutVarint(bytes, value);
    uint64_t got = 0;
    for (const uint8_t* cut = bytes; cut < end; ++cut)
      EXPECT_EQ(GetVarint(bytes, cut, &got), nullptr) << value;
  }
  const std::vector<uint8_t> endless(16, 0x80);
  uint64_t got = 0;
  const uint8_t* const end = endless.data() + endless.size();
  EXPECT_EQ(GetVarint(endless.data(), end, &got), nullptr);
  EXPECT_EQ(GetVarintFast(endless.data(), end, &got), nullptr);
}

TEST(Bytes, ZigZagMapsEveryNumberBack) {
  EXPECT_EQ(ZigZag(0), 0u);
  EXPECT_EQ(ZigZag(-1), 1u);
  EXPECT_EQ(ZigZag(1), 2u);
  EXPECT_EQ(ZigZag(INT64_MIN), UINT64_MAX);
  for (uint64_t value : Edges()) EXPECT_EQ(ZigZag(UnZigZag(value)), value);
}

TEST(Bytes, AfterTheFirstFailureEveryReadIsZero) {
  ByteWriter out;
  out.Text("abc");
  out.U32(7);
  ByteReader good(out.bytes());
  EXPECT_EQ(good.Text(3), "abc");
  EXPECT_EQ(good.U32(), 7u);
  EXPECT_TRUE(good.ok() && good.AtEnd());

  ByteReader limited(out.bytes());
  EXPECT_EQ(limited.Text(2), "") << "longer than allowed";
  EXPECT_FALSE(limited.ok());
  EXPECT_EQ(limited.U32(), 0u);
  EXPECT_EQ(limited.Varint(), 0u);

  ByteWriter wide;
  wide.Varint(uint64_t{UINT32_MAX} + 1);
  ByteReader narrow(wide.bytes());
  EXPECT_EQ(narrow.Varint32(), 0u);
  EXPECT_FALSE(narrow.ok());
}

}  // namespace
}  // namespace sonde

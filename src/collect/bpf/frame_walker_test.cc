#include "collect/bpf/frame_walker.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>
#include <string>

#include "collect/bpf/walk_format.h"
#include "collect/perf/stack_record.h"

namespace sonde {
namespace {

template <typename T>
void Append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// A record as the kernel and the walker write it, that says there are `count`
// frames and has `frames`.
std::string Written(uint32_t count, uint32_t flags,
                    const std::vector<WalkedFrame>& frames) {
  std::string walk;
  Append(walk, WALK_MAGIC);
  Append(walk, count);
  Append(walk, flags);
  Append(walk, uint64_t{0x7ffc0});
  Append(walk, uint64_t{0x5eed});
  for (const WalkedFrame& frame : frames) Append(walk, frame);
  perf_event_header header = {};
  header.type = PERF_RECORD_SAMPLE;
  header.size = static_cast<uint16_t>(sizeof(header) + 20 + walk.size());
  std::string out;
  Append(out, header);
  Append(out, uint32_t{12});
  Append(out, uint32_t{13});
  Append(out, uint64_t{99});
  Append(out, static_cast<uint32_t>(walk.size()));
  return out + walk;
}

TEST(FrameWalkerParse, AWalkIsReadInnermostFirst) {
  FrameWalker::Walk walk;
  ASSERT_TRUE(FrameWalker::Parse(
      Written(3, WALK_WHOLE,
              {{0x100, 0x2000, 7}, {0x200, WALK_SHIM, 0}, {0x300, 0x4002, 9}}),
      walk));
  EXPECT_EQ(walk.tid, 13);
  EXPECT_EQ(walk.time_ns, 99);
  EXPECT_TRUE(walk.whole);
  EXPECT_EQ(walk.cframe, 0x7ffc0u);
  EXPECT_EQ(walk.name_hash, 0x5eedu);
  ASSERT_EQ(walk.frames.size(), 3u);
  EXPECT_EQ(walk.frames[0], (RawPythonFrame{0x100, 0x2000, 7, false, false}));
  EXPECT_EQ(walk.frames[1], (RawPythonFrame{0x200, 0, 0, true, false}));
  EXPECT_EQ(walk.frames[2], (RawPythonFrame{0x300, 0x4000, 9, false, true}));
}

TEST(FrameWalkerParse, AnEarlierWalkLeavesNothing) {
  FrameWalker::Walk walk;
  ASSERT_TRUE(FrameWalker::Parse(Written(1, WALK_WHOLE, {{1, 8, 3}}), walk));
  ASSERT_TRUE(FrameWalker::Parse(Written(0, 0, {}), walk));
  EXPECT_TRUE(walk.frames.empty());
  EXPECT_FALSE(walk.whole);
}

TEST(FrameWalkerParse, CutRecordsAreRefused) {
  const std::string whole = Written(2, 0, {{1, 8, 3}, {4, 16, 6}});
  FrameWalker::Walk walk;
  ASSERT_TRUE(FrameWalker::Parse(whole, walk));
  for (size_t i = 0; i < whole.size(); ++i)
    EXPECT_FALSE(FrameWalker::Parse(whole.substr(0, i), walk)) << i;
  EXPECT_FALSE(FrameWalker::Parse(whole + "12345678", walk));
}

TEST(FrameWalkerParse, CountsThatLieAreRefused) {
  FrameWalker::Walk walk;
  const std::vector<WalkedFrame> two = {{1, 8, 3}, {4, 16, 6}};
  for (const uint32_t count : {0u, 1u, 3u, 160u, 161u, 0xaaaaaaacu, ~0u})
    EXPECT_FALSE(FrameWalker::Parse(Written(count, 0, two), walk)) << count;
  const std::vector<WalkedFrame> most(FrameWalker::kMostFrames);
  EXPECT_TRUE(FrameWalker::Parse(Written(160, 0, most), walk));
  const std::vector<WalkedFrame> more(FrameWalker::kMostFrames + 1);
  EXPECT_FALSE(FrameWalker::Parse(Written(161, 0, more), walk));
}

TEST(FrameWalkerParse, OtherRecordsAreNoWalks) {
  FrameWalker::Walk walk;
  std::string sample = Written(1, 0, {{1, 8, 3}});
  const uint32_t nothing = 0;
  std::memcpy(sample.data() + 28, &nothing, 4);  // the magic
  EXPECT_FALSE(FrameWalker::Parse(sample, walk));
  std::string lost = Written(1, 0, {{1, 8, 3}});
  const uint32_t type = PERF_RECORD_LOST;
  std::memcpy(lost.data(), &type, 4);
  EXPECT_FALSE(FrameWalker::Parse(lost, walk));
}

TEST(FrameWalkerParse, AWalkIsNoSampleOfAStack) {
  uint64_t lost_count = 0;
  const std::vector<WalkedFrame> nothing(20);
  EXPECT_FALSE(ParseStackRecord(Written(20, 0, nothing), lost_count));
  EXPECT_EQ(lost_count, 0u);
}

}  // namespace
}  // namespace sonde

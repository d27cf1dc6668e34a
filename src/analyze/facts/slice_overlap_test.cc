#include "analyze/facts/slice_overlap.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trace/writer.h"

namespace sonde {
namespace {

struct SliceOverlapTest : testing::Test {
  // A row of slices from .first to .second.
  uint32_t Row(const std::vector<std::pair<int64_t, int64_t>>& slices) {
    const uint32_t track = out->AddTrack({});
    for (const auto& [from, to] : slices) Add(track, from, to, 0);
    return track;
  }
  void Add(uint32_t track, int64_t from, int64_t to, uint16_t depth) {
    Event event;
    event.begin_ns = from;
    event.dur_ns = to - from;
    event.depth = depth;
    event.name = out->Intern("work");
    out->AddEvent(track, event);
  }
  SliceOverlap Find(uint32_t a, uint32_t b) {
    EXPECT_TRUE(out->Close().ok());
    return OverlapOf(*Store::OfBytes(bytes, "made").Take(), a, b);
  }

  std::shared_ptr<std::string> bytes = std::make_shared<std::string>();
  std::unique_ptr<TraceWriter> out = TraceWriter::CreateInMemory({}, bytes);
};

TEST_F(SliceOverlapTest, IsTheTimeOfBoth) {
  const uint32_t a = Row({{0, 100}, {200, 300}, {400, 500}});
  const uint32_t b = Row({{50, 250}, {480, 600}});
  const SliceOverlap found = Find(a, b);
  EXPECT_EQ(found.a_ns, 300);
  EXPECT_EQ(found.b_ns, 320);
  EXPECT_EQ(found.both_ns, 50 + 50 + 20);
  const auto store = Store::OfBytes(bytes, "made").Take();
  const SliceOverlap first = OverlapOf(*store, a, b, 240);
  EXPECT_EQ(first.a_ns, 140);
  EXPECT_EQ(first.b_ns, 190);
  EXPECT_EQ(first.both_ns, 50 + 40);
}

TEST_F(SliceOverlapTest, OfThoseWhoTakeTurnsIsNothing) {
  const uint32_t a = Row({{0, 100}, {200, 300}});
  const uint32_t b = Row({{100, 200}, {300, 400}});
  EXPECT_EQ(Find(a, b).both_ns, 0);
}

TEST_F(SliceOverlapTest, CountsOutermostSlicesOnce) {
  const uint32_t a = out->AddTrack({});
  Add(a, 10, 90, 1);
  Add(a, 0, 100, 0);
  const uint32_t b = Row({{0, 100}});
  const SliceOverlap found = Find(a, b);
  EXPECT_EQ(found.a_ns, 100);
  EXPECT_EQ(found.both_ns, 100);
}

}  // namespace
}  // namespace sonde

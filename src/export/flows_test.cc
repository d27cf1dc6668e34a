#include "export/flows.h"

#include <gtest/gtest.h>

#include <set>

namespace sonde {
namespace {

struct FlowsTest : testing::Test {
  FlowEnd End(uint64_t flow, int64_t begin, int64_t last, bool begins,
              uint32_t tid = 1) {
    return {flow, 1, tid, begin, last, begins};
  }
  std::vector<std::pair<int64_t, int64_t>> arrows;  // from, to
  std::set<uint32_t> ids;
  Flows flows{[this](uint32_t id, const FlowEnd& from, const FlowEnd& to,
                     int64_t to_ns) {
    EXPECT_TRUE(ids.insert(id).second) << "an id used twice";
    EXPECT_LE(from.moment_ns, to_ns);
    EXPECT_GE(to_ns, to.moment_ns);
    EXPECT_LE(to_ns, to.last_ns);
    arrows.emplace_back(from.moment_ns, to_ns);
  }};
};

TEST_F(FlowsTest, ABeginAndAnEndMakeAnArrowInAnyOrder) {
  flows.Add(End(~uint64_t{0}, 50, 60, false, 2));
  flows.Add(End(~uint64_t{0}, 10, 20, true));
  flows.Finish();
  ASSERT_EQ(arrows.size(), 1u);
  EXPECT_EQ(arrows[0], std::pair(int64_t{10}, int64_t{50}));
}

TEST_F(FlowsTest, AChainIsOneArrowPerLink) {
  flows.Add(End(7, 10, 20, true));
  flows.Add(End(7, 30, 40, false, 2));
  flows.Add(End(7, 30, 40, true, 2));
  flows.Add(End(7, 50, 60, false, 3));
  flows.Finish();
  EXPECT_EQ(arrows,
            (std::vector<std::pair<int64_t, int64_t>>{{10, 30}, {30, 50}}));
  EXPECT_EQ(flows.unbound(), 0u);
}

TEST_F(FlowsTest, AnArrowArrivesNotBeforeItBegins) {
  flows.Add(End(7, 10, 100, false, 2));  // waits since before the begin
  flows.Add(End(7, 50, 60, true));
  flows.Add(End(8, 10, 20, false, 2));  // was over before the begin
  flows.Add(End(8, 50, 60, true));
  flows.Finish();
  EXPECT_EQ(arrows, (std::vector<std::pair<int64_t, int64_t>>{{50, 50}}));
  EXPECT_EQ(flows.unbound(), 2u);
}

TEST_F(FlowsTest, EndsWithoutAPartnerAreCountedNotDrawn) {
  flows.Add(End(1, 10, 20, true));
  flows.Add(End(2, 10, 20, false));
  flows.Finish();
  EXPECT_TRUE(arrows.empty());
  EXPECT_EQ(flows.unbound(), 2u);
}

TEST_F(FlowsTest, PartnersFindEachOtherAcrossBatches) {
  constexpr int64_t kCount = 300'000;
  for (int64_t i = 0; i < kCount; ++i)
    flows.Add(End(static_cast<uint64_t>(i + 1), i, i + 1, true));
  for (int64_t i = 0; i < kCount; ++i)
    flows.Add(End(static_cast<uint64_t>(i + 1), i + 5, i + 9, false, 2));
  flows.Finish();
  EXPECT_EQ(arrows.size(), static_cast<size_t>(kCount));
  EXPECT_EQ(flows.unbound(), 0u);
}

}  // namespace
}  // namespace sonde

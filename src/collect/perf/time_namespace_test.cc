#include "collect/perf/time_namespace.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(TimeNamespace, TheOffsetIsWhatTheKernelTells) {
  EXPECT_EQ(ParseMonotonicOffset("monotonic           0         0\n"
                                 "boottime            5         0\n"),
            0);
  EXPECT_EQ(ParseMonotonicOffset("monotonic     1000000         7\n"),
            1'000'000'000'000'007);
  // Whole seconds downward, and nanoseconds up from there.
  EXPECT_EQ(ParseMonotonicOffset("monotonic        -100 900000000\n"),
            -99'100'000'000);
}

TEST(TimeNamespace, NonsenseIsNoOffset) {
  for (const char* text :
       {"", "boottime 1 2", "monotonic x 0", "monotonic 1",
        "monotonic 99999999999999 0", "monotonic 0 1000000000"})
    EXPECT_EQ(ParseMonotonicOffset(text), std::nullopt) << text;
}

}  // namespace
}  // namespace sonde

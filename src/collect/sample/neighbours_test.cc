#include "collect/sample/neighbours.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/time.h"

namespace sonde {
namespace {

// A /proc of our own. Its processes began long ago.
class NeighboursTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/sonde_neighbours_XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root_ = name;
    neighbours_.emplace(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  // The process has used so many seconds so far.
  void Put(pid_t pid, const std::string& name, double cpu_s,
           uint64_t start_ticks = 1, pid_t parent = 1, unsigned flags = 0) {
    const std::string folder = fmt::format("{}/{}", root_, pid);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/stat") << fmt::format(
        "{} ({}) S {} 7 7 0 -1 {} 5 0 6 0 {} 0 0 0 20 0 3 0 {} 0 12 0 0 0 13",
        pid, name, parent, flags,
        static_cast<int64_t>(cpu_s * static_cast<double>(hz_)), start_ticks);
  }

  // A check after so many seconds, in which others used so many cores.
  bool Check(double seconds, double others_cores) {
    now_ns_ += static_cast<int64_t>(seconds * 1e9);
    others_ns_ += static_cast<int64_t>(seconds * others_cores * 1e9);
    const bool news = neighbours_->Check(now_ns_, others_ns_,
                                         [](pid_t pid) { return pid == 7; });
    if (news) text_ = neighbours_->Text();
    return news;
  }

  const int64_t hz_ = ::sysconf(_SC_CLK_TCK);
  std::string root_, text_;
  std::optional<Neighbours> neighbours_;
  int64_t now_ns_ = 1000 * kNsPerSec, others_ns_ = 0;
};

TEST_F(NeighboursTest, TheFourLargestAreToldByName) {
  Check(0, 0);
  for (pid_t pid = 10; pid < 16; ++pid)
    Put(pid, "p" + std::to_string(pid), 100);
  EXPECT_FALSE(Check(1, 1.5)) << "there is nothing to compare with";
  Put(10, "p10", 100.4);
  Put(11, "p11", 101.8);
  Put(12, "p12", 100.02);
  Put(13, "p13", 100.3);
  Put(14, "p14", 100.2);
  Put(15, "p15", 100.12);
  EXPECT_TRUE(Check(2, 1.5));
  EXPECT_EQ(text_,
            "[{\"cores\":0.9,\"name\":\"p11\"},"
            "{\"cores\":0.2,\"name\":\"p10\"},"
            "{\"cores\":0.15,\"name\":\"p13\"},"
            "{\"cores\":0.1,\"name\":\"p14\"}]");
}

TEST_F(NeighboursTest, ProcessesOfOneNameAreOne) {
  Check(0, 0);
  Put(10, "cc1", 5);
  Put(11, "cc1", 5);
  Check(1, 1);
  Put(10, "cc1", 6);
  Put(11, "cc1", 6);
  Check(2, 1);
  EXPECT_EQ(text_, "[{\"cores\":1.0,\"name\":\"cc1\"}]");
}

TEST_F(NeighboursTest, OursAreNone) {
  Check(0, 0);
  const auto put = [&](double cpu_s) {
    Put(7, "ours", cpu_s);
    Put(8, "helper", cpu_s, 1, ::getpid());
  };
  put(1);
  Check(1, 1);
  put(3);
  EXPECT_FALSE(Check(2, 1));
  EXPECT_EQ(neighbours_->Text(), "");
}

TEST_F(NeighboursTest, TheKernelCountsIfItIsLarge) {
  constexpr unsigned kKernel = 0x00200000;
  Check(0, 0);
  const auto put = [&](double cpu_s) {
    Put(9, "kswapd0", cpu_s / 10, 1, 2, kKernel);
    Put(10, "kworker/0:1-x", cpu_s / 2, 1, 2, kKernel);
    Put(11, "kworker/u4:2", cpu_s / 2, 1, 2, kKernel);
  };
  put(1);
  Check(1, 1);
  put(3);
  Check(2, 1);
  EXPECT_EQ(text_, "[{\"cores\":1.0,\"name\":\"kworker\"}]");
}

TEST_F(NeighboursTest, NobodyLooksWhileOthersAreQuiet) {
  Check(0, 0);
  Put(10, "gzip", 5);
  Check(1, 1);
  Put(10, "gzip", 7);
  EXPECT_FALSE(Check(2, 0.1));
  EXPECT_FALSE(Check(5, 1)) << "a new first look";
  Put(10, "gzip", 12);
  EXPECT_TRUE(Check(5, 1));
  EXPECT_EQ(text_, "[{\"cores\":1.0,\"name\":\"gzip\"}]");
}

TEST_F(NeighboursTest, APidUsedAgainIsAnotherProcess) {
  Check(0, 0);
  Put(10, "old", 50);
  Check(1, 1);
  const uint64_t ticks =
      static_cast<uint64_t>(ClockNs(CLOCK_BOOTTIME) / (kNsPerSec / hz_));
  Put(10, "new", 1, ticks + 1);
  Put(11, "unseen", 500, 1);  // what it used before is not known
  Check(2, 1);
  EXPECT_EQ(text_, "[{\"cores\":0.5,\"name\":\"new\"}]");
}

TEST_F(NeighboursTest, ANameCannotBreakTheText) {
  Check(0, 0);
  Put(10, "a) \"\n\x1b[31m\xff", 1);
  Check(1, 1);
  Put(10, "a) \"\n\x1b[31m\xff", 3);
  Check(2, 1);
  EXPECT_EQ(text_.find('\x1b'), std::string::npos);
  EXPECT_EQ(text_.find('\n'), std::string::npos);
  EXPECT_TRUE(text_.starts_with("[{\"cores\":1.0,\"name\":\"a) \\\"")) << text_;
}

TEST_F(NeighboursTest, WhatHardlyChangesIsNotToldAgain) {
  Check(0, 0);
  Put(10, "gzip", 5);
  Check(1, 1);
  Put(10, "gzip", 7);
  EXPECT_TRUE(Check(2, 1));
  Put(10, "gzip", 12.1);
  EXPECT_FALSE(Check(5, 1));
  Put(10, "gzip", 22);
  EXPECT_TRUE(Check(5, 1));
}

TEST_F(NeighboursTest, AShortRunHasTwoLooks) {
  const int64_t begin_ns = now_ns_;
  EXPECT_TRUE(neighbours_->Due(begin_ns));
  Check(0, 0);
  EXPECT_FALSE(neighbours_->Due(begin_ns + kNsPerSec / 2));
  EXPECT_TRUE(neighbours_->Due(begin_ns + kNsPerSec));
  Check(1, 0);
  EXPECT_TRUE(neighbours_->Due(begin_ns + 3 * kNsPerSec));
  Check(2, 0);
  EXPECT_FALSE(neighbours_->Due(begin_ns + 7 * kNsPerSec));
  EXPECT_TRUE(neighbours_->Due(begin_ns + 8 * kNsPerSec));
}

}  // namespace
}  // namespace sonde

#include "collect/symbols/perf_map.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/time.h"

namespace sonde {
namespace {

TEST(PerfMap, NamesWhatLiesInTheLines) {
  const PerfMap map(
      "1000 10 first\n"
      "0x2000 20 LazyCompile:~f /home/u/a.js:12\n"
      "2020 10 JS:*g /home/u/b.js:7:21\n"
      "2030 10 long Spin.f(long)\n"
      "nonsense\n"
      "3000 zz bad size\n"
      "4000 0 nothing\n"
      "ffffffffffffffff 10 beyond the end\n"
      "5000 10 ");
  EXPECT_EQ(map.At(0xfff).function, "");
  EXPECT_EQ(map.At(0x1000).function, "first");
  EXPECT_EQ(map.At(0x100f).function, "first");
  EXPECT_EQ(map.At(0x1010).function, "");
  EXPECT_EQ(map.At(0x2010), (PlaceName{"f", "/home/u/a.js", 12, false}));
  EXPECT_EQ(map.At(0x2020), (PlaceName{"g", "/home/u/b.js", 7, false}));
  EXPECT_EQ(map.At(0x2030).function, "long Spin.f(long)");
  EXPECT_EQ(map.At(0x3000).function, "");
  EXPECT_EQ(map.At(0x4000).function, "");
  EXPECT_EQ(map.size(), 4u);
}

TEST(PerfMap, WhatWasCompiledLaterCounts) {
  const PerfMap map("1000 100 old\n1010 10 new\n1000 8 newer\n");
  EXPECT_EQ(map.At(0x1000).function, "newer");
  EXPECT_EQ(map.At(0x100a).function, "old");
  EXPECT_EQ(map.At(0x1015).function, "new");
}

TEST(PerfMap, NamesAreMadePrintable) {
  const PerfMap map("1000 10 a\x1b[31mb\x01\n");
  EXPECT_EQ(map.At(0x1000).function.find('\x1b'), std::string::npos);
  EXPECT_LE(
      PerfMap("1000 10 " + std::string(100000, 'x')).At(0x1000).function.size(),
      PlaceName::kMostFunctionChars + 8);
}

TEST(PerfMap, OnlyAPlainFileOfTheUserIsRead) {
  const pid_t pid = ::getpid();
  const std::string path = "/tmp/perf-" + std::to_string(pid) + ".map";
  ::unlink(path.c_str());
  EXPECT_FALSE(PerfMap::Of(pid, pid, ::getuid(), 0));
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(PerfMap::Of(pid, pid, ::getuid(), 0)) << "and it did not hang";
  ::unlink(path.c_str());
  std::ofstream(path) << "1000 10 first\n";
  const auto map = PerfMap::Of(pid, pid, ::getuid(), 0);
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(map->At(0x1001).function, "first");
  EXPECT_FALSE(PerfMap::Of(pid, pid, ::getuid(),
                           ClockNs(CLOCK_REALTIME) + 3600 * kNsPerSec))
      << "it is of an older process";
  if (::getuid() == 0) {
    ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
    EXPECT_FALSE(PerfMap::Of(pid, pid, 0, 0)) << "it is another user's";
  }
  ::unlink(path.c_str());
  ASSERT_EQ(::symlink("/etc/passwd", path.c_str()), 0);
  EXPECT_FALSE(PerfMap::Of(pid, pid, ::getuid(), 0));
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace sonde

#include "collect/session/stop_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sonde {
namespace {

struct StopFileTest : testing::Test {
  StopFileTest() {
    char name[] = "/tmp/sonde-stop-XXXXXX";
    dir = ::mkdtemp(name);
    path = dir + "/stop.flag";
  }
  ~StopFileTest() override { std::filesystem::remove_all(dir); }
  void Touch() const { std::ofstream(path) << "now"; }

  std::string dir, path;
};

TEST_F(StopFileTest, OneThatAppearsIsSeenAndStays) {
  const auto file = StopFile::Prepare(path, false);
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file.value().Appeared());
  Touch();
  EXPECT_TRUE(file.value().Appeared());
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(StopFileTest, OneLeftOverIsRemoved) {
  Touch();
  const auto file = StopFile::Prepare(path, false);
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(file.value().Appeared());
}

TEST_F(StopFileTest, OneThatAnotherWaitsForStaysAndIsNotOurs) {
  Touch();
  const auto file = StopFile::Prepare(path, true);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_FALSE(file.value().Appeared());
  std::filesystem::remove(path);
  EXPECT_FALSE(file.value().Appeared());
  ::usleep(20'000);  // the kernel's clock for files is coarse
  Touch();
  EXPECT_TRUE(file.value().Appeared());
}

TEST_F(StopFileTest, ALinkThatAppearsIsOneButNoneIsRemoved) {
  const auto file = StopFile::Prepare(path, false);
  ASSERT_TRUE(file.ok());
  std::filesystem::create_symlink("nowhere", path);
  EXPECT_TRUE(file.value().Appeared());
  for (const bool awaited : {false, true})
    EXPECT_FALSE(StopFile::Prepare(path, awaited).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path));
}

TEST_F(StopFileTest, OurOwnFilesAreRefusedBehindLinksAndBeforeTheyExist) {
  const std::string ours = dir + "/t.sonde", link = dir + "/link";
  std::filesystem::create_directory_symlink(dir, dir + "/here");
  std::filesystem::create_symlink("here/t.sonde", path);
  std::filesystem::create_symlink("stop.flag", link);
  const auto expect_refused = [&] {
    for (const std::string& at : {ours, dir + "/here/t.sonde", path, link})
      EXPECT_FALSE(StopFile::CheckApart(at, ours).ok()) << at;
    EXPECT_TRUE(StopFile::CheckApart(dir + "/here/u.sonde", ours).ok());
  };
  expect_refused();
  std::ofstream(ours) << "x";
  expect_refused();
  std::filesystem::create_hard_link(ours, dir + "/hard");
  EXPECT_FALSE(StopFile::CheckApart(dir + "/hard", ours).ok());
}

TEST_F(StopFileTest, LinksThatGoRoundDoNotHang) {
  std::filesystem::create_symlink("stop.flag", path);
  EXPECT_TRUE(StopFile::CheckApart(path, dir + "/t.sonde").ok());
}

TEST_F(StopFileTest, WhatCannotBeOneIsRefusedInOneLine) {
  const auto what = [](const std::string& at) {
    const auto file = StopFile::Prepare(at, false);
    return file.ok() ? "ok" : file.error().what;
  };
  EXPECT_EQ(what(dir), "stop file " + dir + ": is a directory");
  EXPECT_EQ(what(dir + "/no/x"),
            "stop file " + dir + "/no/x: there is no directory for it");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(what(path), "stop file " + path + ": exists and is not a file");
}

}  // namespace
}  // namespace sonde

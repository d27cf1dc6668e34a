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

TEST_F(StopFileTest, ADanglingLinkIsOne) {
  std::filesystem::create_symlink("nowhere", path);
  const auto file = StopFile::Prepare(path, false);
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(std::filesystem::is_symlink(path));
  std::filesystem::create_symlink("nowhere", path);
  EXPECT_TRUE(file.value().Appeared());
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

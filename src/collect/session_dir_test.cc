#include "collect/session_dir.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sonde {
namespace {

struct SessionDirTest : testing::Test {
  void SetUp() override {
    std::string name = testing::TempDir() + "/session_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    base = name;
    ::setenv("XDG_RUNTIME_DIR", base.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("XDG_RUNTIME_DIR");
    std::filesystem::remove_all(base);
  }

  SessionDir Create() {
    SessionInfo info;
    info.command = "sleep 1";
    info.trace = base + "/t.sonde";
    auto dir = SessionDir::Create(info);
    EXPECT_TRUE(dir.ok());
    return dir.Take();
  }

  std::string Name(const char* tail) const {
    return base + "/sonde-" + std::to_string(::getuid()) + "-" + tail;
  }

  std::string base;
};

TEST_F(SessionDirTest, ALiveSessionIsFoundWithWhatItSaysOfItself) {
  const SessionDir dir = Create();
  const auto info = FindSession(dir.path());
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info.value().pid, ::getpid());
  EXPECT_EQ(info.value().command, "sleep 1");
  EXPECT_EQ(info.value().trace, base + "/t.sonde");
  const auto live = LiveSessions();
  EXPECT_TRUE(std::any_of(live.begin(), live.end(), [&](const auto& one) {
    return one.dir == dir.path();
  }));
}

TEST_F(SessionDirTest, OnlyItsOwnerMayEnter) {
  const mode_t before = ::umask(0777);
  const SessionDir dir = Create();
  ::umask(before);
  struct stat st;
  ASSERT_EQ(::stat(dir.path().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0700u);
}

TEST_F(SessionDirTest, GoesAwayWithItsMaker) {
  std::string path;
  {
    const SessionDir dir = Create();
    path = dir.path();
    std::ofstream(path + "/ctl") << "x";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(FindSession(path).ok());
}

TEST_F(SessionDirTest, DeadSessionsAreSweptAndLiveOnesNot) {
  const SessionDir alive = Create();
  const std::string dead = Name("dead");
  std::filesystem::create_directory(dead);
  std::ofstream(dead + "/lock") << "{}";
  const SessionDir next = Create();
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(alive.path()));
}

TEST_F(SessionDirTest, RecordsOfAKilledSessionAreKeptForADay) {
  const std::string dead = Name("dead");
  std::filesystem::create_directory(dead);
  std::ofstream(dead + "/lock") << "{}";
  std::ofstream(dead + "/1-a.ring") << "x";
  const auto now = std::filesystem::file_time_type::clock::now();
  const auto old = now - std::chrono::hours(25);
  // How long ago a file came or went does not matter, but when one was written.
  std::filesystem::last_write_time(dead, old);
  { const SessionDir next = Create(); }
  EXPECT_TRUE(std::filesystem::exists(dead));
  for (const char* name : {"/lock", "/1-a.ring"})
    std::filesystem::last_write_time(dead + name, old);
  { const SessionDir next = Create(); }
  EXPECT_FALSE(std::filesystem::exists(dead));
}

TEST_F(SessionDirTest, ASessionInTheMakingIsNotSwept) {
  const std::string young = Name("young.new");
  std::filesystem::create_directory(young);
  const SessionDir next = Create();
  EXPECT_TRUE(std::filesystem::exists(young));
}

// One beside its trace, where sessions are not looked for.
TEST_F(SessionDirTest, OneElsewhereIsFoundByTheFileThatSaysWhere) {
  const SessionDir dir = Create();
  const std::string name = std::filesystem::path(dir.path()).filename();
  const std::string runtime = base + "/runtime";
  std::filesystem::create_directory(runtime);
  ::setenv("XDG_RUNTIME_DIR", runtime.c_str(), 1);
  const auto found = [&] {
    const auto live = LiveSessions();
    return std::count_if(live.begin(), live.end(), [&](const auto& one) {
      return std::filesystem::path(one.dir).filename() == name;
    });
  };
  const std::string at = runtime + "/" + name + ".at";
  EXPECT_EQ(found(), 0);
  std::ofstream(at) << dir.path();
  EXPECT_EQ(found(), 1);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(base);
  EXPECT_EQ(found(), 1) << "it is found twice, and is one";
  std::filesystem::current_path(before);
  // Others' files, and those that name something else.
  for (const std::string& text :
       {std::string(), std::string("/"), name, base, dir.path() + "\n",
        std::string(1 << 20, '/')}) {
    std::ofstream(at) << text;
    EXPECT_EQ(found(), 0) << text.substr(0, 100);
  }
  std::ofstream(runtime + "/text") << dir.path();
  std::filesystem::remove(at);
  std::filesystem::create_symlink("text", at);
  EXPECT_EQ(found(), 0);
}

TEST_F(SessionDirTest, TheFileThatSaysWhereGoesWithItsSession) {
  const std::string there =
      base + "/there/sonde-" + std::to_string(::getuid()) + "-dead";
  const std::string at = Name("dead.at"), lost = Name("lost.at");
  std::filesystem::create_directories(there);
  std::ofstream(there + "/lock") << "{}";
  std::ofstream(there + "/1-a.ring") << "x";
  std::ofstream(at) << there;
  std::ofstream(lost) << base + "/nowhere" + Name("lost").substr(base.size());
  { const SessionDir next = Create(); }
  EXPECT_TRUE(std::filesystem::exists(at)) << "it can be recovered";
  EXPECT_TRUE(std::filesystem::exists(lost)) << "another may see it";
  std::filesystem::remove(there + "/1-a.ring");
  std::filesystem::last_write_time(
      lost,
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(25));
  { const SessionDir next = Create(); }
  EXPECT_FALSE(std::filesystem::exists(there));
  EXPECT_FALSE(std::filesystem::exists(at));
  EXPECT_FALSE(std::filesystem::exists(lost));
}

TEST_F(SessionDirTest, ALinkIsNoSession) {
  const SessionDir dir = Create();
  const std::string link = Name("link");
  std::filesystem::create_symlink(dir.path(), link);
  EXPECT_FALSE(FindSession(link).ok());
}

TEST_F(SessionDirTest, NonsenseInTheLockIsNoSession) {
  const std::string path = Name("strange");
  std::filesystem::create_directory(path);
  std::ofstream(path + "/lock") << "[1, 2";
  const Fd lock(::open((path + "/lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  EXPECT_FALSE(FindSession(path).ok());
}

}  // namespace
}  // namespace sonde

#include "collect/session/session_dir.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
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

  // What a killed session leaves behind.
  void MakeDead(const std::string& path) const {
    std::filesystem::create_directories(path);
    ::chmod(path.c_str(), 0700);
    std::ofstream(path + "/lock")
        << R"({"pid":1,"command":"a b","trace":"/t.sonde","stop_file":""})";
  }

  std::string base;
};

constexpr char kDead[] = "0123456789abcdef";

TEST_F(SessionDirTest, WithoutDescriptorsTheErrorSaysSoAndNothingStays) {
  const auto unfinished = [&] {
    size_t count = 0;
    for (const std::string& place : {base, std::string("/dev/shm")})
      for (const auto& one : std::filesystem::directory_iterator(place))
        count += one.path().string().ends_with(".new");
    return count;
  };
  const size_t before = unfinished();
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(next);
  rlimit limit = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none = {static_cast<rlim_t>(next), limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  SessionInfo info;
  info.trace = base + "/t.sonde";
  const auto dir = SessionDir::Create(info);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_FALSE(dir.ok());
  EXPECT_NE(dir.error().what.find("Too many open files"), std::string::npos)
      << dir.error().what;
  EXPECT_EQ(unfinished(), before);
}

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
  const std::string dead = Name(kDead);
  MakeDead(dead);
  const SessionDir next = Create();
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(alive.path()));
}

TEST_F(SessionDirTest, RecordsOfAKilledSessionAreKeptForADay) {
  const std::string dead = Name(kDead);
  MakeDead(dead);
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

TEST_F(SessionDirTest, WhatIsNotASessionBeyondDoubtIsNotTouched) {
  const std::string lock =
      R"({"pid":1,"command":"a b","trace":"/t.sonde","stop_file":""})";
  const auto old =
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(25);
  struct Case {
    const char* name;
    std::string lock;  // "": none
    mode_t mode;
  };
  const Case cases[] = {{"results", lock, 0700},
                        {"0123456789abcdeF", lock, 0700},
                        {"0123456789abcdef0", lock, 0700},
                        {"0123456789abcdef.old", lock, 0700},
                        {"0123456789abcde1", "", 0700},
                        {"0123456789abcde2", "{}", 0700},
                        {"0123456789abcde3", "[1]", 0700},
                        {"0123456789abcde4", R"({"pid":1})", 0700},
                        {"0123456789abcde5", lock, 0755},
                        {"0123456789abcde6.new", "", 0700}};
  for (const Case& one : cases) {
    const std::string path = Name(one.name);
    std::filesystem::create_directory(path);
    ::chmod(path.c_str(), one.mode);
    if (!one.lock.empty()) std::ofstream(path + "/lock") << one.lock;
    std::ofstream(path + "/ctl") << "precious";
    std::filesystem::last_write_time(path, old);
  }
  const std::string at = Name("0123456789abcde7.at");
  std::ofstream(at) << "notes of mine";
  std::filesystem::last_write_time(at, old);
  { const SessionDir next = Create(); }
  for (const Case& one : cases)
    EXPECT_TRUE(std::filesystem::exists(Name(one.name) + "/ctl")) << one.name;
  EXPECT_TRUE(std::filesystem::exists(at));
}

TEST_F(SessionDirTest, OnlyWhatSondeMakesIsRemovedFromASession) {
  const std::string dead = Name(kDead);
  MakeDead(dead);
  std::ofstream(dead + "/control") << "x";
  std::filesystem::create_directory(dead + "/1-a.ring");
  { const SessionDir next = Create(); }
  EXPECT_FALSE(std::filesystem::exists(dead)) << "an empty directory goes";
  MakeDead(dead);
  std::ofstream(dead + "/control") << "x";
  std::ofstream(dead + "/notes") << "precious";
  {
    const SessionDir next = Create();
    EXPECT_EQ(next.left(), std::vector<std::string>{dead});
    std::ofstream(next.path() + "/notes") << "precious";
  }
  EXPECT_TRUE(std::filesystem::exists(dead + "/notes"));
  EXPECT_FALSE(std::filesystem::exists(dead + "/control"));
  SessionDir next = Create();
  EXPECT_TRUE(next.left().empty()) << "said once";
  std::ofstream(next.path() + "/notes") << "precious";
  EXPECT_FALSE(next.Remove());
  EXPECT_TRUE(std::filesystem::exists(next.path() + "/notes"));
}

TEST_F(SessionDirTest, AnOldSessionInTheMakingGoesIfItIsEmpty) {
  const std::string left = Name("0123456789abcdef.new");
  std::filesystem::create_directory(left);
  ::chmod(left.c_str(), 0700);
  std::filesystem::last_write_time(
      left,
      std::filesystem::file_time_type::clock::now() - std::chrono::minutes(5));
  const SessionDir next = Create();
  EXPECT_FALSE(std::filesystem::exists(left));
}

// A FIFO would hang whoever opens it.
TEST_F(SessionDirTest, ALockThatIsNoFileIsNoSession) {
  const std::string path = Name(kDead);
  std::filesystem::create_directory(path);
  ::chmod(path.c_str(), 0700);
  ASSERT_EQ(::mkfifo((path + "/lock").c_str(), 0600), 0);
  EXPECT_FALSE(FindSession(path).ok());
  EXPECT_FALSE(SessionDir::TakeOver(path).ok());
  for (const SessionInfo& one : DeadSessions(base + "/t.sonde"))
    EXPECT_NE(one.dir, path);
  { const SessionDir next = Create(); }
  EXPECT_TRUE(std::filesystem::exists(path + "/lock"));
}

TEST_F(SessionDirTest, ASessionInTheMakingIsNotSwept) {
  const std::string young = Name("0123456789abcdef.new");
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
      base + "/there/sonde-" + std::to_string(::getuid()) + "-" + kDead;
  const std::string at = Name("0123456789abcdef.at"),
                    lost = Name("0123456789abcde0.at");
  MakeDead(there);
  std::ofstream(there + "/1-a.ring") << "x";
  std::ofstream(at) << there;
  std::ofstream(lost) << base + "/nowhere" +
                             Name("0123456789abcde0").substr(base.size());
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
  const std::string link = Name("0123456789abcdef");
  std::filesystem::create_symlink(dir.path(), link);
  EXPECT_FALSE(FindSession(link).ok());
}

TEST_F(SessionDirTest, NonsenseInTheLockIsNoSession) {
  const std::string path = Name(kDead);
  std::filesystem::create_directory(path);
  std::ofstream(path + "/lock") << "[1, 2";
  const Fd lock(::open((path + "/lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  EXPECT_FALSE(FindSession(path).ok());
}

}  // namespace
}  // namespace sonde

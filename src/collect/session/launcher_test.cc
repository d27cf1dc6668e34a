#include "collect/session/launcher.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace sonde {
namespace {

struct LauncherTest : testing::Test {
  void SetUp() override {
    std::string name = testing::TempDir() + "/launcher_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory = name;
    witness = name + "/witness";
    sigemptyset(&mask);
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  Launcher Fork(const std::vector<std::string>& command) {
    auto launcher = Launcher::Fork(command, "/nowhere", mask);
    EXPECT_TRUE(launcher.ok());
    return launcher.Take();
  }
  static int Wait(pid_t pid) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return status;
  }

  std::string directory, witness;
  sigset_t mask;
};

TEST_F(LauncherTest, NothingRunsBeforeTheGateOpens) {
  Launcher launcher = Fork({"touch", witness});
  ::usleep(20'000);
  EXPECT_FALSE(std::filesystem::exists(witness));
  EXPECT_EQ(launcher.Go(), 0);
  EXPECT_EQ(Wait(launcher.pid()), 0);
  EXPECT_TRUE(std::filesystem::exists(witness));
}

TEST_F(LauncherTest, ACommandNotLetGoIsTakenAway) {
  pid_t pid = 0;
  {
    const Launcher launcher = Fork({"touch", witness});
    pid = launcher.pid();
  }
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_FALSE(std::filesystem::exists(witness));
}

TEST_F(LauncherTest, AFailedExecIsToldByItsErrno) {
  EXPECT_EQ(Fork({"no-such-command-here"}).Go(), ENOENT);
  EXPECT_EQ(Fork({directory}).Go(), EACCES);
}

TEST_F(LauncherTest, TheSessionIsTheOnlyChangeOfTheEnvironment) {
  Launcher launcher = Fork(
      {"sh", "-c", "test \"$SONDE_SESSION\" = /nowhere && test \"$HOME\""});
  EXPECT_EQ(launcher.Go(), 0);
  EXPECT_EQ(Wait(launcher.pid()), 0);
}

TEST_F(LauncherTest, TheCommandStartsAlsoIfTheCollectorIsKilled) {
  const pid_t collector = ::fork();
  if (collector == 0) {
    auto launcher = Launcher::Fork({"touch", witness}, "/nowhere", mask);
    ::kill(::getpid(), SIGKILL);
  }
  Wait(collector);
  for (int i = 0; i < 500 && !std::filesystem::exists(witness); ++i)
    ::usleep(10'000);
  EXPECT_TRUE(std::filesystem::exists(witness));
}

}  // namespace
}  // namespace sonde

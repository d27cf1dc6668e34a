#include "collect/tree/process_tree.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "base/time.h"
#include "collect/proc/proc_file.h"
#include "collect/tree/proc_tree.h"
#include "collect/tree/watch_target.h"
#include "tools/trace_contents.h"

namespace sonde {
namespace {

// How often the tree wakes its caller within `ms`.
int Wakes(ProcessTree& tree, int64_t ms) {
  std::vector<pollfd> fds;
  for (const int fd : tree.wake_fds()) fds.push_back({fd, POLLIN, 0});
  const int64_t until_ns = NowNs() + ms * kNsPerMs;
  int wakes = 0;
  do {
    if (::poll(fds.data(), fds.size(), 5) > 0) ++wakes;
    tree.Poll(NowNs());
  } while (NowNs() < until_ns);
  return wakes;
}

TEST(ProcessTree, WakesForAForkAndIsQuietAfterTheEnd) {
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  const pid_t root = ::fork();
  ASSERT_GE(root, 0);
  if (root == 0) {
    char go;
    if (::read(gate[0], &go, 1) != 1) ::_exit(1);
    if (::fork() == 0) ::_exit(0);
    ::wait(nullptr);
    ::_exit(0);
  }
  auto bytes = std::make_shared<std::string>();
  const auto out = TraceWriter::CreateInMemory({}, bytes);
  const auto tree = ProcessTree::Follow(root, *out, {});
  const bool perf = tree->source() == "perf";
  // A sanitizer begins threads of its own in the child.
  int busy = 0;
  while (Wakes(*tree, 50) != 0 && busy < 100) ++busy;
  EXPECT_LT(busy, 100);
  ASSERT_EQ(::write(gate[1], "x", 1), 1);
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(root), &info, WEXITED | WNOWAIT),
            0);
  if (perf) {
    EXPECT_GE(Wakes(*tree, 50), 1);
    // The command is a zombie, its events have hung up.
    EXPECT_LE(Wakes(*tree, 100), 3);
  }
  int status = 0;
  rusage usage = {};
  ASSERT_EQ(::wait4(root, &status, 0, &usage), root);
  tree->RootEnded(NowNs(), status, usage);
  tree->Stop(NowNs());
  ASSERT_TRUE(out->Close().ok());
  if (perf) {
    EXPECT_EQ(TraceContents::OfBytes(bytes).processes.size(), 2u);
  }
  ::close(gate[0]);
  ::close(gate[1]);
}

// A process that makes `children` at a word, and waits for none of them.
struct Careless {
  explicit Careless(int children) {
    CHECK(::pipe(go) == 0 && ::pipe(done) == 0);
    pid = ::fork();
    if (pid != 0) return;
    char word;
    while (::read(go[0], &word, 1) == 1) {
      siginfo_t info;
      for (int i = 0; i < children; ++i)
        if (const pid_t child = ::fork(); child == 0)
          ::_exit(0);
        else
          ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
      if (::write(done[1], "x", 1) != 1) break;
    }
    ::_exit(0);
  }
  ~Careless() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    for (const int fd : {go[0], go[1], done[0], done[1]}) ::close(fd);
  }
  void Go() {
    char word;
    CHECK(::write(go[1], "x", 1) == 1 && ::read(done[0], &word, 1) == 1);
  }

  int go[2], done[2];
  pid_t pid;
};

TEST(ProcessTree, AZombieIsCountedOnce) {
  Careless root(3);
  root.Go();
  auto bytes = std::make_shared<std::string>();
  const auto out = TraceWriter::CreateInMemory({}, bytes);
  ProcTree tree(root.pid, *out, {}, {});
  int64_t now_ns = NowNs();
  const auto look = [&] {
    for (int i = 0; i < 20; ++i) tree.Poll(now_ns += kNsPerSec);
  };
  look();
  root.Go();
  look();
  tree.Stop(now_ns);
  ASSERT_TRUE(out->Close().ok());
  EXPECT_EQ(TraceContents::OfBytes(bytes).processes.size(), 7u);
}

volatile sig_atomic_t g_looking = 0, g_stopped = 0;

TEST(ProcessTree, TimeInWhichWeDidNotRunCostsNoLook) {
  Careless root(1);
  auto bytes = std::make_shared<std::string>();
  const auto out = TraceWriter::CreateInMemory({}, bytes);
  ProcTree tree(root.pid, *out, {}, {});
  // Stops us for a while in the midst of a look.
  struct sigaction stop = {}, before = {};
  stop.sa_flags = SA_RESTART;
  stop.sa_handler = [](int) {
    if (g_looking && !g_stopped) g_stopped = 1, ::usleep(200'000);
  };
  ASSERT_EQ(::sigaction(SIGALRM, &stop, &before), 0);
  const itimerval often = {{0, 100}, {0, 100}}, never = {};
  g_stopped = 0;
  ASSERT_EQ(::setitimer(ITIMER_REAL, &often, nullptr), 0);
  int64_t now_ns = NowNs();
  for (int i = 0; i < 100'000 && !g_stopped; ++i) {
    g_looking = 1;
    tree.Poll(now_ns += 60 * kNsPerSec);
    g_looking = 0;
  }
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  ASSERT_TRUE(g_stopped);
  root.Go();
  const uint64_t changes = tree.changes();
  tree.Poll(now_ns + 2 * kNsPerSec);
  EXPECT_GT(tree.changes(), changes);
  tree.Stop(now_ns + 2 * kNsPerSec);
  ASSERT_TRUE(out->Close().ok());
}

std::set<pid_t> PidsOf(const WatchTarget& target) {
  auto bytes = std::make_shared<std::string>();
  const auto out = TraceWriter::CreateInMemory({}, bytes);
  const auto tree = ProcessTree::Watch(target, *out, {});
  tree->Poll(NowNs());
  tree->Stop(NowNs());
  CHECK(out->Close().ok());
  std::set<pid_t> pids;
  for (const auto& [number, row] : TraceContents::OfBytes(bytes).processes)
    pids.insert(row.pid);
  return pids;
}

TEST(ProcessTree, WhatWeStartedOurselvesIsNotWatched) {
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const pid_t its = ::fork();
    if (its == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) ::pause();
    }
    if (::write(told[1], &its, sizeof(its)) != sizeof(its)) ::_exit(1);
    for (;;) ::pause();
  }
  pid_t its = 0;
  ASSERT_EQ(::read(told[0], &its, sizeof(its)),
            static_cast<ssize_t>(sizeof(its)));
  auto above = WatchTarget::Process(::getppid());
  ASSERT_TRUE(above.ok());
  for (const auto& pids :
       {PidsOf(WatchTarget::Everything()), PidsOf(above.value())}) {
    EXPECT_TRUE(pids.contains(::getppid()));
    EXPECT_FALSE(pids.contains(::getpid()));
    EXPECT_FALSE(pids.contains(child));
    EXPECT_FALSE(pids.contains(its)) << "the tool that asks devices";
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(told[0]);
  ::close(told[1]);
}

TEST(ProcessTree, AnExecThatSomebodyTellsOfIsNotFoundASecondTime) {
  int told[2], gate[2];
  ASSERT_EQ(::pipe(told), 0);
  ASSERT_EQ(::pipe(gate), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char byte;
    ::dup2(told[1], 1);
    for (const int fd : {told[0], told[1], gate[1]}) ::close(fd);
    if (::read(gate[0], &byte, 1) == 1)
      ::execl("/bin/sh", "sh", "-c", "echo; exec sleep 100", nullptr);
    ::_exit(127);
  }
  auto bytes = std::make_shared<std::string>();
  const auto out = TraceWriter::CreateInMemory({}, bytes);
  const auto tree = ProcessTree::Follow(child, *out, {.use_perf = false});
  EXPECT_EQ(tree->FindPid(child)->exec_ns, kNoTime);
  const int64_t at_ns = NowNs();
  char byte = 0;
  ASSERT_EQ(::write(gate[1], &byte, 1), 1);
  ASSERT_EQ(::read(told[0], &byte, 1), 1);
  const auto comm = [&] {
    return ReadText("/proc/" + std::to_string(child) + "/comm");
  };
  while (comm() != "sleep\n") ::usleep(1000);
  const int64_t second_ns = NowNs();
  tree->NoteExec(child, at_ns, "sh");
  EXPECT_EQ(tree->FindPid(child)->exec_ns, at_ns);
  tree->NoteExec(child, second_ns, "sleep");
  tree->NoteExec(child, at_ns, "sh");
  tree->NoteExec(1, second_ns, "init");
  const uint64_t changes = tree->changes();
  tree->Poll(NowNs() + kNsPerSec);
  EXPECT_EQ(tree->FindPid(child)->exec_ns, second_ns);
  EXPECT_EQ(tree->changes(), changes);
  tree->Stop(NowNs());
  ASSERT_TRUE(out->Close().ok());
  const auto rows = TraceContents::OfBytes(bytes).processes;
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows.begin()->second.execs, 2u);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (const int fd : {told[0], told[1], gate[0], gate[1]}) ::close(fd);
}

}  // namespace
}  // namespace sonde

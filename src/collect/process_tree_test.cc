#include "collect/process_tree.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "tools/trace_contents.h"

namespace sonde {
namespace {

// How often the tree wakes its caller within `ms`.
int Wakes(ProcessTree& tree, int64_t ms) {
  std::vector<pollfd> fds;
  for (const int fd : tree.wake_fds()) fds.push_back({fd, POLLIN, 0});
  const int64_t until_ns = NowNs() + ms * kNsPerMs;
  int wakes = 0;
  while (NowNs() < until_ns) {
    if (::poll(fds.data(), fds.size(), 5) > 0) ++wakes;
    tree.Poll(NowNs());
  }
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
  EXPECT_EQ(Wakes(*tree, 50), 0);
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
  tree->Finish(NowNs());
  ASSERT_TRUE(out->Close().ok());
  if (perf) {
    EXPECT_EQ(TraceContents::OfBytes(bytes).processes.size(), 2u);
  }
  ::close(gate[0]);
  ::close(gate[1]);
}

}  // namespace
}  // namespace sonde

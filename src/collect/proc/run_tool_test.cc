#include "collect/proc/run_tool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "base/time.h"

namespace sonde {
namespace {

TEST(RunTool, GivesWhatIsPrinted) {
  EXPECT_EQ(RunTool({"printf", "a b"}, 5 * kNsPerSec), "a b");
  EXPECT_EQ(RunTool({"false"}, 5 * kNsPerSec), std::nullopt);
  EXPECT_EQ(RunTool({"no-such-tool"}, 5 * kNsPerSec), std::nullopt);
}

TEST(RunTool, ShowsNoErrorsAndGivesNothingToRead) {
  // Something that could be read is at hand.
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "z\n", 2), 2);
  ::close(ends[1]);
  const int kept = ::dup(0);
  ASSERT_EQ(::dup2(ends[0], 0), 0);
  ::close(ends[0]);
  EXPECT_EQ(RunTool({"sh", "-c", "cat; echo x >&2; echo y"}, 5 * kNsPerSec),
            "y\n");
  ::dup2(kept, 0);
  ::close(kept);
}

TEST(RunTool, EndsWhatDoesNotEnd) {
  const int64_t begin_ns = NowNs();
  EXPECT_EQ(RunTool({"sleep", "100"}, 100 * kNsPerMs), std::nullopt);
  EXPECT_EQ(RunTool({"sh", "-c", "sleep 100; :"}, 100 * kNsPerMs),
            std::nullopt);
  EXPECT_EQ(RunTool({"sh", "-c", "exec >&-; sleep 100"}, 100 * kNsPerMs),
            std::nullopt)
      << "it prints nothing more, but does not end";
  EXPECT_EQ(RunTool({"yes"}, 60 * kNsPerSec), std::nullopt);
  EXPECT_LT(NowNs() - begin_ns, 20 * kNsPerSec);
}

// Then the kernel waits for it.
TEST(RunTool, WorksWhereTheEndOfChildrenIsIgnored) {
  ::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(RunTool({"printf", "a b"}, 5 * kNsPerSec), "a b");
  ::signal(SIGCHLD, SIG_DFL);
}

}  // namespace
}  // namespace sonde

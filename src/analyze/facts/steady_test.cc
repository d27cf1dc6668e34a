#include "analyze/facts/steady.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(Steady, AThreadIsCalledByItsRoleOrWhatTellsItFromOthers) {
  ProcessFacts p;
  p.row.pid = 10;
  p.name = "python";
  p.cmdline = "python x.py";
  p.threads.resize(4);
  const char* const names[] = {"python", "python", "loader", ""};
  for (size_t i = 0; i < p.threads.size(); ++i) {
    p.threads[i].row.tid = 10 + static_cast<int32_t>(i);
    p.threads[i].name = names[i];
  }
  EXPECT_EQ(CallThread(p, p.threads[0]), "the main thread of python x.py");
  EXPECT_EQ(CallThread(p, p.threads[1]), "thread 11 of python x.py");
  EXPECT_EQ(CallThread(p, p.threads[2]), "thread loader of python x.py");
  EXPECT_EQ(CallThread(p, p.threads[3]), "thread 13 of python x.py");
  // Its threads inherit the name that it had when it started them.
  p.name = "rank 3";
  EXPECT_EQ(CallThread(p, p.threads[1]), "thread 11 of rank 3 (python x.py)");
}

}  // namespace
}  // namespace sonde

#include "analyze/facts/neighbours.h"

#include <gtest/gtest.h>

#include "analyze/facts/made_run.h"

namespace sonde {
namespace {

Facts Beside(const std::string& neighbours,
             const std::map<std::string, std::string>& meta = {}) {
  MadeRun run;
  run.seconds = 2;
  run.workers = {{.cores = MadeRun::Always(0.5)}};
  run.meta = meta;
  run.meta["neighbours"] = neighbours;
  return run.Make();
}

TEST(NeighbourWordsTest, NamesThreeMostFirst) {
  const Facts facts =
      Beside(R"([{"name":"a","cores":0.3},{"name":"gzip","cores":1.02},)"
             R"({"name":"c","cores":0.2},{"name":"d","cores":0.1}])");
  EXPECT_EQ(CallNeighbours(facts),
            "gzip 1.02 cores, a 0.30 cores, c 0.20 cores and others");
  EXPECT_EQ(OthersUsed(facts, 1.5),
            "Other programs used 1.50 cores (gzip 1.02 cores, a 0.30 cores, c "
            "0.20 cores and others)");
  EXPECT_EQ(CallNeighbours(
                Beside(R"([{"name":"a","cores":0.3},{"name":"b","cores":0.2},)"
                       R"({"name":"c","cores":0.1}])")),
            "a 0.30 cores, b 0.20 cores, c 0.10 cores");
}

TEST(NeighbourWordsTest, BelievesNoTrace) {
  for (const char* text :
       {"", "{", "7", "[7,[],{}]", R"([{"name":7,"cores":1}])",
        R"([{"name":"x","cores":-1}])", R"([{"name":"x","cores":1e300}])",
        R"([{"name":"x","cores":"1"}])"})
    EXPECT_TRUE(Beside(text).neighbours.empty()) << text;
  const Facts facts = Beside("[{\"name\":\"a\\u001b[2Jb\",\"cores\":1}]");
  ASSERT_EQ(facts.neighbours.size(), 1u);
  EXPECT_EQ(facts.neighbours[0].name.find('\x1b'), std::string::npos);
}

TEST(NeighbourWordsTest, NamesThemInsteadOfSendingPeopleToPs) {
  const std::string unseen = AdviceOnNeighbours(Beside(""));
  EXPECT_NE(unseen.find("`ps "), std::string::npos) << unseen;
  const std::string seen =
      AdviceOnNeighbours(Beside(R"([{"name":"gzip","cores":1}])"));
  EXPECT_EQ(seen.find("`ps "), std::string::npos) << seen;
  EXPECT_NE(seen.find("(gzip 1.00 cores)"), std::string::npos) << seen;
}

TEST(NeighbourWordsTest, NiceIsNotAdvisedWhereItIsVoid) {
  EXPECT_NE(AdviceOnNeighbours(Beside("")).find("nice"), std::string::npos);
  EXPECT_EQ(
      AdviceOnNeighbours(Beside("", {{"sched_autogroup", "1"}})).find("nice"),
      std::string::npos);
}

}  // namespace
}  // namespace sonde

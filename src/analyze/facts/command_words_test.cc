#include "analyze/facts/command_words.h"

#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"

namespace sonde {
namespace {

std::string ToolFor(const char* command, std::string_view cmdline) {
  const Facts facts = FactsOfText(
      "process 1 pid=10 name=a start=0 end=1s exit=0\nmeta command ", command);
  return MemoryToolFor(*facts.store, cmdline);
}

TEST(CommandWords, PythonIsKnownByItsInterpreter) {
  EXPECT_TRUE(IsPython("/usr/bin/python3.11 train.py"));
  EXPECT_TRUE(IsPython("pypy3"));
  EXPECT_FALSE(IsPython("sh python"));
  EXPECT_FALSE(IsPython("ipython-like/x"));
  EXPECT_FALSE(IsPython(""));
}

TEST(CommandWords, MemoryOfAPythonProgramIsSeenByItsOwnTools) {
  const std::string_view cmdline = "python3 serve.py 80";
  EXPECT_EQ(ToolFor(R"(["python3","serve.py","80"])", cmdline),
            "memray run --native serve.py 80, or tracemalloc in the program");
  EXPECT_EQ(ToolFor(R"(["python3","-m","serve"])", cmdline),
            "memray run --native -m serve, or tracemalloc in the program");
  EXPECT_EQ(ToolFor(R"(["python3","-u","serve.py"])", cmdline),
            "memray run --native SCRIPT, or tracemalloc in the program");
  EXPECT_EQ(ToolFor(R"(["sh","start.sh"])", cmdline),
            "memray run --native SCRIPT, or tracemalloc in the program");
  EXPECT_EQ(ToolFor(R"(["sh","start.sh"])", "./serve"),
            "heaptrack sh start.sh");
}

}  // namespace
}  // namespace sonde

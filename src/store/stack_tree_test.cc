#include "store/stack_tree.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "import/text_reader.h"

namespace sonde {
namespace {

using Kind = StackTreeNode::Kind;

constexpr char kTwoProcesses[] = R"(sonde-text 0
process 1 pid=100 name=python3 start=0
thread 1 process=1 tid=100 name=main start=0
thread 2 process=1 tid=101 name=loader start=0
process 2 pid=200 name=burn start=0
thread 3 process=2 tid=200 name=burn start=0
module 1 path=/usr/lib/libm.so.6
frame 1 function=main file=/src/train.py line=10
frame 2 function=parse file=/src/loader.py line=31
frame 3 function=parse file=/src/loader.py line=33
frame 4 module=1 offset=496
stack 1 frame=1
stack 2 parent=1 frame=2
stack 3 parent=1 frame=3
stack 4 frame=4
)";

struct StackTreeTest : testing::Test {
  // Of the lines of a text trace.
  StackTree Tree(const std::string& text) {
    auto bytes = ReadText(text, "made");
    EXPECT_TRUE(bytes.ok()) << bytes.error().what;
    auto opened = Store::OfBytes(bytes.Take(), "made.sonde");
    EXPECT_TRUE(opened.ok());
    store = opened.Take();
    auto sums = RunningStacks(*store);
    EXPECT_TRUE(sums.ok());
    return {*store, sums.value()};
  }

  // "all/process/thread/..." of a node.
  static std::string Path(const StackTree& tree, const StackTreeNode& node) {
    const std::string name = tree.Name(node);
    return node.kind == Kind::kAll
               ? name
               : Path(tree, tree.nodes()[node.parent]) + "/" + name;
  }

  static const StackTreeNode* Find(const StackTree& tree,
                                   const std::string& path) {
    for (const StackTreeNode& node : tree.nodes())
      if (Path(tree, node) == path) return &node;
    return nullptr;
  }

  static void ExpectSums(const StackTree& tree) {
    std::vector<uint64_t> below(tree.nodes().size());
    for (size_t i = 1; i < tree.nodes().size(); ++i) {
      ASSERT_LT(tree.nodes()[i].parent, i);
      below[tree.nodes()[i].parent] += tree.nodes()[i].total_ns;
    }
    for (size_t i = 0; i < tree.nodes().size(); ++i)
      EXPECT_EQ(tree.nodes()[i].total_ns, tree.nodes()[i].self_ns + below[i])
          << Path(tree, tree.nodes()[i]);
  }

  std::shared_ptr<const Store> store;
};

TEST_F(StackTreeTest, LinesOfAFunctionAreOneNodeCalledByTheLineWithMost) {
  const StackTree tree = Tree(std::string(kTwoProcesses) +
                              "sample 1ms thread=1 stack=2 weight=10ms\n"
                              "sample 2ms thread=1 stack=3 weight=30ms\n"
                              "sample 3ms thread=1 stack=1 weight=5ms\n");
  ExpectSums(tree);
  const StackTreeNode* const parse =
      Find(tree,
           "all/python3 (pid 100)/main (tid 100)/main (train.py:10)/parse "
           "(loader.py:33)");
  ASSERT_NE(parse, nullptr);
  EXPECT_EQ(parse->self_ns, 40'000'000u);
  EXPECT_EQ(parse->samples, 2u);
  const StackTreeNode& main = tree.nodes()[parse->parent];
  EXPECT_EQ(main.self_ns, 5'000'000u);
  EXPECT_EQ(main.total_ns, 45'000'000u);
  EXPECT_EQ(tree.nodes().size(), 5u);
}

TEST_F(StackTreeTest, ThreadsAndProcessesAreApartAndWaitingIsNotThere) {
  const StackTree tree =
      Tree(std::string(kTwoProcesses) +
           "sample 1ms thread=1 stack=1 weight=1ms\n"
           "sample 1ms thread=2 stack=1 weight=2ms\n"
           "sample 1ms thread=3 stack=4 weight=4ms\n"
           "sample 2ms thread=3 stack=4 weight=9ms waiting\n"
           "sample 1ms thread=3 weight=8ms\nsample 1ms weight=16ms\n");
  ExpectSums(tree);
  EXPECT_EQ(tree.nodes()[0].total_ns, 31'000'000u);
  for (const auto& [path, ms] : std::map<std::string, uint64_t>{
           {"all/python3 (pid 100)", 3},
           {"all/python3 (pid 100)/loader (tid 101)/main (train.py:10)", 2},
           {"all/burn (pid 200)/burn (tid 200)/libm.so.6+0x1f0", 4},
           {"all/burn (pid 200)/burn (tid 200)/stack not known", 8},
           {"all/unknown process/unknown thread/stack not known", 16}}) {
    const StackTreeNode* const node = Find(tree, path);
    ASSERT_NE(node, nullptr) << path;
    EXPECT_EQ(node->total_ns, ms * 1'000'000) << path;
  }
}

TEST_F(StackTreeTest, DepthHasAnEndThatIsSaid) {
  std::string text = std::string(kTwoProcesses) + "stack 10 frame=1\n";
  for (int i = 11; i < 300 + 10; ++i)
    text += fmt::format("stack {} parent={} frame=2\n", i, i - 1);
  const StackTree tree =
      Tree(text + "sample 1ms thread=1 stack=309 weight=1ms\n");
  ExpectSums(tree);
  EXPECT_EQ(tree.nodes().size(), 3 + StackTree::kMostDepth + 1);
  EXPECT_EQ(tree.Name(tree.nodes().back()), "deeper than 256 functions");
  EXPECT_EQ(tree.nodes().back().self_ns, 1'000'000u);
}

TEST_F(StackTreeTest, StacksTooLongForNamesSayThatCallersAreMissing) {
  std::string text = std::string(kTwoProcesses) + "stack 10 frame=1\n";
  for (int i = 11; i < 5000; ++i)
    text += fmt::format("stack {} parent={} frame=2\n", i, i - 1);
  const StackTree tree =
      Tree(text + "sample 1ms thread=1 stack=4999 weight=1ms\n");
  ExpectSums(tree);
  EXPECT_NE(Find(tree, "all/python3 (pid 100)/main (tid 100)/callers left out"),
            nullptr);
}

}  // namespace
}  // namespace sonde

#include "trace/stack_table.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

StackFrame At(uint64_t offset) {
  StackFrame frame;
  frame.module = 1;
  frame.offset = offset;
  return frame;
}

TEST(StackTableTest, AStackIsFoundAgainAndMakesNoRows) {
  StackTable table;
  const std::vector<StackFrame> stack = {At(1), At(2), At(3)};
  const uint32_t id = table.AddStack(stack);
  EXPECT_EQ(table.TakeRows().size(), 6u) << "three frames, three nodes";
  EXPECT_EQ(table.AddStack(stack), id);
  EXPECT_TRUE(table.TakeRows().empty());
}

TEST(StackTableTest, StacksShareTheirCallers) {
  StackTable table;
  const std::vector<StackFrame> one = {At(1), At(2)}, other = {At(1), At(3)};
  table.AddStack(one);
  table.TakeRows();
  table.AddStack(other);
  EXPECT_EQ(table.TakeRows().size(), 2u) << "one frame, one node";
}

TEST(StackTableTest, StacksThatDifferHaveDifferentIds) {
  StackTable table;
  const std::vector<StackFrame> a = {At(1), At(2)}, b = {At(2), At(1)},
                                c = {At(1)};
  EXPECT_NE(table.AddStack(a), table.AddStack(b));
  EXPECT_NE(table.AddStack(a), table.AddStack(c));
  EXPECT_EQ(table.AddStack({}), 0u);
}

TEST(StackTableTest, WhatIsForgottenGetsNewIdsAndOldOnesStay) {
  StackTable table;
  uint32_t last = 0;
  for (uint64_t i = 0; i <= StackTable::kMostNodes; ++i)
    last = table.AddFrame(At(i));
  EXPECT_EQ(last, StackTable::kMostNodes + 1);
  EXPECT_EQ(table.AddFrame(At(0)), last + 1) << "0 was forgotten";
  const std::vector<StackRow> rows = table.TakeRows();
  EXPECT_EQ(rows.size(), StackTable::kMostNodes + 2);
  EXPECT_EQ(rows[0].frame, rows.back().frame);
}

TEST(StackTableTest, ManyWholeStacksAreForgottenNotTheirNodes) {
  StackTable table;
  for (uint64_t i = 0; i <= StackTable::kMostStacks; ++i)
    table.AddStack(std::vector{At(i)});
  table.TakeRows();
  table.AddStack(std::vector{At(0)});
  EXPECT_TRUE(table.TakeRows().empty());
}

}  // namespace
}  // namespace sonde

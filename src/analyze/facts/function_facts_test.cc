#include "analyze/facts/function_facts.h"

#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"

namespace sonde {
namespace {

constexpr std::string_view kRun =
    "process 1 pid=10 name=python3 start=0 end=1s exit=0\n"
    "process 2 pid=20 name=other start=0 end=1s exit=0\n"
    "thread 1 process=1 tid=10 start=0 end=1s\n"
    "thread 2 process=1 tid=11 start=0 end=1s\n"
    "thread 3 process=2 tid=20 start=0 end=1s\n"
    "frame 1 function=main file=a.py line=1\n"
    "frame 2 function=parse file=a.py line=31\n"
    "frame 3 function=parse file=a.py line=33\n"
    "stack 1 frame=1\n"
    "stack 2 parent=1 frame=2\n"
    "stack 3 parent=2 frame=3\n";

CodeFacts CodeOfText(std::string_view samples) {
  return FactsOfText(kRun, samples).code;
}

const FunctionFacts* Find(const CodeFacts& code, std::string_view name,
                          uint32_t process = 1) {
  for (const FunctionFacts& f : code.functions)
    if (f.name == name && f.process == process) return &f;
  return nullptr;
}

TEST(FunctionFacts, AFunctionThatCallsItselfCountsOnceInItsTotal) {
  const CodeFacts code = CodeOfText("sample 1ms thread=1 stack=3 weight=7ms\n");
  ASSERT_NE(Find(code, "parse"), nullptr);
  EXPECT_EQ(Find(code, "parse")->self_ns, 7'000'000u);
  EXPECT_EQ(Find(code, "parse")->total_ns, 7'000'000u);
  EXPECT_EQ(Find(code, "main")->self_ns, 0u);
  EXPECT_EQ(Find(code, "main")->total_ns, 7'000'000u);
}

TEST(FunctionFacts, TheLineIsTheOneThatRanMost) {
  const CodeFacts code = CodeOfText(
      "sample 1ms thread=1 stack=2 weight=5ms\n"
      "sample 2ms thread=1 stack=3 weight=3ms\n"
      "sample 3ms thread=2 stack=3 weight=3ms\n");
  EXPECT_EQ(Find(code, "parse")->line, 33u);
  EXPECT_EQ(Find(code, "parse")->thread, 1u);
  EXPECT_EQ(Find(code, "parse")->samples, 3u);
  EXPECT_EQ(Find(code, "main")->line, 1u);
}

TEST(FunctionFacts, SelfTimesAndTheUnknownSumToTheWhole) {
  const CodeFacts code = CodeOfText(
      "sample 1ms thread=1 stack=2 weight=5ms\n"
      "sample 2ms thread=1 weight=3ms\n"
      "sample 3ms thread=3 stack=1 weight=2ms approximate\n"
      "sample 4ms thread=1 stack=2 weight=100ms waiting approximate\n");
  uint64_t self_ns = 0;
  for (const FunctionFacts& f : code.functions) self_ns += f.self_ns;
  EXPECT_EQ(code.sampled_ns, 10'000'000u) << "who waits does not use a core";
  EXPECT_EQ(code.unknown_ns, 3'000'000u);
  EXPECT_EQ(self_ns + code.unknown_ns, code.sampled_ns);
  EXPECT_EQ(code.samples, 3u);
  EXPECT_EQ(code.approximate, 1u) << "of the three";
  EXPECT_NE(Find(code, "main", 2), nullptr) << "of another process";
}

TEST(FunctionFacts, WhatTheKernelDoesIsOfTheFunctionThatItIsDoneFor) {
  const CodeFacts code = FactsOfText(R"(
process 1 pid=10 name=tool start=0 end=1s exit=0
thread 1 process=1 tid=10 start=0 end=1s
frame 1 function=touch file=tool.c line=3
frame 2 function="page fault or interrupt" file=[kernel]
stack 1 frame=1
stack 2 parent=1 frame=2
sample 1ms thread=1 stack=1 weight=2ms
sample 2ms thread=1 stack=2 weight=5ms
)")
                             .code;
  ASSERT_NE(Find(code, "touch"), nullptr);
  EXPECT_EQ(Find(code, "touch")->self_ns, 2'000'000u);
  EXPECT_EQ(Find(code, "touch")->own_ns, 7'000'000u);
  EXPECT_EQ(Find(code, "touch")->below, "page fault or interrupt");
  EXPECT_EQ(Find(code, "page fault or interrupt")->own_ns, 0u);
}

}  // namespace
}  // namespace sonde

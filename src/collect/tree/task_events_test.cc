#include "collect/tree/task_events.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace sonde {
namespace {

constexpr uint64_t kTime = 77;

// A record with pid, tid and time of whoever caused it behind the body.
std::string Record(uint32_t type, std::string body, uint16_t misc = 0) {
  perf_event_header header = {};
  header.type = type;
  header.misc = misc;
  header.size = static_cast<uint16_t>(sizeof(header) + body.size() + 16);
  std::string out(reinterpret_cast<const char*>(&header), sizeof(header));
  out += body + std::string(8, '\0');
  return out + std::string(reinterpret_cast<const char*>(&kTime), 8);
}

template <typename... T>
std::string Body(T... values) {
  std::string out;
  (out.append(reinterpret_cast<const char*>(&values), sizeof(values)), ...);
  return out;
}

struct TaskEventsTest : testing::Test {
  bool Parse(std::string_view bytes) {
    return ParseTaskRecord(bytes, &task, &lost);
  }
  TaskRecord task;
  uint64_t lost = 0;
};

TEST_F(TaskEventsTest, ReadsForksNamesAndCpuTimes) {
  ASSERT_TRUE(
      Parse(Record(PERF_RECORD_FORK, Body(int32_t{5}, int32_t{4}, int32_t{6},
                                          int32_t{3}, int64_t{99}))));
  EXPECT_EQ(task.kind, TaskRecord::Kind::kFork);
  EXPECT_EQ(task.pid, 5);
  EXPECT_EQ(task.ppid, 4);
  EXPECT_EQ(task.tid, 6);
  EXPECT_EQ(task.ptid, 3);
  EXPECT_EQ(task.time_ns, 99);
  ASSERT_TRUE(Parse(Record(PERF_RECORD_COMM,
                           Body(int32_t{5}, int32_t{6}) + "loader\0\0",
                           PERF_RECORD_MISC_COMM_EXEC)));
  EXPECT_EQ(task.kind, TaskRecord::Kind::kExec);
  EXPECT_STREQ(task.comm, "loader");
  EXPECT_EQ(task.time_ns, static_cast<int64_t>(kTime));
  ASSERT_TRUE(Parse(
      Record(PERF_RECORD_READ, Body(int32_t{5}, int32_t{6}, uint64_t{1234}))));
  EXPECT_EQ(task.value, 1234u);
  EXPECT_EQ(lost, 0u);
}

TEST_F(TaskEventsTest, WhatTheKernelLostIsAdded) {
  EXPECT_FALSE(
      Parse(Record(PERF_RECORD_LOST, Body(uint64_t{1}, uint64_t{40}))));
  EXPECT_FALSE(Parse(Record(PERF_RECORD_LOST, Body(uint64_t{1}, uint64_t{2}))));
  EXPECT_EQ(lost, 42u);
}

TEST_F(TaskEventsTest, OthersAreNoLoss) {
  EXPECT_FALSE(Parse(Record(PERF_RECORD_THROTTLE, std::string(24, 'x'))));
  EXPECT_EQ(lost, 0u);
}

TEST_F(TaskEventsTest, OneThatCannotBeReadIsALoss) {
  const std::string fork = Record(PERF_RECORD_FORK, std::string(24, '\1'));
  uint64_t bad = 0;
  for (size_t size = 0; size < fork.size(); ++size, ++bad)
    EXPECT_FALSE(Parse(fork.substr(0, size))) << size;
  EXPECT_EQ(lost, bad);
  EXPECT_TRUE(Parse(fork));
  EXPECT_FALSE(Parse(
      Record(PERF_RECORD_READ, Body(int32_t{5}, int32_t{6}, UINT64_MAX))));
  EXPECT_EQ(lost, bad + 1) << "more time than there is";
}

}  // namespace
}  // namespace sonde

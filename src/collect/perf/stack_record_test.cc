#include "collect/perf/stack_record.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace sonde {
namespace {

// Puts a record together as the kernel does.
class Record {
 public:
  explicit Record(uint32_t type) {
    header_.type = type;
    Add(header_);
  }
  template <typename T>
  Record& Add(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Record& Fill(size_t size) {
    bytes_.append(size, '\x5a');
    return *this;
  }
  std::string_view bytes() {
    header_.size = static_cast<uint16_t>(bytes_.size());
    std::memcpy(bytes_.data(), &header_, sizeof(header_));
    return bytes_;
  }

 private:
  perf_event_header header_ = {};
  std::string bytes_;
};

Record Sampled(uint64_t abi) {
  Record out(PERF_RECORD_SAMPLE);
  out.Add(uint32_t{12}).Add(uint32_t{13}).Add(uint64_t{99}).Add(abi);
  for (uint64_t i = 0; abi != 0 && i < StackRecord::kRegisters; ++i)
    out.Add(100 + i);
  return out;
}

TEST(StackRecord, WhatTheKernelWritesIsRead) {
  uint64_t lost = 0;
  Record record = Sampled(PERF_SAMPLE_REGS_ABI_64);
  record.Add(uint64_t{64}).Fill(64).Add(uint64_t{24});
  const auto got = ParseStackRecord(record.bytes(), lost);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->pid, 12u);
  EXPECT_EQ(got->tid, 13u);
  EXPECT_EQ(got->time_ns, 99);
  ASSERT_TRUE(got->registers.has_value());
  EXPECT_EQ((*got->registers)[16], 116u);
  EXPECT_EQ(got->stack.size(), 24u) << "of the copy, what the stack had";
  EXPECT_EQ(lost, 0u);
}

TEST(StackRecord, TheKernelIsToldFromTheProgram) {
  for (const uint16_t mode : {PERF_RECORD_MISC_USER, PERF_RECORD_MISC_KERNEL}) {
    uint64_t lost = 0;
    Record record = Sampled(PERF_SAMPLE_REGS_ABI_64);
    record.Add(uint64_t{0});
    std::string bytes(record.bytes());
    perf_event_header header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    header.misc = mode;
    std::memcpy(bytes.data(), &header, sizeof(header));
    const auto got = ParseStackRecord(bytes, lost);
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->in_kernel, mode == PERF_RECORD_MISC_KERNEL);
  }
}

TEST(StackRecord, AThreadOfTheKernelHasNoRegisters) {
  uint64_t lost = 0;
  Record record = Sampled(PERF_SAMPLE_REGS_ABI_NONE);
  record.Add(uint64_t{0});
  const auto got = ParseStackRecord(record.bytes(), lost);
  ASSERT_TRUE(got.has_value());
  EXPECT_FALSE(got->registers.has_value());
  EXPECT_TRUE(got->stack.empty());
}

TEST(StackRecord, A32BitProgramIsNotUnwound) {
  uint64_t lost = 0;
  Record record = Sampled(PERF_SAMPLE_REGS_ABI_32);
  record.Add(uint64_t{0});
  const auto got = ParseStackRecord(record.bytes(), lost);
  ASSERT_TRUE(got.has_value());
  EXPECT_FALSE(got->registers.has_value());
}

TEST(StackRecord, LostSamplesAreCounted) {
  uint64_t lost = 1;
  Record record(PERF_RECORD_LOST);
  record.Add(uint64_t{7}).Add(uint64_t{41});
  EXPECT_FALSE(ParseStackRecord(record.bytes(), lost));
  EXPECT_EQ(lost, 42u);
}

TEST(StackRecord, WhatAProgramInTheKernelWritesIsRefused) {
  uint64_t lost = 0;
  Record record(PERF_RECORD_SAMPLE);
  record.Add(uint32_t{12}).Add(uint32_t{13}).Add(uint64_t{99});
  record.Add(uint32_t{508}).Add(uint32_t{1}).Add(std::array<char, 504>{});
  EXPECT_FALSE(ParseStackRecord(record.bytes(), lost));
}

TEST(StackRecord, SizesThatLieAreRefused) {
  uint64_t lost = 0;
  Record longer = Sampled(PERF_SAMPLE_REGS_ABI_64);
  longer.Add(uint64_t{1 << 20}).Fill(64).Add(uint64_t{8});
  EXPECT_FALSE(ParseStackRecord(longer.bytes(), lost));
  Record more = Sampled(PERF_SAMPLE_REGS_ABI_64);
  more.Add(uint64_t{64}).Fill(64).Add(uint64_t{65});
  EXPECT_FALSE(ParseStackRecord(more.bytes(), lost));
  const std::string whole(Sampled(PERF_SAMPLE_REGS_ABI_64)
                              .Add(uint64_t{8})
                              .Fill(8)
                              .Add(uint64_t{8})
                              .bytes());
  for (size_t i = 0; i < whole.size(); ++i)
    EXPECT_FALSE(ParseStackRecord(whole.substr(0, i), lost)) << i;
}

}  // namespace
}  // namespace sonde

#include "collect/perf/perf_ring.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

namespace sonde {
namespace {

// A ring in plain memory, and what a kernel would do to it.
class PerfRingTest : public ::testing::Test {
 protected:
  explicit PerfRingTest(size_t size = 128 << 10)
      : size_(size),
        page_bytes_(static_cast<size_t>(::sysconf(_SC_PAGESIZE))),
        memory_(static_cast<char*>(::mmap(
            nullptr, page_bytes_ + size + page_bytes_, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
        page_(reinterpret_cast<perf_event_mmap_page*>(memory_)),
        ring_(PerfRing::OfMemory(memory_, size)) {
    // Who reads beyond the ring dies.
    CHECK(::mprotect(End(), page_bytes_, PROT_NONE) == 0);
  }
  ~PerfRingTest() override { ::munmap(End(), page_bytes_); }

  char* End() { return memory_ + page_bytes_ + size_; }
  // The ring begins here, as if so much had been written and read.
  void BeginAt(uint64_t at) { page_->data_head = page_->data_tail = at; }
  void Put(std::string_view bytes) {
    for (const char byte : bytes)
      memory_[page_bytes_ + (page_->data_head++ & (size_ - 1))] = byte;
  }
  // A record of `size` bytes, filled with `fill`, that says its size is `told`.
  static std::string Record(size_t size, char fill, size_t told) {
    perf_event_header header = {};
    header.type = PERF_RECORD_SAMPLE;
    header.size = static_cast<uint16_t>(told);
    std::string out(size, fill);
    std::memcpy(out.data(), &header, std::min(size, sizeof(header)));
    return out;
  }
  static std::string Record(size_t size, char fill) {
    return Record(size, fill, size);
  }
  uint64_t Drain() {
    return ring_.Drain(
        [this](std::string_view record) { seen_.emplace_back(record); });
  }

  const size_t size_, page_bytes_;
  char* const memory_;
  perf_event_mmap_page* const page_;
  PerfRing ring_;
  std::vector<std::string> seen_;
};

using Records = std::vector<std::string>;

TEST_F(PerfRingTest, HandsOutRecordsInOrderAndOnce) {
  EXPECT_EQ(Drain(), 0u);
  const Records wanted = {Record(8, 'a'), Record(24, 'b'), Record(4096, 'c')};
  for (const std::string& one : wanted) Put(one);
  EXPECT_EQ(Drain(), 0u);
  EXPECT_EQ(seen_, wanted);
  EXPECT_EQ(page_->data_tail, page_->data_head) << "the room is given back";
  EXPECT_EQ(Drain(), 0u);
  EXPECT_EQ(seen_, wanted);
}

TEST_F(PerfRingTest, JoinsARecordThatTheEndCutsInTwo) {
  std::string long_one = Record(512, 'x');
  for (size_t i = 8; i < long_one.size(); ++i)
    long_one[i] = static_cast<char>(i);
  // Cut at every place that a multiple of 8 allows.
  for (size_t before = 8; before < long_one.size(); before += 8) {
    BeginAt(5 * size_ - before);
    seen_.clear();
    Put(long_one);
    Put(Record(16, 'y'));
    EXPECT_EQ(Drain(), 0u);
    ASSERT_EQ(seen_, (Records{long_one, Record(16, 'y')})) << before;
  }
}

TEST_F(PerfRingTest, WhatWasPeekedAtIsWhatTheNextDrainHas) {
  Put(Record(24, 'a'));
  Records peeked;
  const auto peek = [&] {
    ring_.Peek([&](std::string_view record) { peeked.emplace_back(record); });
  };
  peek();
  EXPECT_EQ(peeked, Records{Record(24, 'a')});
  Put(Record(16, 'b'));
  EXPECT_EQ(Drain(), 0u);
  EXPECT_EQ(seen_, peeked) << "what came later is left for later";
  EXPECT_EQ(Drain(), 0u);
  EXPECT_EQ(seen_, (Records{Record(24, 'a'), Record(16, 'b')}));
  Put(Record(64, '0', 0));
  peek();
  EXPECT_EQ(Drain(), 1u) << "counted once";
}

TEST_F(PerfRingTest, TheLargestRecordPasses) {
  const std::string largest = Record(65528, 'z');
  for (const uint64_t begin : {uint64_t{0}, uint64_t{size_ - 32768}}) {
    BeginAt(begin);
    seen_.clear();
    Put(largest);
    EXPECT_EQ(Drain(), 0u);
    EXPECT_EQ(seen_, Records{largest});
  }
}

TEST_F(PerfRingTest, BytesThatAreNoRecordsAreCountedAndSkipped) {
  const Records bad = {
      Record(64, '0', 0),      // it would never end
      Record(64, '4', 4),      // shorter than its header
      Record(64, '9', 60),     // the next one would not be aligned
      Record(64, 't', 72),     // torn: longer than what was written
      Record(64, 'l', 65528),  // much longer
      std::string(4, '\1'),    // not even a header
      Record(12, 'u', 8),      // something follows that is no header
  };
  for (const std::string& one : bad) {
    BeginAt(size_ - 16);
    seen_.clear();
    Put(Record(8, 'a'));
    Put(one);
    EXPECT_EQ(Drain(), 1u) << one[8 % one.size()];
    // Of the last one the first 8 bytes are a record.
    EXPECT_EQ(seen_.size(), one == bad.back() ? 2u : 1u);
    EXPECT_EQ(seen_[0], Record(8, 'a'));
    EXPECT_EQ(page_->data_tail, page_->data_head);
    // A head that is not where it could be is never read from.
    Put(std::string((8 - page_->data_head % 8) % 8, '\0'));
    Drain();
    seen_.clear();
    Put(Record(32, 'n'));
    EXPECT_EQ(Drain(), 0u);
    EXPECT_EQ(seen_, Records{Record(32, 'n')}) << "later ones are read again";
  }
}

TEST_F(PerfRingTest, MoreThanFitsIsNotRead) {
  for (size_t bytes = 0; bytes <= size_; bytes += 4096) Put(Record(4096, 'm'));
  EXPECT_EQ(Drain(), 1u);
  EXPECT_TRUE(seen_.empty());
  EXPECT_EQ(page_->data_tail, page_->data_head);
}

TEST_F(PerfRingTest, AHeaderThatTheEndCutsInTwoIsNotRead) {
  BeginAt(size_ - 4);
  Put(Record(16, 'h'));
  EXPECT_EQ(Drain(), 1u);
  EXPECT_TRUE(seen_.empty());
}

}  // namespace
}  // namespace sonde

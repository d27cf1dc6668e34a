// Records as a test likes to look at them.

#ifndef SONDE_TESTS_TOOLS_RING_RECORDS_H_
#define SONDE_TESTS_TOOLS_RING_RECORDS_H_

#include <gtest/gtest.h>

#include "tools/ring_target.h"

namespace sonde {

// One record with where it came from.
struct Seen {
  uint32_t thread;
  RecordHead head;
  std::vector<uint64_t> words;
};

// A session that keeps every record it gets.
struct RingTest : testing::Test {
  RingTest() {
    session.on_records = [this](const RingThread& thread,
                                std::span<const uint64_t> words) {
      while (!words.empty()) {
        Seen one;
        one.thread = thread.number;
        std::memcpy(&one.head, words.data(), sizeof(one.head));
        const size_t size = 2u + one.head.words;
        one.words.assign(words.begin() + 2, words.begin() + long(size));
        seen.push_back(std::move(one));
        words = words.subspan(size);
      }
    };
  }

  uint64_t Count(uint8_t kind) const {
    uint64_t count = 0;
    for (const Seen& one : seen) count += one.head.kind == kind;
    return count;
  }

  RingSession session;
  std::vector<Seen> seen;
};

}  // namespace sonde

#endif  // SONDE_TESTS_TOOLS_RING_RECORDS_H_

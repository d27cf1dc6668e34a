#include "collect/stacks/python_layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace sonde {
namespace {

// The beginning of _PyRuntime of 3.13.0 and 3.14.6 behind its cookie.
const std::vector<uint64_t> k313 = {
    0x030d00f0, 0,                                                    // version
    283320,     608,  632,                                            // runtime
    194968,     7272, 7264, 7344, 7400, 7656, 7640, 7648, 16,  7752,  // interp
    0,          7768, 7760,                                           // its GIL
    304,        0,    8,    16,   72,   152,  160,  232,  32,         // thread
    80,         8,    0,    56,   72,   70,                           // frame
    208,        112,  120,  128,  136,  68,   52,   96,   104, 200};  // code
const std::vector<uint64_t> k314 = {
    0x030e06f0, 0,    316616, 784,  808, 225864, 7280, 7272, 7344, 7360,
    7408,       7688, 7672,   7680, 16,  7784,   0,    7800, 7792, 7992,
    0,          832,  0,      8,    16,  72,     152,  160,  232,  32,
    88,         8,    0,      56,   80,  74,     64,   0,    216,  112,
    120,        128,  136,    68,   52,  96,     104,  208,  0};

std::vector<uint8_t> Described(const std::vector<uint64_t>& words) {
  std::vector<uint8_t> out(kDescriptionBytes);
  std::memcpy(out.data(), "xdebugpy", 8);
  std::memcpy(out.data() + 8, words.data(), words.size() * 8);
  return out;
}

TEST(PythonLayout, ThereIsOneForEachVersionAndNoOther) {
  for (int minor = kFirstPythonMinor; minor < kFirstDescribedMinor; ++minor) {
    const auto layout = TabledLayout(minor);
    ASSERT_TRUE(layout) << minor;
    EXPECT_EQ(layout->minor, minor);
    EXPECT_LE(layout->thread_bytes, PythonLayout::kMostThreadBytes);
    EXPECT_LE(layout->frame_bytes, PythonLayout::kMostFrameBytes);
    EXPECT_LE(layout->code_bytes, PythonLayout::kMostCodeBytes);
    // What 3.11 changed.
    EXPECT_EQ(layout->native_id != 0, minor >= 11);
    EXPECT_EQ(layout->bytecode != 0, minor >= 11);
    EXPECT_EQ(layout->lines == LineFormat::kLocations, minor >= 11);
  }
  EXPECT_FALSE(TabledLayout(7));
  EXPECT_FALSE(TabledLayout(13)) << "describes itself";
}

TEST(PythonLayout, TheDescriptionOf313IsRead) {
  const auto bytes = Described(k313);
  EXPECT_EQ(DescribedVersion(bytes), 0x030d00f0u);
  EXPECT_FALSE(DescribedFreeThreaded(bytes));
  const auto layout = DescribedLayout(bytes);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->minor, 13);
  EXPECT_EQ(layout->interpreters, 632u);
  EXPECT_EQ(layout->interpreter_next, 7264u);
  EXPECT_EQ(layout->threads, 7344u);
  EXPECT_EQ(layout->gil, 16u);
  EXPECT_EQ(layout->gil_holder, 8u);
  EXPECT_EQ(layout->gil_locked, 16u);
  EXPECT_EQ(layout->frame, 72u);
  EXPECT_FALSE(layout->has_cframe);
  EXPECT_EQ(layout->native_id, 160u);
  EXPECT_EQ(layout->stack_chunk, 232u);
  EXPECT_EQ(layout->previous, 8u);
  EXPECT_EQ(layout->code, 0u);
  EXPECT_EQ(layout->instruction, 56u);
  EXPECT_EQ(layout->owner, 70u);
  EXPECT_EQ(layout->file, 112u);
  EXPECT_EQ(layout->name, 128u);
  EXPECT_EQ(layout->line_table, 136u);
  EXPECT_EQ(layout->first_line, 68u);
  EXPECT_EQ(layout->bytecode, 200u);
}

TEST(PythonLayout, TheDescriptionOf314HasMoreFields) {
  const auto layout = DescribedLayout(Described(k314));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->minor, 14);
  EXPECT_EQ(layout->interpreters, 808u);
  EXPECT_EQ(layout->gil_holder, 8u);
  EXPECT_EQ(layout->gil_locked, 16u);
  EXPECT_EQ(layout->stack_chunk, 232u);
  EXPECT_EQ(layout->owner, 74u);
  EXPECT_EQ(layout->file, 112u);
  EXPECT_EQ(layout->name, 128u);
  EXPECT_EQ(layout->bytecode, 208u);
}

TEST(PythonLayout, WhatMakesNoSenseIsRefused) {
  auto words = k313;
  words[0] = k314[0];
  EXPECT_FALSE(DescribedLayout(Described(words))) << "not the version it says";
  words[0] = 0x030f00f0;
  EXPECT_FALSE(DescribedLayout(Described(words))) << "3.15";
  words[0] = 0x020d00f0;
  EXPECT_FALSE(DescribedLayout(Described(words))) << "2.13";
  words[0] = 0x1030d00f0;
  EXPECT_FALSE(DescribedLayout(Described(words)));
  // Each offset that is used, at its maximum.
  for (size_t i = 2; i < k313.size(); ++i) {
    words = k313;
    words[i] = ~uint64_t{0};
    if (const auto layout = DescribedLayout(Described(words))) {
      EXPECT_LE(layout->thread_bytes, PythonLayout::kMostThreadBytes);
      EXPECT_LE(layout->frame_bytes, PythonLayout::kMostFrameBytes);
      EXPECT_LE(layout->code_bytes, PythonLayout::kMostCodeBytes);
    }
  }
  words = k313;
  words[1] = 1;
  EXPECT_TRUE(DescribedFreeThreaded(Described(words)));
  EXPECT_FALSE(DescribedVersion(std::vector<uint8_t>(kDescriptionBytes)));
  EXPECT_FALSE(DescribedVersion(std::vector<uint8_t>(10)));
}

}  // namespace
}  // namespace sonde

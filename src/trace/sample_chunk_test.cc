#include "trace/sample_chunk.h"

#include <gtest/gtest.h>

#include "trace/reader.h"
#include "trace/rows.h"
#include "trace/writer.h"

namespace sonde {
namespace {

std::vector<Sample> Some(size_t count) {
  std::vector<Sample> out(count);
  for (size_t i = 0; i < count; ++i) {
    // Every third comes a little late.
    out[i].time_ns =
        static_cast<int64_t>(1'000'000 + i * 1000) - (i % 3 == 2 ? 1500 : 0);
    out[i].thread = static_cast<uint32_t>(1 + i % 4);
    out[i].stack = static_cast<uint32_t>(i % 7);
    out[i].weight_ns = 5'000'000;
    out[i].flags = i % 5 == 0 ? Sample::kWaiting | Sample::kApproximate : 0;
  }
  return out;
}

bool Same(const Sample& a, const Sample& b) {
  return a.time_ns == b.time_ns && a.thread == b.thread && a.stack == b.stack &&
         a.weight_ns == b.weight_ns && a.flags == b.flags;
}

std::string Encoded(const std::vector<Sample>& samples) {
  CompressionMemory memory;
  SampleChunkInfo info;
  return EncodeSampleChunk(samples, memory, info);
}

TEST(SampleChunkTest, KeepsEveryField) {
  for (const size_t count :
       {size_t{1}, size_t{1000}, size_t{kMaxChunkEvents}}) {
    const std::vector<Sample> samples = Some(count);
    std::vector<Sample> read;
    ASSERT_TRUE(DecodeSampleChunk(Encoded(samples), read));
    ASSERT_EQ(read.size(), count);
    for (size_t i = 0; i < count; ++i) EXPECT_TRUE(Same(read[i], samples[i]));
  }
}

TEST(SampleChunkTest, NoTruncationIsReadAsAChunk) {
  const std::string whole = Encoded(Some(200));
  std::vector<Sample> read;
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(DecodeSampleChunk(whole.substr(0, size), read)) << size;
}

TEST(SampleChunkTest, WhatLimitsGiveUpIsKeptByStack) {
  const std::string path = testing::TempDir() + "/samples.sonde";
  TraceWriter::Options options;
  options.max_bytes = TraceWriter::kMinMaxBytes;
  options.replace = true;
  uint64_t count = 0, weight = 0;
  {
    auto writer = TraceWriter::Create(path, {}, options).Take();
    for (int i = 0; i < 400; ++i) {
      for (Sample sample : Some(2000)) {
        // Noise, so that the chunks are large.
        sample.time_ns += i * 1'000'000'000LL + (sample.stack * 7919) % 4001;
        sample.weight_ns +=
            static_cast<uint64_t>(sample.time_ns) * 31 % 100'003;
        weight += sample.weight_ns;
        ++count;
        writer->AddSample(sample);
      }
      writer->Flush();
    }
    ASSERT_TRUE(writer->Close().ok());
    EXPECT_LE(writer->bytes_written(), options.max_bytes);
  }
  const TraceReader reader = TraceReader::Open(path).Take();
  Rows rows;
  RowBudget budget(reader);
  std::string payload;
  std::vector<Sample> samples;
  uint64_t read = 0;
  for (const FrameRef& frame : reader.frames()) {
    ASSERT_TRUE(reader.Read(frame, payload));
    if (frame.kind != FrameKind::kSamples) {
      ASSERT_TRUE(rows.Load(frame.kind, payload, budget));
      continue;
    }
    ASSERT_TRUE(DecodeSampleChunk(payload, samples));
    for (const Sample& sample : samples) weight -= sample.weight_ns;
    read += samples.size();
  }
  ASSERT_GT(rows.given_up_samples.size(), 20u) << "4 threads, 7 stacks, flags";
  for (const SampleSum& sum : rows.given_up_samples) {
    weight -= sum.weight_ns;
    read += sum.count;
  }
  EXPECT_EQ(read, count) << "kept and given up are all there were";
  EXPECT_EQ(weight, 0u);
}

}  // namespace
}  // namespace sonde

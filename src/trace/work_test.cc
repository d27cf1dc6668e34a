#include "trace/work.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "trace/frame.h"
#include "trace/index.h"

namespace sonde {
namespace {

constexpr uint64_t kAlwaysNs = 1'600'000'000;

template <typename Info>
std::string PayloadOf(const Info& info) {
  ByteWriter out;
  info.Encode(out);
  return out.Take();
}

std::string Samples() {
  SampleChunkInfo info;
  info.count = kMaxChunkEvents;
  return PayloadOf(info);
}
std::string Events() {
  EventChunkInfo info;
  info.track = 1;
  info.count = kMaxChunkEvents;
  return PayloadOf(info);
}
std::string Values() {
  CounterChunkInfo info;
  info.group = 1;
  info.ticks = kMaxChunkEvents;
  info.values = kMaxChunkEvents;
  return PayloadOf(info);
}

// Whether a trace of so many equal chunks, and so many bytes that say nothing,
// is no more than its size allows.
bool Allowed(FrameKind kind, const std::string& payload, uint64_t chunks,
             const WorkCosts& costs, size_t padding = 0) {
  auto bytes = std::make_shared<std::string>(FileHeader{}.Encode());
  uint32_t sequence = 0;
  for (uint64_t i = 0; i < chunks; ++i)
    *bytes += EncodeFrame(kind, sequence++, payload, false);
  if (padding > 0)
    *bytes += EncodeFrame(static_cast<FrameKind>(77), sequence,
                          std::string(padding, 'x'), false);
  const auto reader = TraceReader::OpenBytes(bytes, "made");
  CHECK(reader.ok());
  CHECK(reader.value().frames().size() >= chunks);
  const Status status = CheckWork(reader.value(), costs);
  if (!status.ok()) {
    EXPECT_NE(status.error().what.find("made: says "), std::string::npos);
    EXPECT_FALSE(status.error().hint.empty());
  }
  return status.ok();
}

// How many chunks of items of this cost take the time that is always allowed.
uint64_t Most(uint64_t cost_ns) {
  return kAlwaysNs / (cost_ns * kMaxChunkEvents);
}

TEST(Work, EachKindCountsByWhatItCosts) {
  for (const WorkCosts& costs : {kJudging, kCopying}) {
    const struct {
      FrameKind kind;
      std::string payload;
      uint64_t cost_ns;
    } kinds[] = {{FrameKind::kEvents, Events(), costs.event},
                 {FrameKind::kSamples, Samples(), costs.sample},
                 // A tick and a value.
                 {FrameKind::kCounters, Values(), 2 * costs.value}};
    for (const auto& [kind, payload, cost_ns] : kinds) {
      const uint64_t most = Most(cost_ns);
      EXPECT_TRUE(Allowed(kind, payload, most, costs));
      EXPECT_FALSE(Allowed(kind, payload, most + most / 8 + 8, costs));
    }
  }
}

TEST(Work, ALargerFileMaySayMore) {
  const uint64_t many = 2 * Most(kCopying.event);
  EXPECT_FALSE(Allowed(FrameKind::kEvents, Events(), many, kCopying));
  EXPECT_TRUE(Allowed(FrameKind::kEvents, Events(), many, kCopying,
                      kAlwaysNs / kCopying.allowed_a_byte));
}

}  // namespace
}  // namespace sonde

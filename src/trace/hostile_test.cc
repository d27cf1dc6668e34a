// Frames whose checksums are right and whose content lies.

#include <gtest/gtest.h>

#include "trace/all_rows.h"
#include "trace/counter_chunk.h"
#include "trace/event_chunk.h"
#include "trace/index.h"
#include "trace/reader.h"
#include "trace/row_budget.h"
#include "trace/tables.h"

namespace sonde {
namespace {

// A chunk of one event on depth 0 that says of itself what `info` says.
std::string EventPayload(const EventChunkInfo& info, uint64_t depth,
                         std::string_view lod = {}, uint64_t dur = 0) {
  ByteWriter out;
  info.Encode(out);
  CompressionMemory memory;
  ColumnWriter columns(memory);
  columns.AddConstant(static_cast<uint8_t>(EventColumn::kDur), dur);
  columns.AddConstant(static_cast<uint8_t>(EventColumn::kDepth), depth);
  if (!lod.empty()) columns.Add(static_cast<uint8_t>(EventColumn::kLod), lod);
  columns.AppendTo(out);
  return out.Take();
}

EventChunkInfo OneEvent() {
  EventChunkInfo info;
  info.track = 1;
  info.count = 1;
  info.begin_ns = info.end_ns = info.first_end_ns = 100;
  return info;
}

TEST(Hostile, TimesWhoseDifferenceOverflowsAreDamage) {
  EventChunkInfo info = OneEvent();
  EventChunkDecoder decoder;
  EXPECT_TRUE(decoder.Open(EventPayload(info, 0)));
  info.begin_ns = INT64_MIN;
  info.end_ns = INT64_MAX;
  EXPECT_FALSE(decoder.Open(EventPayload(info, 0)));

  CounterChunkInfo ticks;
  ticks.group = ticks.ticks = 1;
  ticks.begin_ns = -kMaxTimeNs;
  ticks.end_ns = kMaxTimeNs;
  ByteWriter good, bad;
  ticks.Encode(good);
  ticks.begin_ns -= 1;
  ticks.Encode(bad);
  ByteReader in_good(good.bytes()), in_bad(bad.bytes());
  EXPECT_TRUE(ticks.Decode(in_good));
  EXPECT_FALSE(ticks.Decode(in_bad));
}

TEST(Hostile, ADepthBeyondTheChunksMaximumIsDamage) {
  const std::string payload = EventPayload(OneEvent(), 1);
  EventChunkDecoder decoder;
  EventColumns columns;
  ASSERT_TRUE(decoder.Open(payload));
  EXPECT_TRUE(decoder.Decode(kMaskTime | kMaskName, columns));
  EXPECT_FALSE(decoder.Decode(kMaskAll, columns));
}

TEST(Hostile, ADurationLongerThanTheChunkIsDamage) {
  EventChunkInfo info = OneEvent();
  info.end_ns = info.first_end_ns = 150;
  EventChunkDecoder decoder;
  EventColumns columns;
  for (const auto& [dur, want] :
       {std::pair(uint64_t{50}, true), {51, false}, {UINT64_MAX, false}}) {
    const std::string payload = EventPayload(info, 0, {}, dur);
    ASSERT_TRUE(decoder.Open(payload));
    EXPECT_EQ(decoder.Decode(kMaskDur, columns), want) << dur;
    EXPECT_EQ(decoder.Decode(kMaskTime, columns), want) << dur;
  }
}

TEST(Hostile, LevelOfDetailRowsAreBoundedByTheDepth) {
  std::vector<LodRow> rows;
  EventChunkDecoder decoder;
  for (const auto& [depth, repeats, want] :
       {std::tuple(0, 1, true), {1, 1, false}, {0, 2, false}}) {
    ByteWriter lod;
    for (int i = 0; i < repeats; ++i) {
      lod.Varint(static_cast<uint64_t>(depth));
      lod.Varint(1);
      lod.Signed(0);
      lod.Varint(0);
      lod.Signed(INT64_MIN);  // busy time
      lod.Varint(0);
      lod.Varint(1);
      lod.Signed(INT64_MIN);  // count
    }
    const std::string payload = EventPayload(OneEvent(), 0, lod.bytes());
    ASSERT_TRUE(decoder.Open(payload));
    EXPECT_EQ(decoder.Lod(false, rows), want) << depth << " " << repeats;
  }
}

TEST(Hostile, AnIndexCannotClaimMoreFramesThanFit) {
  IndexEntry entry;
  entry.kind = FrameKind::kMeta;
  entry.offset = kFileHeaderSize;
  entry.size = kFrameHeaderSize;
  const int64_t end = entry.offset + entry.size;
  const std::vector<IndexEntry> one = {entry}, twice = {entry, entry};
  std::vector<IndexEntry> out;
  EXPECT_TRUE(DecodeIndex(EncodeIndex(one), end, out));
  EXPECT_FALSE(DecodeIndex(EncodeIndex(one), 1 << 20, out))
      << "again in a second part";
  out.clear();
  EXPECT_FALSE(DecodeIndex(EncodeIndex(one), end - 1, out));
  EXPECT_FALSE(DecodeIndex(EncodeIndex(twice), 1 << 20, out))
      << "the same place twice";
  ByteWriter many;
  many.Varint(1 << 20);
  std::string payload = many.Take() + std::string(1 << 20, '\1');
  EXPECT_FALSE(DecodeIndex(payload, end, out));
  EXPECT_LT(out.capacity(), 1000u);
}

TEST(Hostile, LevelOfDetailHasNoMoreNodesThanEvents) {
  EventChunkInfo info = OneEvent();
  info.count = 2;
  info.max_depth = 1;
  std::vector<LodRow> rows;
  EventChunkDecoder decoder;
  for (const auto& [nodes, want] : {std::pair(1, true), {2, false}}) {
    ByteWriter lod;
    for (int depth = 0; depth < 2; ++depth) {
      lod.Varint(static_cast<uint64_t>(depth));
      lod.Varint(static_cast<uint64_t>(nodes));
      for (int i = 0; i < 6 * nodes; ++i) lod.Varint(0);
    }
    const std::string payload = EventPayload(info, 0, lod.bytes());
    ASSERT_TRUE(decoder.Open(payload));
    EXPECT_EQ(decoder.Lod(false, rows), want) << nodes;
  }
}

TEST(Hostile, SummariesAreUnpackedUpToWhatTheirEventsCanNeed) {
  const std::string zeros(1 << 20, '\0');
  const std::string payload = EventPayload(OneEvent(), 0, zeros);
  std::vector<LodRow> rows;
  EventChunkDecoder decoder;
  ASSERT_TRUE(decoder.Open(payload));
  EXPECT_FALSE(decoder.Lod(false, rows));
}

TEST(Hostile, ATickCannotBringMoreValuesThanFit) {
  CounterChunkInfo info;
  info.group = info.ticks = 1;
  for (const auto& [values, want] :
       {std::pair(kMaxTickValues, true), {kMaxTickValues + 1, false}}) {
    info.values = values;
    ByteWriter out;
    info.Encode(out);
    ByteReader in(out.bytes());
    CounterChunkInfo read;
    EXPECT_EQ(read.Decode(in), want) << values;
  }
}

TEST(Hostile, ASetOfArgumentsIsBounded) {
  ByteWriter out;
  out.Varint(1);
  out.Varint(kMaxArgs + 1);
  const std::string bytes = out.Take() + std::string(4 * kMaxArgs, '\1');
  ByteReader in(bytes);
  ArgSet row;
  EXPECT_FALSE(DecodeRow(in, row));
}

TEST(Hostile, RowsBeyondTheBudgetAreRefused) {
  RowBudget rows(0, 0);
  EXPECT_TRUE(rows.Keep(RowBudget::kMaxKeptBytes));
  EXPECT_TRUE(rows.status("t").ok());
  EXPECT_FALSE(rows.Keep(1));
  ASSERT_FALSE(rows.status("t").ok());
  EXPECT_EQ(rows.status("t").error().what,
            "t: its tables take more than 256 MB, the most that is read");
  // A larger file may unpack to more.
  RowBudget packed(1'000'000, 0);
  EXPECT_TRUE(packed.Unpack(80'000'000));
  EXPECT_FALSE(packed.Unpack(1));
  EXPECT_EQ(packed.status("t").error().what,
            "t: its tables unpack to more than 80 MB, the most that is read");
}

TEST(Hostile, AFrameOfTooManyRowsIsRefusedByName) {
  std::string rows(40'000'000, '\0');  // empty strings
  ByteWriter head;
  head.Varint(1);
  head.Varint(rows.size());
  auto file = std::make_shared<std::string>(
      FileHeader().Encode() +
      EncodeFrame(FrameKind::kStrings, 0, head.bytes() + rows, true));
  EXPECT_LT(file->size(), 10'000u);
  const auto reader = TraceReader::OpenBytes(file, "bomb");
  ASSERT_TRUE(reader.ok());
  const AllRows all(reader.value());
  ASSERT_FALSE(all.status("bomb").ok());
  EXPECT_LT(all.strings.size(), 5'000'000u);
}

TEST(Hostile, ValuesOutsideAnEnumReadAsItsDefault) {
  Series row;
  ByteWriter out;
  for (uint32_t v : {1, 1, 0, 0, 0, 0, 0, 0, 99}) out.Varint(v);
  ByteReader in(out.bytes());
  ASSERT_TRUE(DecodeRow(in, row));
  EXPECT_EQ(row.scope, Series::Scope::kMachine);
  EXPECT_EQ(row.kind, Series::Kind::kGauge);
  EXPECT_EQ(row.type, Series::Type::kInt);
}

}  // namespace
}  // namespace sonde

#include "trace/writer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "trace/reader.h"

namespace sonde {
namespace {

struct WriterTest : testing::Test {
  void SetUp() override {
    std::string name = testing::TempDir() + "/writer_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory = name;
    path = name + "/t.sonde";
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::unique_ptr<TraceWriter> Create(TraceWriter::Options options = {}) {
    auto writer = TraceWriter::Create(path, header, options);
    EXPECT_TRUE(writer.ok()) << writer.error().what;
    return writer.Take();
  }

  static Event Slice(int64_t begin, int64_t dur, uint32_t name,
                     uint16_t depth = 0) {
    Event event;
    event.begin_ns = begin;
    event.dur_ns = dur;
    event.name = name;
    event.depth = depth;
    return event;
  }

  // Every event of the trace at `path`, in file order.
  std::vector<Event> Events() {
    auto reader = TraceReader::Open(path);
    EXPECT_TRUE(reader.ok());
    std::vector<Event> out;
    std::string payload;
    for (const FrameRef& f : reader.value().frames()) {
      if (f.kind != FrameKind::kEvents) continue;
      EXPECT_TRUE(reader.value().Read(f, payload));
      EventChunkDecoder decoder;
      EXPECT_TRUE(decoder.Open(payload));
      EventColumns columns;
      EXPECT_TRUE(decoder.Decode(kMaskAll, columns));
      for (size_t i = 0; i < columns.size(); ++i) out.push_back(columns.At(i));
    }
    return out;
  }

  FileHeader header;
  std::string directory, path;
};

TEST_F(WriterTest, WhatWasAddedIsReadBack) {
  auto writer = Create();
  const uint32_t track = writer->AddTrack({});
  const uint32_t name = writer->Intern("step");
  for (int i = 0; i < 40000; ++i)
    writer->AddEvent(track, Slice(i * 100, 60 + i % 7, name));
  ASSERT_TRUE(writer->Close().ok());

  const std::vector<Event> events = Events();
  ASSERT_EQ(events.size(), 40000u);
  for (int i = 0; i < 40000; ++i) {
    ASSERT_EQ(events[i].begin_ns, i * 100);
    ASSERT_EQ(events[i].dur_ns, 60 + i % 7);
    ASSERT_EQ(events[i].name, name);
  }
  EXPECT_FALSE(std::filesystem::exists(path + ".journal"));
}

TEST_F(WriterTest, FlushedEventsSurviveADeathWithoutClose) {
  auto writer = Create();
  const uint32_t track = writer->AddTrack({});
  for (int i = 0; i < 17000; ++i) {
    writer->AddEvent(track, Slice(i * 10, 5, 1));
    if (i % 100 == 99) writer->Flush();
  }
  writer.reset();  // no Close(), as after SIGKILL

  const std::vector<Event> events = Events();
  ASSERT_EQ(events.size(), 17000u) << "each exactly once";
  for (int i = 0; i < 17000; ++i) ASSERT_EQ(events[i].begin_ns, i * 10);
}

TEST_F(WriterTest, SelfTimeExcludesInnerSlices) {
  auto writer = Create();
  const uint32_t track = writer->AddTrack({});
  writer->AddEvent(track, Slice(10, 20, 2, 1));
  writer->AddEvent(track, Slice(40, 30, 2, 1));
  writer->AddEvent(track, Slice(0, 100, 1, 0));
  ASSERT_TRUE(writer->Close().ok());

  auto reader = TraceReader::Open(path);
  ASSERT_TRUE(reader.ok());
  std::string payload;
  for (const FrameRef& f : reader.value().frames()) {
    if (f.kind != FrameKind::kEvents) continue;
    ASSERT_TRUE(reader.value().Read(f, payload));
    EventChunkDecoder decoder;
    ASSERT_TRUE(decoder.Open(payload));
    std::vector<NameAggregate> rows;
    ASSERT_TRUE(decoder.Aggregates(rows));
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].self, 50);
    EXPECT_EQ(rows[1].self, 50);
    EXPECT_EQ(rows[1].sum, 100u);
  }
}

TEST_F(WriterTest, MaxBytesIsKeptAndTheTotalsStayWhole) {
  TraceWriter::Options options;
  options.max_bytes = 1 << 20;
  auto writer = Create(options);
  const uint32_t track = writer->AddTrack({});
  uint32_t noise = 1;
  const int64_t count = 1'000'000;
  for (int64_t i = 0; i < count; ++i) {
    noise = noise * 1664525 + 1013904223;
    writer->AddEvent(track, Slice(i * 100000 + noise % 1000, noise % 9999, 1));
    if (i % 1000 == 0) {
      writer->Flush();
      const int64_t size =
          static_cast<int64_t>(std::filesystem::file_size(path)) +
          static_cast<int64_t>(std::filesystem::file_size(path + ".journal"));
      ASSERT_LE(size, options.max_bytes);
    }
  }
  ASSERT_TRUE(writer->Close().ok());
  EXPECT_LE(static_cast<int64_t>(std::filesystem::file_size(path)),
            options.max_bytes);

  auto reader = TraceReader::Open(path);
  ASSERT_TRUE(reader.ok());
  std::string payload;
  uint64_t kept = 0, dropped = 0, total = 0;
  for (const FrameRef& f : reader.value().frames()) {
    ASSERT_TRUE(reader.value().Read(f, payload));
    if (f.kind == FrameKind::kEvents) kept += f.events.count;
    if (f.kind == FrameKind::kLosses)
      DecodeRows<LossRow>(payload,
                          [&](LossRow row) { dropped = row.row.count; });
    TotalsPart totals;
    if (f.kind == FrameKind::kTotals && DecodeTotals(payload, totals) &&
        totals.which == 0)
      DecodeRows<TrackTotal>(
          totals.rows, [&](TrackTotal row) { total += row.aggregate.count; });
  }
  EXPECT_EQ(kept + dropped, static_cast<uint64_t>(count));
  EXPECT_EQ(total, static_cast<uint64_t>(count));
}

TEST_F(WriterTest, TotalsAndIndexAreCutIntoFrames) {
  constexpr uint32_t kTracks = 70'000;  // a chunk and a row each
  TraceWriter::Options options;
  options.journal = false;
  auto writer = Create(options);
  const uint32_t name = writer->Intern("work");
  for (uint32_t i = 1; i <= kTracks; ++i) {
    const uint32_t track = writer->AddTrack({});
    writer->AddEvent(track, Slice(i, 10, name));
    if (i % 1000 == 0) writer->Seal();
  }
  ASSERT_TRUE(writer->Close().ok());
  auto opened = TraceReader::Open(path);
  ASSERT_TRUE(opened.ok());
  const TraceReader& reader = opened.value();
  EXPECT_TRUE(reader.finished());
  EXPECT_TRUE(reader.damages().empty());
  std::string payload;
  uint64_t chunks = 0, total = 0, parts = 0;
  for (const FrameRef& f : reader.frames()) {
    if (f.kind == FrameKind::kEvents) ++chunks;
    if (f.kind != FrameKind::kTotals) continue;
    TotalsPart totals;
    ASSERT_TRUE(reader.Read(f, payload) && DecodeTotals(payload, totals));
    EXPECT_EQ(totals.part, parts);
    parts = totals.part + 1;
    DecodeRows<TrackTotal>(totals.rows, [&](const TrackTotal& row) {
      total += row.aggregate.count;
    });
    EXPECT_GT(totals.parts, 1u);
  }
  EXPECT_EQ(chunks, kTracks);
  EXPECT_EQ(total, kTracks);
}

TEST_F(WriterTest, AFlushAtAnyMomentKeepsChunksWithinTheirLimit) {
  auto writer = Create();
  const uint32_t track = writer->AddTrack({});
  const uint32_t name = writer->Intern("work");
  constexpr int kCount = 40'000;
  for (int i = 0; i < kCount; ++i) {
    writer->AddEvent(track, Slice(i * 10, 5, name));
    // Near the end of a chunk, with every number of staged events.
    if (i % 16'384 > 16'200 && i % 7 == 0) writer->Flush();
  }
  ASSERT_TRUE(writer->Close().ok());
  EXPECT_EQ(Events().size(), static_cast<size_t>(kCount));
}

TEST_F(WriterTest, ArgumentSetsKeepTheirIdsWhenThereAreMany) {
  constexpr int kSets = 200'000;
  auto writer = Create();
  const uint32_t track = writer->AddTrack({});
  const uint32_t key = writer->Intern("i");
  for (int i = 0; i < kSets; ++i) {
    Event event = Slice(i * 10, 5, key);
    // Two events in a row share a set.
    Arg arg;
    arg.key = key;
    arg.int_value = i / 2;
    event.args = writer->AddArgs({arg});
    writer->AddEvent(track, event);
    if (i % 50'000 == 0) writer->Flush();
  }
  ASSERT_TRUE(writer->Close().ok());
  std::map<uint32_t, int64_t> values;
  auto reader = TraceReader::Open(path);
  std::string payload;
  for (const FrameRef& f : reader.value().frames())
    if (f.kind == FrameKind::kArgs) {
      ASSERT_TRUE(reader.value().Read(f, payload));
      DecodeRows<ArgSet>(payload, [&](const ArgSet& set) {
        EXPECT_TRUE(values.emplace(set.id, set.args[0].int_value).second);
      });
    }
  // A few are written twice, when what is in the file is forgotten.
  EXPECT_GE(values.size(), static_cast<size_t>(kSets / 2));
  EXPECT_LE(values.size(), static_cast<size_t>(kSets / 2 + 4));
  const std::vector<Event> events = Events();
  ASSERT_EQ(events.size(), static_cast<size_t>(kSets));
  for (int i = 0; i < kSets; ++i)
    ASSERT_EQ(values.at(events[static_cast<size_t>(i)].args), i / 2);
}

TEST_F(WriterTest, TextsWithoutEndAreNotAllKept) {
  const auto bytes = std::make_shared<std::string>();
  const auto writer = TraceWriter::CreateInMemory(FileHeader{}, bytes);
  std::string text(60'000, 'x');
  const uint32_t first = writer->InternText(text);
  uint32_t id = first;
  size_t kept = 0;
  for (; id != 0 && kept < 10'000; ++kept) {
    text.replace(0, 8, std::to_string(10'000'000 + kept));
    id = writer->InternText(text);
  }
  EXPECT_EQ(id, 0u);
  EXPECT_LT(kept * text.size(), TraceWriter::kMostTextBytes + text.size());
  EXPECT_EQ(writer->InternText(std::string(60'000, 'x')), first);
  EXPECT_NE(writer->Intern("a name"), 0u);
}

TEST_F(WriterTest, TimeOfAGroupNeverRunsBackwards) {
  auto writer = Create();
  Series series;
  series.group = 1;
  const uint32_t a = writer->AddSeries(series);
  for (const int64_t now_ns : {100, 90, 80}) {
    writer->BeginTick(1, now_ns);
    writer->Set(a, now_ns);
    writer->EndTick();
    writer->Seal();
  }
  ASSERT_TRUE(writer->Close().ok());
  auto reader = TraceReader::Open(path);
  for (const FrameRef& f : reader.value().frames())
    if (f.kind == FrameKind::kCounters) {
      EXPECT_EQ(f.counters.begin_ns, 100);
    }
}

TEST_F(WriterTest, UnchangedCountersAreNotStoredAndGoneOnesEnd) {
  auto writer = Create();
  Series series;
  series.group = 1;
  const uint32_t a = writer->AddSeries(series);
  const uint32_t b = writer->AddSeries(series);
  for (int i = 0; i < 10; ++i) {
    writer->BeginTick(1, i * 100);
    writer->Set(a, 7);
    if (i < 5) writer->Set(b, i);
    if (i == 5) writer->Gone(b);
    writer->EndTick();
    writer->Flush();
  }
  ASSERT_TRUE(writer->Close().ok());

  auto reader = TraceReader::Open(path);
  ASSERT_TRUE(reader.ok());
  std::string payload;
  for (const FrameRef& f : reader.value().frames()) {
    if (f.kind != FrameKind::kCounters) continue;
    ASSERT_TRUE(reader.value().Read(f, payload));
    CounterChunkDecoder decoder;
    ASSERT_TRUE(decoder.Open(payload));
    CounterTicks ticks;
    ASSERT_TRUE(decoder.Decode(ticks));
    ASSERT_EQ(ticks.size(), 10u);
    EXPECT_EQ(ticks.changes.size(), 6u) << "1 x a, 5 x b";
    ASSERT_EQ(ticks.gone.size(), 1u);
    EXPECT_EQ(ticks.gone[0], b);
    EXPECT_EQ(ticks.gone_end[4], 0u);
    EXPECT_EQ(ticks.gone_end[5], 1u);
    std::vector<SeriesAggregate> rows;
    ASSERT_TRUE(decoder.Aggregates(rows));
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[1].max, 4);
  }
}

// What a reader sees of each tick: the changes as "id=value", the ends as
// "id=gone".
std::vector<std::string> TickTexts(const std::string& path) {
  auto reader = TraceReader::Open(path);
  EXPECT_TRUE(reader.ok());
  std::vector<std::string> out;
  std::string payload;
  for (const FrameRef& f : reader.value().frames()) {
    if (f.kind != FrameKind::kCounters) continue;
    EXPECT_TRUE(reader.value().Read(f, payload));
    CounterChunkDecoder decoder;
    CounterTicks ticks;
    EXPECT_TRUE(decoder.Open(payload) && decoder.Decode(ticks));
    for (size_t i = 0; i < ticks.size(); ++i) {
      std::string& text = out.emplace_back();
      for (size_t c = i ? ticks.changed_end[i - 1] : 0;
           c < ticks.changed_end[i]; ++c)
        text += std::to_string(ticks.changes[c].series) + "=" +
                std::to_string(ticks.changes[c].value) + " ";
      for (size_t g = i ? ticks.gone_end[i - 1] : 0; g < ticks.gone_end[i]; ++g)
        text += std::to_string(ticks.gone[g]) + "=gone ";
    }
  }
  return out;
}

TEST_F(WriterTest, ASeriesMayReturnInTheJournalChunkItEndedIn) {
  auto writer = Create();
  Series series;
  series.group = 1;
  const uint32_t a = writer->AddSeries(series);
  writer->BeginTick(1, 100);
  writer->Set(a, 1000);
  writer->EndTick();
  writer->BeginTick(1, 200);
  writer->Gone(a);
  writer->EndTick();
  writer->BeginTick(1, 300);
  writer->Set(a, 7);
  writer->EndTick();
  writer->Flush();
  writer.reset();  // no Close(): only the journal has them
  EXPECT_EQ(TickTexts(path),
            (std::vector<std::string>{"1=1000 ", "1=gone ", "1=7 "}));
}

TEST_F(WriterTest, WithinATickTheLastWordOnASeriesCounts) {
  auto writer = Create();
  Series series;
  series.group = 1;
  const uint32_t a = writer->AddSeries(series);
  const uint32_t b = writer->AddSeries(series);
  writer->BeginTick(1, 100);
  writer->Set(a, 1);
  writer->Set(b, 5);
  writer->Gone(b);  // had a value and ended, also in a chunk's first tick
  writer->EndTick();
  writer->BeginTick(1, 200);
  writer->Gone(a);
  writer->Set(a, 2);
  writer->EndTick();
  writer->BeginTick(1, 300);
  writer->Set(a, 2);
  writer->EndTick();
  ASSERT_TRUE(writer->Close().ok());
  EXPECT_EQ(TickTexts(path),
            (std::vector<std::string>{"1=1 2=5 2=gone ", "1=2 ", ""}));
}

TEST_F(WriterTest, ATraceFullOfRowsStaysWholeWithinItsLimit) {
  TraceWriter::Options options;
  options.max_bytes = TraceWriter::kMinMaxBytes;
  auto writer = Create(options);
  const uint32_t track = writer->AddTrack({});
  uint32_t noise = 1;
  const auto random = [&] { return noise = noise * 1664525 + 1013904223; };
  for (int round = 0; round < 200; ++round) {
    // Strings cannot be given up: in the end there is no room for a chunk.
    std::string text;
    for (int i = 0; i < 1000; ++i) text += static_cast<char>(random() >> 24);
    const uint32_t name = writer->Intern(text);
    for (int i = 0; i < 14000; ++i)
      writer->AddEvent(
          track, Slice(round * 100000000LL + i * 5000, random() >> 12, name));
    writer->Seal();
  }
  ASSERT_TRUE(writer->Close().ok());
  const TraceReader reader = TraceReader::Open(path).Take();
  EXPECT_TRUE(reader.finished());
  EXPECT_TRUE(reader.damages().empty());
  EXPECT_LE(reader.file_size(), options.max_bytes);
  uint64_t kept = 0, dropped = 0;
  std::string payload;
  for (const FrameRef& f : reader.frames()) {
    ASSERT_TRUE(reader.Read(f, payload));
    if (f.kind == FrameKind::kEvents) kept += f.events.count;
    if (f.kind == FrameKind::kLosses)
      DecodeRows<LossRow>(payload,
                          [&](LossRow row) { dropped = row.row.count; });
  }
  EXPECT_EQ(kept + dropped, 200u * 14000) << "the loss itself must find room";
}

}  // namespace
}  // namespace sonde

#include "trace/copy.h"

#include <gtest/gtest.h>

#include "tools/random_trace.h"
#include "trace/text_writer.h"

namespace sonde {
namespace {

struct Made {
  std::shared_ptr<std::string> bytes = std::make_shared<std::string>();
  Copied copied;

  std::string Text() const {
    return TextOf(TraceReader::OpenBytes(bytes, "made").Take());
  }
};

std::shared_ptr<std::string> Random(uint64_t seed) {
  const auto bytes = std::make_shared<std::string>();
  const auto writer =
      TraceWriter::CreateInMemory(RandomTrace::HeaderOf(seed), bytes);
  RandomTrace(seed, *writer, true).Steps(300);
  EXPECT_TRUE(writer->Close().ok());
  return bytes;
}

Made CopyOf(const std::shared_ptr<std::string>& bytes,
            const CopyRange& range = {}) {
  const TraceReader from = TraceReader::OpenBytes(bytes, "from").Take();
  Made made;
  const auto writer = TraceWriter::CreateInMemory(from.header(), made.bytes);
  const AllRows rows(from);
  made.copied = CopyTrace(from, rows, range, *writer);
  EXPECT_EQ(made.copied.same_strings, rows.strings.size());
  EXPECT_TRUE(writer->Close().ok());
  return made;
}

TEST(Copy, SaysTheSame) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const auto bytes = Random(seed);
    const Made made = CopyOf(bytes);
    EXPECT_EQ(made.Text(), TextOf(TraceReader::OpenBytes(bytes, "from").Take()))
        << "seed " << seed;
    EXPECT_TRUE(made.copied.damages.empty());
  }
}

TEST(Copy, StopsWhereItIsTold) {
  const auto bytes = std::make_shared<std::string>();
  const auto writer = TraceWriter::CreateInMemory(FileHeader{}, bytes);
  const uint32_t one = writer->AddTrack({}), two = writer->AddTrack({});
  Series row;
  row.group = 8;
  const uint32_t series = writer->AddSeries(row);
  Event event;
  event.name = writer->Intern("step");
  for (int i = 0; i < 50'000; ++i) {
    event.begin_ns = i * 10;
    event.dur_ns = 5;
    writer->AddEvent(one, event);
    writer->AddEvent(two, event);
    writer->BeginTick(8, i * 10);
    writer->Set(series, i);
    writer->EndTick();
  }
  EXPECT_EQ(writer->EventsOf(one), 50'000u);
  EXPECT_EQ(writer->TicksOf(8), 50'000u);
  ASSERT_TRUE(writer->Close().ok());

  CopyRange range;
  range.events = [&](const Track& track) -> std::optional<uint64_t> {
    if (track.id != one) return std::nullopt;
    return 20'001;
  };
  range.ticks = [](uint32_t) -> uint64_t { return 17; };
  const Made made = CopyOf(bytes, range);
  const std::string text = made.Text();
  EXPECT_NE(text.find("slice 1 200us 200005 step"), std::string::npos);
  EXPECT_EQ(text.find("slice 1 200010 "), std::string::npos);
  EXPECT_EQ(text.find("track 2"), std::string::npos);
  EXPECT_NE(text.find("tick 8 160 1=16\n"), std::string::npos);
  EXPECT_EQ(text.find("tick 8 170"), std::string::npos);
  EXPECT_EQ(made.copied.last_ns, 200'005);
  EXPECT_EQ(made.copied.same_tracks, 1u);
}

TEST(Copy, NumbersMadeUpCostNothing) {
  const std::string text = [] {
    const auto bytes = std::make_shared<std::string>();
    const auto writer = TraceWriter::CreateInMemory(FileHeader{}, bytes);
    Process process;
    process.number = 100'000;  // alone
    writer->PutProcess(process);
    EXPECT_TRUE(writer->Close().ok());
    return CopyOf(bytes).Text();
  }();
  EXPECT_EQ(text.find("process"), std::string::npos);
}

}  // namespace
}  // namespace sonde

#include "store/store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>

#include "store/test_trace.h"
#include "trace/writer.h"

namespace sonde {
namespace {

std::map<uint32_t, OpTotal> BruteForce(const StoredTrace& trace,
                                       TimeRange window, uint32_t track) {
  std::map<uint32_t, OpTotal> out;
  for (const auto& placed : trace.events) {
    const Event& event = placed.event;
    if (track != 0 && placed.track != track) continue;
    if (event.begin_ns < window.begin_ns || event.begin_ns >= window.end_ns)
      continue;
    OpTotal& op = out[event.name];
    const uint64_t dur = static_cast<uint64_t>(event.dur_ns);
    op.min_ns = op.count == 0 ? dur : std::min(op.min_ns, dur);
    op.max_ns = std::max(op.max_ns, dur);
    ++op.count;
    op.total_ns += dur;
    op.self_ns += placed.self_ns;
  }
  return out;
}

void ExpectSame(const std::vector<OpTotal>& ops,
                const std::map<uint32_t, OpTotal>& want) {
  ASSERT_EQ(ops.size(), want.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    const OpTotal& op = ops[i];
    ASSERT_TRUE(want.contains(op.name));
    const OpTotal& w = want.at(op.name);
    EXPECT_EQ(op.count, w.count);
    EXPECT_EQ(op.total_ns, w.total_ns);
    EXPECT_EQ(op.self_ns, w.self_ns);
    EXPECT_EQ(op.min_ns, w.min_ns);
    EXPECT_EQ(op.max_ns, w.max_ns);
    EXPECT_TRUE(i == 0 || ops[i - 1].total_ns >= op.total_ns);
  }
}

TEST(StoreTest, TopOpsAreOfTheProgramUnlessATrackIsNamed) {
  const auto bytes = std::make_shared<std::string>();
  const auto w = TraceWriter::CreateInMemory(FileHeader{}, bytes);
  Track images, loader;
  images.kind = Track::Kind::kProcess;
  images.name = w->Intern("images");
  images.source = w->Intern("tree");
  loader.kind = Track::Kind::kThread;
  const uint32_t ours = w->AddTrack(images), theirs = w->AddTrack(loader);
  Event event;
  event.dur_ns = 1000;
  event.name = w->Intern("python3");
  w->AddEvent(ours, event);
  event.name = w->Intern("load");
  w->AddEvent(theirs, event);
  ASSERT_TRUE(w->Close().ok());
  const auto store = Store::OfBytes(bytes, "made").Take();
  for (const TimeRange window : {TimeRange{}, TimeRange{0, 10}}) {
    const std::vector<OpTotal> ops = store->TopOps(window);
    ASSERT_EQ(ops.size(), 1u);
    EXPECT_EQ(store->Str(ops[0].name), "load");
    ASSERT_EQ(store->TopOps(window, ours).size(), 1u);
  }
}

TEST(StoreTest, TopOpsOfAnyWindowEqualASumOverTheEvents) {
  StoredTrace trace(60'000, 7);
  const auto store = trace.Open();
  ExpectSame(store->TopOps(), BruteForce(trace, {}, 0));
  std::mt19937_64 random(3);
  for (int i = 0; i < 20; ++i) {
    TimeRange window{trace.RandomTime(random), trace.RandomTime(random)};
    if (window.begin_ns > window.end_ns)
      std::swap(window.begin_ns, window.end_ns);
    const uint32_t track = static_cast<uint32_t>(random() % 4);
    ExpectSame(store->TopOps(window, track), BruteForce(trace, window, track));
  }
}

TEST(StoreTest, AnUnfinishedTraceHasTheTotalsOfAFinishedOne) {
  const StoredTrace trace(50'000, 11);
  std::string directory = testing::TempDir() + "/store_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const std::string path = directory + "/t.sonde";
  {
    auto writer = TraceWriter::Create(path, {}, {}).Take();
    trace.WriteTo(*writer, 3'000);  // flushes every 3000 events, never closes
    writer->Flush();
  }
  const auto opened = Store::Open(path);
  ASSERT_TRUE(opened.ok());
  const Store& store = *opened.value();
  EXPECT_FALSE(store.reader().finished());
  EXPECT_TRUE(std::any_of(store.event_chunks().begin(),
                          store.event_chunks().end(),
                          [](const FrameRef& c) { return c.journal; }))
      << "the test is about events of the journal";
  ExpectSame(store.TopOps(), BruteForce(trace, {}, 0));
  EXPECT_TRUE(store.losses().empty());
  std::filesystem::remove(path + ".journal");
  const auto without = Store::Open(path).Take()->losses();
  ASSERT_EQ(without.size(), 1u);
  EXPECT_EQ(without[0].reason, "journal");
  std::filesystem::remove_all(directory);
}

TEST(StoreTest, ThatTheRecorderWasKilledExplainsTheOtherLosses) {
  const auto bytes = std::make_shared<std::string>();
  const auto writer = TraceWriter::CreateInMemory({}, bytes);
  for (const char* reason : {"max-size", "collector-killed", "disk-full"})
    writer->AddLoss({reason, "gone"});
  ASSERT_TRUE(writer->Close().ok());
  const auto losses = Store::OfBytes(bytes, "t").Take()->losses();
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_EQ(losses[0].reason, "collector-killed");
  EXPECT_EQ(losses[1].reason, "max-size");
  EXPECT_EQ(losses[2].reason, "disk-full");
}

TEST(StoreTest, LostStringsAreQuestionMarks) {
  StoredTrace trace(10, 1);
  const auto store = trace.Open();
  EXPECT_EQ(store->Str(0), "");
  EXPECT_EQ(store->Str(1), "name0");
  EXPECT_EQ(store->Str(4'000'000'000u), "?");
}

TEST(StoreTest, ADamagedChunkIsALossAndTheRestIsRead) {
  const StoredTrace trace(60'000, 5);
  auto bytes = trace.Bytes();
  auto whole = Store::OfBytes(bytes, "t").Take();
  ASSERT_TRUE(whole->losses().empty());
  const FrameRef chunk = whole->event_chunks()[1];
  (*bytes)[static_cast<size_t>(chunk.offset + chunk.size / 2)] ^= 0x10;

  const auto store = Store::OfBytes(bytes, "t").Take();
  const auto losses = store->losses();
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].reason, "damaged");
  EXPECT_NE(losses[0].detail.find("at byte " + std::to_string(chunk.offset)),
            std::string::npos)
      << losses[0].detail;
  EXPECT_EQ(store->event_chunks().size(), whole->event_chunks().size() - 1);

  // Found when it is read, not when the trace is opened: the same loss, once.
  EventColumns events;
  EXPECT_FALSE(whole->ReadEvents(chunk, kMaskAll, events));
  EXPECT_FALSE(whole->ReadEvents(chunk, kMaskAll, events));
  ASSERT_EQ(whole->losses().size(), 1u);
  EXPECT_EQ(whole->losses()[0].from_ns, chunk.events.begin_ns);
}

}  // namespace
}  // namespace sonde

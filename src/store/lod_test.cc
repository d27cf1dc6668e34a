#include "store/lod.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "store/test_trace.h"

namespace sonde {
namespace {

using Key = std::pair<uint16_t, uint32_t>;  // depth, x

// A long run of short events with a long one now and then: all three levels
// are used.
struct LodTest : testing::Test {
  void SetUp() override {
    auto bytes = std::make_shared<std::string>();
    auto writer = TraceWriter::CreateInMemory({}, bytes);
    writer->Intern("short");
    writer->Intern("long");
    const uint32_t track = writer->AddTrack({});
    std::mt19937_64 random(9);
    int64_t now = 0;
    for (int i = 0; i < 50'000; ++i) {
      const bool is_long = i % 5000 == 4999;
      now += static_cast<int64_t>(random() % 100);
      Event event;
      event.begin_ns = now;
      event.dur_ns = is_long ? 2'000'000 : static_cast<int64_t>(random() % 900);
      event.name = is_long ? 2 : 1;
      event.depth = 0;
      now += event.dur_ns;
      writer->AddEvent(track, event);
      events.push_back(event);
    }
    end_ns = now;
    ASSERT_TRUE(writer->Close().ok());
    store = Store::OfBytes(bytes, "t").Take();
  }

  std::vector<Event> events;
  int64_t end_ns = 0;
  std::shared_ptr<const Store> store;
};

TEST_F(LodTest, SumsEqualThoseOfTheEventsAtEveryZoom) {
  for (const uint32_t width : {1u, 7u, 100u, 1000u, 8192u}) {
    uint64_t count = 0;
    double busy = 0, want_busy = 0;
    for (const Pixel& pixel : ReadPixels(*store, 1, {0, end_ns}, width)) {
      EXPECT_LT(pixel.x, width);
      count += pixel.count;
      busy += pixel.busy_ns;
    }
    for (const Event& event : events)
      want_busy += static_cast<double>(event.dur_ns);
    EXPECT_EQ(count, events.size()) << width;
    EXPECT_NEAR(busy, want_busy, want_busy * 1e-6) << width;
  }
}

TEST_F(LodTest, AWindowLosesAtMostANodeAtItsBorders) {
  const TimeRange window{end_ns / 3, end_ns / 2};
  uint64_t want = 0;
  for (const Event& event : events)
    want += event.begin_ns < window.end_ns &&
            event.begin_ns + event.dur_ns > window.begin_ns;
  for (const uint32_t width : {10u, 1000u}) {
    uint64_t count = 0;
    for (const Pixel& pixel : ReadPixels(*store, 1, window, width))
      count += pixel.count;
    EXPECT_NEAR(static_cast<double>(count), static_cast<double>(want),
                2.0 * kLodCoarseEvents);
  }
}

TEST_F(LodTest, NoEventOfAPixelOrMoreIsMissing) {
  for (const uint32_t width : {50u, 1000u, 5000u}) {
    std::map<Key, Pixel> pixels;
    for (const Pixel& pixel : ReadPixels(*store, 1, {0, end_ns}, width))
      pixels[{pixel.depth, pixel.x}] = pixel;
    const double pixel_ns = static_cast<double>(end_ns) / width;
    for (const Event& event : events) {
      if (static_cast<double>(event.dur_ns) < pixel_ns) continue;
      const uint32_t middle = static_cast<uint32_t>(
          static_cast<double>(event.begin_ns + event.dur_ns / 2) / pixel_ns);
      ASSERT_TRUE(pixels.contains({0, middle}));
      EXPECT_EQ(pixels[Key(0, middle)].max_dur_ns,
                static_cast<uint64_t>(event.dur_ns));
      EXPECT_EQ(pixels[Key(0, middle)].name, event.name);
    }
  }
}

TEST_F(LodTest, NestedRandomEventsAreExactWhenAPixelIsANanosecond) {
  const StoredTrace trace(20'000, 4);
  const auto random_store = trace.Open();
  const TimeRange window{trace.end_ns / 2, trace.end_ns / 2 + 4000};
  std::map<Key, double> busy, want;
  for (const Pixel& pixel : ReadPixels(*random_store, 2, window, 4000))
    busy[{pixel.depth, pixel.x}] = pixel.busy_ns;
  for (const auto& placed : trace.events) {
    const int64_t from = std::max(placed.event.begin_ns, window.begin_ns);
    const int64_t to =
        std::min(placed.event.begin_ns + placed.event.dur_ns, window.end_ns);
    if (placed.track != 2) continue;
    for (int64_t t = from; t < to; ++t)
      want[{placed.event.depth, static_cast<uint32_t>(t - window.begin_ns)}] =
          1;
  }
  for (const auto& [key, value] : want)
    EXPECT_NEAR(busy[key], value, 1e-6) << key.first << " " << key.second;
  for (const auto& [key, value] : busy)
    EXPECT_TRUE(value <= 1e-6 || want.contains(key));
}

TEST_F(LodTest, AnEmptyWindowOrAnotherTrackShowsNothing) {
  EXPECT_TRUE(ReadPixels(*store, 1, {5, 5}, 10).empty());
  EXPECT_TRUE(ReadPixels(*store, 1, {9, 5}, 10).empty());
  EXPECT_TRUE(ReadPixels(*store, 2, {0, end_ns}, 10).empty());
}

}  // namespace
}  // namespace sonde

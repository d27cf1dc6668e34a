// A random trace for tests, with what must be found in it.

#ifndef SONDE_STORE_TEST_TRACE_H_
#define SONDE_STORE_TEST_TRACE_H_

#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "store/store.h"
#include "trace/frame.h"
#include "trace/writer.h"

namespace sonde {

// Properly nested slices and some instants on three tracks, eight names.
struct StoredTrace {
  struct Placed {
    uint32_t track;
    Event event;
    int64_t self_ns;  // 0 for instants
  };

  StoredTrace(size_t count, uint64_t seed) {
    std::mt19937_64 random(seed);
    struct Open {
      int64_t begin;
      int64_t inner;
    };
    std::vector<Open> open[3];
    int64_t now[3] = {1000, 1000, 1000};
    while (events.size() < count) {
      const size_t t = random() % 3;
      now[t] += static_cast<int64_t>(1 + random() % (random() % 8 ? 50 : 5000));
      const uint64_t what = random() % 10;
      const uint16_t depth = static_cast<uint16_t>(open[t].size());
      Event event;
      event.name = static_cast<uint32_t>(1 + random() % 8);
      if (what == 0) {
        event.begin_ns = now[t];
        event.depth = depth;
        event.kind = Event::Kind::kInstant;
        events.push_back({static_cast<uint32_t>(t + 1), event, 0});
      } else if (what <= 5 && depth < 5) {
        open[t].push_back({now[t], 0});
      } else if (depth > 0 && (depth > 1 || random() % 200 == 0)) {
        // The outermost slice stays open for long, over chunks.
        const Open top = open[t].back();
        open[t].pop_back();
        event.begin_ns = top.begin;
        event.dur_ns = now[t] - top.begin;
        event.depth = static_cast<uint16_t>(depth - 1);
        if (!open[t].empty()) open[t].back().inner += event.dur_ns;
        events.push_back(
            {static_cast<uint32_t>(t + 1), event, event.dur_ns - top.inner});
      }
      end_ns = std::max(end_ns, now[t]);
    }
  }

  int64_t RandomTime(std::mt19937_64& random) const {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(end_ns + 10));
  }

  // Flushes every `flush_every` events, if not 0.
  void WriteTo(TraceWriter& writer, size_t flush_every = 0) const {
    for (int i = 0; i < 8; ++i) writer.Intern("name" + std::to_string(i));
    for (int i = 0; i < 3; ++i) writer.AddTrack({});
    for (size_t i = 0; i < events.size(); ++i) {
      writer.AddEvent(events[i].track, events[i].event);
      if (flush_every && i % flush_every == 0) writer.Flush();
    }
  }

  std::shared_ptr<std::string> Bytes() const {
    auto bytes = std::make_shared<std::string>();
    auto writer = TraceWriter::CreateInMemory({}, bytes);
    WriteTo(*writer);
    CHECK(writer->Close().ok());
    return bytes;
  }
  std::shared_ptr<const Store> Open() const {
    return Store::OfBytes(Bytes(), "test").Take();
  }

  std::vector<Placed> events;
  int64_t end_ns = 0;
};

// The trace with some of its counter chunks damaged.
inline std::shared_ptr<std::string> WithDamagedCounters(
    const std::shared_ptr<std::string>& bytes,
    std::initializer_list<size_t> chunks) {
  const auto store = Store::OfBytes(bytes, "test").Take();
  auto out = std::make_shared<std::string>(*bytes);
  for (const size_t chunk : chunks) {
    const int64_t offset = store->counter_chunks()[chunk].offset;
    (*out)[static_cast<size_t>(offset) + kFrameHeaderSize] ^= 1;
  }
  return out;
}

}  // namespace sonde

#endif  // SONDE_STORE_TEST_TRACE_H_

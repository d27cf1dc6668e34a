// Any bytes as a trace, asked everything the store can answer. Must not crash,
// hang or use memory out of proportion.
//
// The first byte chooses: even, the bytes are the file as it is; odd, they are
// cut into (kind, length, payload) and put into frames with right checksums, so
// that the fuzzer gets behind them. Its other bits choose which of the queries
// are asked: all of them would take most of the time.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "mutate_frames.h"
#include "store/counter_replay.h"
#include "store/lod.h"
#include "store/sql.h"
#include "store/stack_sums.h"
#include "store/stack_tree.h"
#include "store/store.h"
#include "trace/frame.h"

namespace sonde {
namespace {

std::string Framed(std::string_view bytes) {
  std::string out = FileHeader().Encode();
  uint32_t sequence = 0;
  while (bytes.size() >= 3) {
    const auto kind = static_cast<FrameKind>(bytes[0] & 15);
    const size_t size = std::min<size_t>(
        static_cast<uint8_t>(bytes[1]) | static_cast<uint8_t>(bytes[2]) << 8,
        bytes.size() - 3);
    out += EncodeFrame(kind, sequence++, bytes.substr(3, size), false);
    bytes.remove_prefix(3 + size);
  }
  return out;
}

class Ignore : public RowSink {
 public:
  void Columns(const std::vector<std::string>&) override {}
  bool Row(std::span<const SqlValue>) override { return true; }
};

// What ends had a value.
class Listener : public CounterHandler {
 public:
  void Tick(const CounterTick& tick) override {
    for (const CounterValue& value : tick.values) live_.insert(value.slot);
    for (const CounterValue& gone : tick.gone)
      if (live_.erase(gone.slot) == 0) std::abort();
  }
  void Hole(const CounterHole& hole) override {
    for (const CounterValue& lost : hole.lost)
      if (live_.erase(lost.slot) == 0) std::abort();
  }

 private:
  std::set<uint32_t> live_;
};

void Ask(const std::shared_ptr<const Store>& store, uint8_t choice) {
  const TimeRange range = store->range();
  store->TopOps();
  store->TopOps({range.begin_ns, range.end_ns}, 1);
  store->TopOps({range.begin_ns / 2, range.end_ns / 2}, 0);
  Listener all, some;
  CounterReplay replay(*store, {range.begin_ns / 2, range.end_ns / 2});
  replay.WantAll(all);
  for (const auto& [id, series] : store->series())
    if (id % 2 != choice % 2) replay.Want(some, id, id);
  replay.Run();
  store->RealtimeOf(range.end_ns);
  if (const auto sums = RunningStacks(*store); sums.ok()) {
    const StackTree tree(*store, sums.value());
    uint64_t self_ns = 0;
    for (const StackTreeNode& node : tree.nodes()) {
      self_ns += node.self_ns;
      tree.Name(node);
    }
    if (self_ns != tree.nodes()[0].total_ns) std::abort();
    if (!RunningSamples(*store).ok()) std::abort();
  }
  ReadPixels(*store, 1, {range.begin_ns, range.end_ns}, 100);
  auto database = Database::Open(store);
  if (!database.ok()) std::abort();
  Ignore sink;
  static constexpr const char* kQueries[] = {
      "SELECT * FROM slice WHERE ts > 5",
      "SELECT name, count(*), sum(dur), max(ts) FROM slice GROUP BY name",
      "SELECT name_id, min(id) FROM instant GROUP BY name_id",
      "SELECT DISTINCT name FROM slice ORDER BY name DESC",
      "SELECT * FROM counter WHERE series_id = 1 ORDER BY ts",
      "SELECT * FROM series JOIN series_stats() ON series_id = id",
      "SELECT * FROM slice s JOIN track t ON t.id = s.track_id LEFT JOIN "
      "arg a ON a.set_id = s.arg_set_id LEFT JOIN stack k ON k.id = "
      "s.stack_id",
      "SELECT * FROM process",
      "SELECT * FROM thread",
      "SELECT * FROM flow",
      "SELECT * FROM clock",
      "SELECT * FROM run",
      "SELECT * FROM top_ops()",
      "SELECT * FROM idle_gaps()",
      "SELECT * FROM loss",
  };
  for (size_t i = 0; i < 3; ++i)
    (void)database.value()->Query(
        kQueries[(choice / 2 + i * 5) % std::size(kQueries)],
        {1'000'000'000, 1000}, sink);
  store->losses();
}

}  // namespace
}  // namespace sonde

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int seed) {
  return size > 0 && (data[0] & 1) == 0
             ? sonde::MutateFrames(data, size, max_size, 1, seed)
             : LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1,
                              size - 1);
  auto bytes =
      std::make_shared<std::string>((data[0] & 1) ? sonde::Framed(rest) : rest);
  const auto store = sonde::Store::OfBytes(bytes, "fuzz");
  if (store.ok()) sonde::Ask(store.value(), data[0]);
  return 0;
}

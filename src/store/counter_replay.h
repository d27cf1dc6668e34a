// Counters as they were sampled, tick by tick: the one place that reads them.

#ifndef SONDE_STORE_COUNTER_REPLAY_H_
#define SONDE_STORE_COUNTER_REPLAY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "store/stop.h"
#include "store/store.h"

namespace sonde {

// A value that a tick names, or a series that ended.
struct CounterValue {
  uint32_t slot;   // what the handler calls the series
  uint32_t place;  // of the value in its chunk: the same in every replay
  uint64_t bits;   // for ValueAsDouble(); of an end: the last value
  bool repeated;   // the series had this value already
};

// One tick of a group: first the values, then the ends. A handler sees only the
// series that it wants.
struct CounterTick {
  uint32_t group;
  int64_t time_ns;
  std::span<const CounterValue> values;
  std::span<const CounterValue> gone;
};

// Ticks of a group are missing here: their chunk was lost, is damaged or was
// not wanted. Nobody knows how much the series grew meanwhile, or which ended.
struct CounterHole {
  uint32_t group;
  int64_t last_ns;  // the tick before the hole; kNoTime: none
  std::span<const CounterValue> lost;  // series that had a value until then
};

// Somebody who makes something of counters. The spans of a tick or hole are
// good for the call only.
class CounterHandler {
 public:
  virtual void Tick(const CounterTick& tick) = 0;
  virtual void Hole(const CounterHole& hole) = 0;

 protected:
  ~CounterHandler() = default;
};

// Goes through the counter chunks once, in the order of the file, and tells
// every handler about the series that it wants.
//
//  - A handler hears every tick of the groups that its series are in, also one
//    that names none of them.
//  - What a chunk of another group says of a series is left out.
//  - A series ends once: what `gone` or `lost` names had a value.
//  - After a hole every value is new.
//  - Only chunks that somebody needs are read: those of the wanted groups that
//    touch the window, and the one before them, which tells what is repeated.
//
// Handlers and store must outlive the replay.
class CounterReplay {
 public:
  explicit CounterReplay(const Store& store, TimeRange window = {})
      : store_(store), window_(window) {}

  // A handler may want a series several times, under different slots. Nothing
  // may be wanted once reading has begun.
  void Want(CounterHandler& handler, uint32_t series, uint32_t slot);
  // Every series, also one that has no row. The slot of a series is its id.
  void WantAll(CounterHandler& handler);

  // Replays the next chunk; false if there is none.
  bool Next();
  // All that are left, or as many as StopScope lets it.
  void Run() {
    while (!StopScope::Asked() && Next()) {
    }
  }
  // Which of store.counter_chunks() Next() replays.
  size_t chunk() const { return chunk_; }

 private:
  // Ids are dense in what we write; those of other files are looked up.
  static constexpr uint32_t kMaxNear = 1u << 20;

  static constexpr uint32_t kAnyGroup = UINT32_MAX;  // of who has no row

  struct Wish {
    uint32_t series;
    uint32_t listener;
    uint32_t slot;
  };
  struct Listener {
    CounterHandler* handler;
    bool everywhere = false;  // it hears of all groups
    std::vector<CounterValue> values, gone;
  };
  struct SeriesState {
    uint64_t bits = 0;
    uint32_t epoch = 0;   // of its group when it had this value; 0: never
    uint32_t listed = 0;  // the epoch in which its group listed it
    uint32_t wishes = 0, wishes_end = 0;  // indexes into wishes_
    uint32_t group = kAnyGroup;
  };
  // A hole begins a new epoch: values of older ones are none.
  struct Group {
    uint32_t epoch = 0;
    uint64_t next_ordinal = 0;
    int64_t last_ns = kNoTime;
    std::vector<uint32_t> listeners;
    std::vector<uint32_t> seen;  // series that had a value in this epoch
  };

  uint32_t ListenerOf(CounterHandler& handler);
  void Prepare();
  void ChooseChunks();
  Group* FindGroup(uint32_t id);
  SeriesState* FindState(uint32_t series, uint32_t group);
  void TellHole(uint32_t id, Group& group);
  void TellTicks(uint32_t id, Group& group);
  void Put(const SeriesState& state, uint32_t series, CounterValue value,
           std::vector<CounterValue> Listener::*to);

  const Store& store_;
  const TimeRange window_;
  bool prepared_ = false;
  std::vector<Wish> wishes_;  // by series
  std::vector<Listener> listeners_;
  std::vector<uint32_t> want_all_;  // listeners
  std::vector<SeriesState> near_;   // by id
  std::unordered_map<uint32_t, SeriesState> far_;
  std::unordered_map<uint32_t, Group> groups_;
  std::vector<uint8_t> chosen_;  // by chunk
  size_t next_ = 0, chunk_ = 0;
  uint32_t epochs_ = 0;
  CounterTicks ticks_;
};

}  // namespace sonde

#endif  // SONDE_STORE_COUNTER_REPLAY_H_

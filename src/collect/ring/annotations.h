#ifndef SONDE_COLLECT_RING_ANNOTATIONS_H_
#define SONDE_COLLECT_RING_ANNOTATIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/ring/foreign_clock.h"
#include "collect/ring/open_slices.h"
#include "collect/ring/tick_clock.h"
#include "collect/ring/wire_args.h"
#include "collect/ring/wire_names.h"
#include "trace/writer.h"
#include "wire/record.h"

namespace sonde {

// What a process said about itself: turns the records of its ring into events,
// counters and names of the trace.
//
//  - Slices of a thread are put together from their begin and end. One whose
//    end was lost ends with the record that shows it, flagged unfinished; one
//    whose begin was lost is left out.
//  - A thread has one row for whoever speaks on it: what a library says nests
//    in what the program says, and the self times of a row sum to its time. An
//    event tells its class and, if that is not the program, its source.
//  - Ranges, counters and rows the program made are written by several threads:
//    their records wait for EndPass() and are taken in the order of time.
//  - Nothing here trusts a record. What cannot be is counted in strange(), a
//    counter's value that is no finite number as a loss.
//
// One thread. Does not own the writer.
class Annotations {
 public:
  struct Options {
    uint32_t process = 0;              // number in the trace
    const TickClock* ticks = nullptr;  // null: records are in nanoseconds
    std::function<void(uint32_t thread, std::string_view)> name_thread;
    std::function<void(std::string_view)> name_process;
    WireNames::Look look;  // what its ids mean
  };

  Annotations(TraceWriter& out, Options options);

  // Records of one thread, whole ones, in the order it wrote them. `key` is the
  // thread's number in the ring, `thread` the one in the trace (0: not known),
  // `tid` what it calls itself.
  void Take(uint32_t key, uint32_t thread, uint32_t tid,
            std::span<const uint64_t> words);
  // Every thread's records up to `horizon`, a time of their clock, have been
  // taken. Later ones of some are there as well, of others not.
  void EndPass(uint64_t horizon);
  // Nothing was recorded from here on, for a while: what is open ends, flagged.
  void Paused(int64_t at_ns);
  // What is still open ends here, flagged.
  void ThreadEnded(uint32_t key, int64_t at_ns);
  void ProcessEnded(int64_t at_ns);

  // What must be known to go on from here, in another process with a copy of
  // the trace. Behind a pass.
  void Archive(StateArchive& archive);

  // Records are held back for the next pass.
  bool waiting() const { return !held_.empty(); }
  // The latest of the times it was told, of the records' clock.
  uint64_t last_time() const { return last_time_; }
  // Texts of arguments that were left out, because there were too many.
  uint64_t texts_left_out() const { return extra_.texts_left_out; }
  // Records that could not be, and those taken, that one included.
  uint64_t strange() const { return strange_; }
  uint64_t records() const { return records_; }

 private:
  struct ThreadState {
    uint32_t thread = 0;
    uint32_t tid = 0;
    uint32_t track = 0;
    int32_t base = 0;  // depth that its records begin at; -1: not known
    OpenSlices open;
  };
  struct Record {
    RecordHead head;
    std::span<const uint64_t> words;
  };
  // A record that waits for the end of the pass; its words are in held_words_.
  struct Held {
    RecordHead head;
    uint32_t key;
    size_t first, count;
  };
  // One of the rows on which ranges of one name lie side by side.
  struct Lane {
    uint32_t track = 0;
    bool busy = false;
  };
  struct OpenRange {
    uint32_t label = 0;
    size_t lane = 0;
    OpenSlice slice;
  };
  struct CustomState {
    uint32_t track = 0;
    uint32_t clock = 0;
    bool queue = false;  // of a device
    OpenSlices open;
  };
  struct LossState {
    size_t handle = 0;
    int rows = 0;
    Loss loss;
  };
  // Beside the reasons of LostWhy: a counter was given NaN or infinity; slices
  // are nested deeper than a record can say.
  static constexpr uint32_t kNotANumber = 1000;
  static constexpr uint32_t kTooDeep = 1001;
  struct CounterState {
    uint32_t series = 0;
    int64_t whole = 0;
    double real = 0;
  };

  void TakeOne(uint32_t key, ThreadState& state, const Record& record);
  void NoteTooDeep(ThreadState& state, uint16_t depth, int64_t at_ns);
  void TakeHeld(const Held& held);
  OpenSlice SliceOf(const Record& record, int64_t begin_ns, WireExtra& extra);
  void Instant(uint32_t track, uint16_t depth, const Record& record,
               int64_t at_ns, WireExtra& extra);
  void Flow(ThreadState& state, const Record& record, WireExtra& extra);
  void Range(const Record& record, WireExtra& extra);
  void Counter(const Record& record);
  void Custom(const Record& record, WireExtra& extra);
  void Lost(const Record& record);
  void Lose(uint32_t why, uint64_t count, int64_t from_ns, int64_t to_ns);
  void Add(uint32_t track, const OpenSlice& slice, int64_t end_ns,
           uint8_t flags, Event::Kind kind = Event::Kind::kSlice);
  void CloseAll(uint32_t track, OpenSlices& open, int64_t at_ns);
  uint32_t TrackOf(ThreadState& state);
  // Null: there is no such row. `parents` bounds how far up it makes rows.
  CustomState* CustomOf(uint32_t id, int parents);
  uint32_t NewTrack(Track row);
  // The id of a flow in the trace: numbers of one process are its own.
  uint64_t FlowOf(uint64_t id, bool global) const {
    if (!global) id ^= uint64_t{options_.process} * 0x9e3779b97f4a7c15;
    return id != 0 ? id : 1;
  }
  void ArchiveShared(StateArchive& archive);
  static Loss LossOf(uint32_t why);
  int64_t Bounded(int64_t ns) const;
  int64_t ToNs(uint64_t time) const;
  int64_t ToNs(uint64_t time, uint32_t clock) const;

  TraceWriter& out_;
  const Options options_;
  WireNames names_;
  uint64_t strange_ = 0, records_ = 0;
  uint64_t last_time_ = 0;
  uint32_t group_ = 0;  // of its counters
  std::unordered_map<uint32_t, ThreadState> threads_;
  std::vector<Held> held_;
  std::vector<uint64_t> held_words_;
  std::unordered_map<uint32_t, CustomState> custom_;
  std::unordered_map<uint32_t, ForeignClock> clocks_;
  std::unordered_map<uint32_t, std::vector<Lane>> lanes_;  // by string id
  std::unordered_map<uint64_t, OpenRange> ranges_;
  std::unordered_map<uint64_t, CounterState> counters_;  // by source and name
  std::map<uint32_t, LossState> losses_;                 // by why
  WireExtra extra_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_RING_ANNOTATIONS_H_

#ifndef SONDE_STORE_STORE_H_
#define SONDE_STORE_STORE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/counter_chunk.h"
#include "trace/event_chunk.h"
#include "trace/model.h"
#include "trace/reader.h"
#include "trace/rows.h"
#include "trace/sample_chunk.h"

namespace sonde {

// A window of the trace's clock: from begin_ns up to, not including, end_ns.
struct TimeRange {
  int64_t begin_ns = INT64_MIN;
  int64_t end_ns = INT64_MAX;
};

// What one name cost in a window.
struct OpTotal {
  uint32_t name = 0;
  uint64_t count = 0;
  uint64_t total_ns = 0;
  int64_t self_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  uint64_t p50_ns = 0;
  uint64_t p99_ns = 0;
  bool device = false;  // time of a device, beside the host's
};

// One series over its chunks.
struct SeriesTotal {
  uint64_t count = 0;
  double min = 0, max = 0, first = 0, last = 0;
  double integral = 0, seconds = 0;

  // By time. A series of one moment has that value all the time.
  double Mean() const { return seconds > 0 ? integral / seconds : last; }
};
// Adds what one chunk says, in the order of the chunks; totals are by series.
void AddAggregate(std::map<uint32_t, SeriesTotal>& totals,
                  const SeriesAggregate& row);

// Some of the frames of a reader, in its order. A list of places, not copies: a
// trace may have a million frames.
class ChunkList {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = FrameRef;
    using difference_type = std::ptrdiff_t;
    using pointer = const FrameRef*;
    using reference = const FrameRef&;

    Iterator(const FrameRef* frames, const uint32_t* at)
        : frames_(frames), at_(at) {}
    const FrameRef& operator*() const { return frames_[*at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const FrameRef* frames_;
    const uint32_t* at_;
  };

  size_t size() const { return at_.size(); }
  bool empty() const { return at_.empty(); }
  const FrameRef& operator[](size_t i) const { return frames_[at_[i]]; }
  Iterator begin() const { return {frames_, at_.data()}; }
  Iterator end() const { return {frames_, at_.data() + at_.size()}; }

 private:
  friend class Store;
  const FrameRef* frames_ = nullptr;
  std::vector<uint32_t> at_;
};

// The tables of one trace. Opening reads the index and the small tables;
// events and counters stay in the file until they are asked for. Tables that
// take more than RowBudget allows are refused.
//
//  - Everything that is missing is in losses(): what the recorder lost, damaged
//    parts of the file, and a journal that is not there. Reading a damaged
//    chunk adds a loss.
//  - Ids that the trace does not explain (their rows were lost) give empty
//    rows and the name "?".
//
// Reading is safe from several threads, as long as each has columns of its own.
class Store {
 public:
  // A trace in any form we read: .sonde, or its text form.
  static Result<std::shared_ptr<const Store>> Open(const std::string& path);
  static Result<std::shared_ptr<const Store>> OfBytes(
      std::shared_ptr<std::string> bytes, const std::string& name);

  const std::string& path() const { return path_; }
  const TraceReader& reader() const { return *reader_; }

  // "" for 0, "?" for an id whose string was lost.
  std::string_view Str(uint32_t id) const { return rows_.Str(id); }
  const IdTable<std::string>& strings() const { return rows_.strings; }
  // 0 if there is no such string.
  uint32_t FindString(std::string_view text) const;

  // Rows that exist, by id.
  const Rows& rows() const { return rows_; }
  const std::map<uint32_t, Track>& tracks() const { return rows_.tracks; }
  const std::map<uint32_t, Process>& processes() const {
    return rows_.processes;
  }
  const std::map<uint32_t, Thread>& threads() const { return rows_.threads; }
  const std::map<uint32_t, Series>& series() const { return rows_.series; }
  // Series of this name that were sampled: the program did not make them.
  std::vector<const Series*> Sampled(Series::Scope scope,
                                     std::string_view name) const;
  const IdTable<StackFrame>& frames() const { return rows_.frames; }
  const IdTable<StackNode>& stacks() const { return rows_.stacks; }
  const std::vector<Arg>* args(uint32_t set) const;
  std::string Meta(std::string_view key) const;
  const std::vector<ClockPair>& clocks() const { return clocks_; }
  std::vector<Loss> losses() const;
  // The same for many readers at once, made anew when there are more.
  std::shared_ptr<const std::vector<Loss>> KeptLosses() const;

  // First and last moment of anything recorded.
  TimeRange range() const { return range_; }
  // Realtime of a moment, by the nearest clock pair; for labels only.
  int64_t RealtimeOf(int64_t time_ns) const;
  // Slices, instants and counter values in the file.
  uint64_t event_count() const { return event_count_; }

  // Chunks in the order they were written.
  const ChunkList& event_chunks() const { return event_chunks_; }
  const ChunkList& counter_chunks() const { return counter_chunks_; }
  const ChunkList& sample_chunks() const { return sample_chunks_; }

  // Columns of one chunk; `mask` of EventColumnMask. False if it is damaged,
  // which is then in losses().
  bool ReadEvents(const FrameRef& chunk, uint32_t mask,
                  EventColumns& out) const;
  bool ReadAggregates(const FrameRef& chunk,
                      std::vector<NameAggregate>& out) const;
  bool ReadLod(const FrameRef& chunk, bool coarse,
               std::vector<LodRow>& out) const;
  // For CounterReplay, which everybody else asks.
  bool ReadTicks(const FrameRef& chunk, CounterTicks& out) const;
  // How often a counter chunk was decoded, whatever for.
  uint64_t counter_decodes() const { return late_->counter_decodes; }
  bool ReadSamples(const FrameRef& chunk, std::vector<Sample>& out) const;
  bool ReadSeriesAggregates(const FrameRef& chunk,
                            std::vector<SeriesAggregate>& out) const;
  // For reading a chunk's columns step by step. `out` views into `payload`.
  bool OpenEvents(const FrameRef& chunk, std::string& payload,
                  EventChunkDecoder& out) const;
  // Damage of a chunk that a caller of OpenEvents found later.
  void NoteDamage(const FrameRef& chunk) const;

  // Cost by track and name over the whole trace, also of events that
  // `--max-size` gave up.
  const std::vector<TrackTotal>& totals() const;

  // Whether the program, or somebody on its behalf, made a track or a series:
  // not so what the collector puts on the timeline (the images of processes,
  // the session) and what it samples.
  template <typename Row>
  bool OfProgram(const Row& row) const {
    return rows_.OfProgram(row);
  }
  bool OfTheProgram(uint32_t track) const;
  bool OfProgramGroup(uint32_t group) const {
    return program_groups_.contains(group);
  }

  // Cost by name, most expensive first, of devices apart. Events that begin in
  // the window count, with their whole duration. `track` 0: all of the program.
  // From the totals and the chunks' aggregates; only chunks at the window's
  // borders are decoded. Self times at the borders of a window and of a cut-off
  // recording are exact unless a slice has more than 2^18 slices inside it.
  std::vector<OpTotal> TopOps(TimeRange window = {}, uint32_t track = 0) const;

 private:
  Store() = default;
  static Result<std::shared_ptr<const Store>> FromReader(
      TraceReader reader, const std::string& path);
  Status Load();
  void FindRange();
  std::vector<int64_t> InnerBefore(size_t chunk) const;

  // What is computed or found after opening.
  struct Late {
    std::mutex mutex, losses_mutex;  // the second: of what is kept of losses
    std::set<std::pair<bool, int64_t>> damaged;  // journal, offset
    std::vector<Loss> damage_losses;
    std::shared_ptr<const std::vector<Loss>> kept_losses;
    size_t kept_damages = 0;  // of damage_losses
    std::atomic<uint64_t> counter_decodes = 0;
    bool totals_ready = false;
    std::vector<TrackTotal> totals;
  };

  std::string path_;
  std::shared_ptr<const TraceReader> reader_;
  Rows rows_;
  std::vector<ClockPair> clocks_;
  std::set<uint32_t> program_groups_;
  TimeRange range_{0, 0};
  uint64_t event_count_ = 0;
  ChunkList event_chunks_;
  ChunkList counter_chunks_;
  ChunkList sample_chunks_;
  std::shared_ptr<Late> late_;
};

}  // namespace sonde

#endif  // SONDE_STORE_STORE_H_

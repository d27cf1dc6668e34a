#ifndef SONDE_TRACE_WRITER_H_
#define SONDE_TRACE_WRITER_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "trace/counter_chunk.h"
#include "trace/event_chunk.h"
#include "trace/frame.h"
#include "trace/index.h"
#include "trace/model.h"
#include "trace/sample_chunk.h"
#include "trace/sink.h"
#include "trace/stack_table.h"
#include "trace/tables.h"

namespace sonde {

// Writes one trace.
//
//  - What was added before the last Flush() survives SIGKILL of this process:
//    it is in the file or in the journal beside it (PATH.journal), and a reader
//    takes both. Close() removes the journal.
//  - Add and Put never fail and never wait for more than a write(). When the
//    disk is full the trace stops growing, what comes later is counted, and
//    Close() still finishes the file with a loss that says so.
//  - File and journal together never exceed max_bytes: the oldest chunks are
//    given up, their aggregates kept, and a loss says how many.
//  - Events of a track should come in the order they end. Events out of order
//    are kept as well, but self times may then be charged to the wrong name.
//
// One thread. Owns its files.
class TraceWriter {
 public:
  struct Options {
    int64_t max_bytes = 0;  // 0: no limit; at least kMinMaxBytes
    bool journal = true;
    bool replace = false;  // overwrite an existing file
    int64_t reserve_bytes = 1 << 20;
  };
  static constexpr int64_t kMinMaxBytes = 256 << 10;

  static Result<std::unique_ptr<TraceWriter>> Create(const std::string& path,
                                                     const FileHeader& header,
                                                     const Options& options);
  // Into memory, for text traces and imports. `bytes` is whole after Close().
  static std::unique_ptr<TraceWriter> CreateInMemory(
      const FileHeader& header, std::shared_ptr<std::string> bytes);
  ~TraceWriter();

  // The id of a string, 0 for the empty string. Strings over 64 KiB are cut.
  uint32_t Intern(std::string_view text);
  const std::string& StringOf(uint32_t id) const { return *strings_[id]; }
  // The same for texts that may all be different, such as arguments of events:
  // strings are kept in memory until the end, so beyond kMostTextBytes (a few
  // million texts) new texts are not kept. Then 0, though the text is not
  // empty.
  uint32_t InternText(std::string_view text);
  static constexpr size_t kMostTextBytes = 256 << 20;

  // Ids are given here, the argument's is ignored.
  uint32_t AddTrack(Track track);
  uint32_t AddSeries(Series series);
  // A group that nobody uses yet.
  uint32_t AddGroup();
  // A row of a plain kind (trace/fields.h): a device, a module.
  template <typename Row>
  uint32_t AddRow(Row row) {
    PassingTable<Row>& table = std::get<PassingTable<Row>>(plain_);
    row.id = ++table.last_id;
    table.Put(row.id, row);
    return row.id;
  }
  uint32_t AddArgs(const std::vector<Arg>& args);
  // See StackTable.
  uint32_t AddFrame(const StackFrame& frame) { return stacks_.AddFrame(frame); }
  uint32_t AddStack(const StackNode& node) { return stacks_.AddNode(node); }
  uint32_t AddStack(std::span<const StackFrame> frames) {
    return stacks_.AddStack(frames);
  }
  // Names a frame that was only a place.
  void AddSymbol(const Symbol& symbol);

  // Adds a row, or replaces the row of the same number.
  void PutProcess(const Process& process);
  void PutThread(const Thread& thread);
  void PutMeta(std::string_view key, std::string_view value);
  // All of what was not collected: replaces what was said before.
  void PutNotCollected(const std::vector<NotCollected>& rows);

  void AddClock(const ClockPair& pair);
  // Returns a handle for UpdateLoss, when the same loss goes on.
  size_t AddLoss(Loss loss);
  void UpdateLoss(size_t handle, const Loss& loss);
  // Either, depending on whether there is a handle yet.
  void PutLoss(std::optional<size_t>& handle, const Loss& loss);
  // What events cost that were given up before, for the totals.
  void AddGivenUp(const TrackTotal& total);
  void AddGivenUp(const SampleSum& sum);

  void AddEvent(uint32_t track, const Event& event) {
    TrackState& state = tracks_[track];
    if (!state.open) [[unlikely]]
      OpenTrack(track);
    OpenTrackState& open = *state.open;
    if (EventColumns::IsRare(event)) [[unlikely]] {
      open.Drain();
      open.events.Add(event);
    } else {
      open.staged[open.staged_count++] = {
          event.begin_ns + event.dur_ns, event.dur_ns, event.name, event.depth};
      if (open.staged_count < kStaged) return;
      open.Drain();
    }
    if (open.events.size() > kMaxChunkEvents - kStaged) SealTrack(track);
  }

  // Samples should come about in the order of their times.
  void AddSample(const Sample& sample) {
    samples_.push_back(sample);
    if (samples_.size() >= kMaxChunkEvents) [[unlikely]]
      SealSamples();
  }

  // One tick of a group: BeginTick, then Set for each series that has a value,
  // Gone for each series that has ended, EndTick. Values equal to the last are
  // not stored.
  void BeginTick(uint32_t group, int64_t now_ns);
  void Set(uint32_t series, int64_t value) {
    SetBits(series, static_cast<uint64_t>(value));
  }
  void SetDouble(uint32_t series, double value) {
    SetBits(series, DoubleBits(value));
  }
  void Gone(uint32_t series);
  void EndTick();

  // Makes what was added so far safe against SIGKILL. Cheap; call it a few
  // times a second.
  void Flush();
  // Cuts chunks of everything buffered and empties the journal. Call it every
  // ten seconds: short chunks are large chunks.
  void Seal();
  // Seals, writes totals, index and end. Nothing may be added afterwards.
  // The error is the one that stopped the trace, if any.
  Status Close();

  // Why nothing more is written; empty while the trace grows.
  const std::optional<Error>& failure() const { return failure_; }
  int64_t bytes_written() const { return file_->size(); }
  uint64_t events() const { return events_; }
  size_t frames() const { return index_.size(); }
  // How many rows of a kind there are so far. Ids go up to this number.
  uint32_t strings() const {
    return static_cast<uint32_t>(strings_.size() - 1);
  }
  uint32_t tracks() const { return static_cast<uint32_t>(tracks_.size() - 1); }
  uint32_t series() const { return static_cast<uint32_t>(series_.size() - 1); }
  uint32_t groups() const { return static_cast<uint32_t>(groups_.size() - 1); }
  size_t losses() const { return losses_.rows.size(); }
  uint32_t GroupOf(uint32_t series) const { return series_[series].group; }
  // Who counts in a group; empty if nobody does yet.
  const std::string& SourceOf(uint32_t group) const {
    return StringOf(groups_[group]->source);
  }
  // Of a track, and ticks of a group, ever.
  uint64_t EventsOf(uint32_t track) const;
  uint64_t TicksOf(uint32_t group) const {
    return groups_[group]->ordinal + groups_[group]->ticks.size();
  }

 private:
  // What a track needs while events come. A tree of a million short processes
  // has a million tracks, so this goes when a track has been silent.
  //
  // Events come for many tracks in turn. Staged row by row they touch one cache
  // line each; the four columns are then written 64 values at a time (7 %
  // faster than each event into its columns, with 32 tracks).
  static constexpr size_t kStaged = 64;
  struct OpenTrackState {
    void Drain() {
      events.Append(std::span(staged).first(staged_count));
      staged_count = 0;
    }

    std::array<EventColumns::Plain, kStaged> staged;
    size_t staged_count = 0;
    EventColumns events;
    EventChunkEncoder encoder;
    size_t journaled = 0;  // events already in the journal
  };
  struct TrackState {
    std::unique_ptr<OpenTrackState> open;
    uint64_t ordinal = 0;  // events in chunks before
    std::unordered_map<uint32_t, NameAggregate> totals;
  };
  struct CounterGroup {
    CounterTicks ticks;
    std::vector<uint32_t> live;  // series that have a value, ascending
    CompressionMemory memory;
    size_t journaled = 0;
    uint64_t ordinal = 0;
    int64_t last_ns = INT64_MIN;
    uint32_t source = 0;  // string id, of its first series
  };
  struct SeriesState {
    uint64_t value = 0;
    Series::Type type = Series::Type::kInt;
    uint32_t group = 0;
    bool live = false;
  };
  // Rows by key, and which of them the file and the journal do not have yet.
  template <typename Row>
  struct Table {
    std::vector<Row> rows;
    std::vector<uint8_t> dirty;  // kForFile | kForJournal
    std::vector<uint32_t> file_list, journal_list;

    void Put(size_t key, Row row);
    // The row, if the journal (the file) still needs it.
    const Row* Wanted(uint32_t key, uint8_t by) const {
      return (dirty[key] & by) != 0 ? &rows[key] : nullptr;
    }
    void Unmark(size_t key, bool journal);
  };
  // The same for rows that come whole each time and without end: rows that the
  // file has are forgotten here.
  template <typename Row>
  struct PassingTable {
    struct Held {
      Row row;
      uint8_t dirty = 0;
    };
    std::unordered_map<uint32_t, Held> held;
    std::vector<uint32_t> file_list, journal_list;
    uint32_t last_id = 0;  // where ids are given here

    void Put(uint32_t key, const Row& row) {
      Held& one = held[key];
      one.row = row;
      if (!(one.dirty & kForFile)) file_list.push_back(key);
      if (!(one.dirty & kForJournal)) journal_list.push_back(key);
      one.dirty = kForFile | kForJournal;
    }
    const Row* Wanted(uint32_t key, uint8_t by) const;
    void Unmark(uint32_t key, bool journal);
  };
  static constexpr uint8_t kForFile = 1, kForJournal = 2;

  TraceWriter(std::unique_ptr<Sink> file, std::string path,
              const FileHeader& header, const Options& options);

  void SetBits(uint32_t series, uint64_t value);
  void OpenTrack(uint32_t track);
  void SealTrack(uint32_t track);
  void SealGroup(uint32_t group);
  void SealSamples();
  void SealTables(bool journal);
  void ForgetArgs();
  void StartJournal();
  // Leaves no journal_ if it could not be written.
  void FlushToJournal();
  void DropJournal();
  // Appends to the file, makes room first if need be, and stops the trace on
  // failure. Returns false if the frame is not in the file.
  bool Put(FrameKind kind, std::string_view payload, IndexEntry entry = {});
  void PutJournal(FrameKind kind, std::string_view payload);
  void Stop(const Error& error);
  bool MakeRoom(FrameKind kind, int64_t bytes);
  int64_t ClosingBytes() const;
  bool Compact(int64_t bytes);
  bool PutTotals(FrameKind kind, std::string_view payload);
  bool PutSampleSums();
  void AddTotal(NameAggregate& total, const NameAggregate& row);
  void CountDropped(const IndexEntry& entry, std::string_view payload);
  std::vector<TrackTotal> AllTotals() const;

  std::unique_ptr<Sink> file_;
  std::unique_ptr<Sink> journal_;
  std::string path_;
  FileHeader header_;
  Options options_;
  uint32_t sequence_ = 0;
  bool closing_ = false;
  bool compacted_ = false;    // since the journal was emptied
  int64_t totals_bytes_ = 0;  // of the last totals, known when closing
  std::optional<Error> failure_;
  int64_t reserve_left_ = 0;  // for chunks, once the disk is full
  uint64_t events_ = 0;

  std::unordered_map<std::string_view, uint32_t> string_ids_;
  std::vector<std::unique_ptr<std::string>> strings_;
  size_t strings_in_file_ = 1, strings_in_journal_ = 1;
  size_t text_bytes_ = 0;  // taken by InternText()

  PassingTable<Track> track_rows_;
  PassingTable<Process> processes_;
  PassingTable<Thread> threads_;
  PassingTable<Series> series_rows_;
  PlainTables<PassingTable> plain_;
  PassingTable<StackRow> stack_rows_;
  PassingTable<Symbol> symbols_;
  Table<ArgSet> args_;
  Table<MetaEntry> meta_;
  Table<LossRow> losses_;
  Table<ClockRow> clocks_;
  Table<NotCollectedRow> not_collected_;
  size_t args_in_file_ = 0;  // sets no longer in args_
  StackTable stacks_;
  std::map<std::string, uint32_t, std::less<>> meta_keys_;
  std::unordered_map<std::string, uint32_t> arg_ids_;

  std::vector<TrackState> tracks_;
  std::vector<uint32_t> open_tracks_;
  int64_t total_bytes_ = 0;  // about what the totals will take in the file
  std::vector<std::unique_ptr<CounterGroup>> groups_;
  std::vector<SeriesState> series_;
  CounterGroup* open_group_ = nullptr;
  int64_t open_tick_ns_ = 0;

  std::vector<Sample> samples_;  // of the chunk to come
  size_t samples_journaled_ = 0;
  uint64_t sample_ordinal_ = 0;  // samples in chunks before
  CompressionMemory sample_memory_;

  std::vector<IndexEntry> index_;
  std::map<std::pair<uint32_t, uint32_t>, NameAggregate> dropped_totals_;
  // By thread, stack and flags, of samples that were given up.
  std::map<std::array<uint32_t, 3>, SampleSum> dropped_samples_;
  Loss dropped_;
  std::optional<size_t> dropped_handle_;
  Loss stopped_;
  std::optional<size_t> stopped_handle_;
};

}  // namespace sonde

#endif  // SONDE_TRACE_WRITER_H_

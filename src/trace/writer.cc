#include "trace/writer.h"

#include <unistd.h>

#include <algorithm>

#include "base/check.h"
#include "base/time.h"
#include "trace/journal.h"

namespace sonde {

Result<std::unique_ptr<TraceWriter>> TraceWriter::Create(
    const std::string& path, const FileHeader& header, const Options& options) {
  // Within a limit also the disk set aside counts.
  const bool limited = options.max_bytes > 0;
  const int64_t reserve =
      limited ? std::min(options.reserve_bytes, options.max_bytes / 8)
              : options.reserve_bytes;
  TRY(auto sink, FileSink::Create(path, options.replace, reserve,
                                  limited ? 0 : options.reserve_bytes));
  auto writer = std::unique_ptr<TraceWriter>(
      new TraceWriter(std::move(sink), path, header, options));
  if (writer->failure_) {
    ::unlink(path.c_str());
    return *writer->failure_;
  }
  writer->StartJournal();
  return writer;
}

std::unique_ptr<TraceWriter> TraceWriter::CreateInMemory(
    const FileHeader& header, std::shared_ptr<std::string> bytes) {
  Options options;
  options.journal = false;
  return std::unique_ptr<TraceWriter>(new TraceWriter(
      std::make_unique<MemorySink>(std::move(bytes)), "", header, options));
}

TraceWriter::TraceWriter(std::unique_ptr<Sink> file, std::string path,
                         const FileHeader& header, const Options& options)
    : file_(std::move(file)),
      path_(std::move(path)),
      header_(header),
      options_(options) {
  CHECK(options_.max_bytes == 0 || options_.max_bytes >= kMinMaxBytes);
  strings_.push_back(std::make_unique<std::string>());
  string_ids_[*strings_[0]] = 0;
  tracks_.emplace_back();  // ids start at 1
  groups_.emplace_back();
  series_.emplace_back();
  if (const Status status = file_->Append(header_.Encode()); !status.ok())
    Stop(status.error());
}

TraceWriter::~TraceWriter() = default;

void TraceWriter::BeginTick(uint32_t group, int64_t now_ns) {
  CHECK(open_group_ == nullptr && group < groups_.size() && group > 0);
  open_group_ = groups_[group].get();
  // Time never runs backwards within a group.
  open_tick_ns_ = open_group_->last_ns = std::max(now_ns, open_group_->last_ns);
}

void TraceWriter::SetBits(uint32_t series, uint64_t value) {
  SeriesState& state = series_[series];
  CHECK(open_group_ == groups_[state.group].get());
  if (state.live && state.value == value) return;
  if (!state.live) {
    auto& live = open_group_->live;
    live.insert(std::lower_bound(live.begin(), live.end(), series), series);
    state.live = true;
    // In the file a tick's ends come after its values: not gone after all.
    CounterTicks& ticks = open_group_->ticks;
    const size_t first_gone = ticks.size() ? ticks.gone_end.back() : 0;
    const auto at =
        std::find(ticks.gone.begin() + static_cast<ptrdiff_t>(first_gone),
                  ticks.gone.end(), series);
    if (at != ticks.gone.end()) ticks.gone.erase(at);
  }
  state.value = value;
  open_group_->ticks.changes.push_back({series, value});
}

void TraceWriter::Gone(uint32_t series) {
  SeriesState& state = series_[series];
  CHECK(open_group_ == groups_[state.group].get());
  if (!state.live) return;
  state.live = false;
  auto& live = open_group_->live;
  live.erase(std::lower_bound(live.begin(), live.end(), series));
  open_group_->ticks.gone.push_back(series);
}

void TraceWriter::EndTick() {
  CHECK(open_group_ != nullptr);
  CounterTicks& ticks = open_group_->ticks;
  const size_t first = ticks.size() ? ticks.changed_end.back() : 0;
  const size_t first_gone = ticks.size() ? ticks.gone_end.back() : 0;
  const auto by_series = [](const auto& a, const auto& b) {
    return a.series < b.series;
  };
  const auto sort_changes = [&] {
    std::stable_sort(ticks.changes.begin() + static_cast<ptrdiff_t>(first),
                     ticks.changes.end(), by_series);
  };
  sort_changes();
  if (ticks.size() == 0) {
    // The first tick of a chunk names every series, so that it can be read
    // without the chunks before it.
    const size_t named = ticks.changes.size();
    for (uint32_t series : open_group_->live) {
      const CounterTicks::Change change{series, series_[series].value};
      if (!std::binary_search(
              ticks.changes.begin(),
              ticks.changes.begin() + static_cast<ptrdiff_t>(named), change,
              by_series))
        ticks.changes.push_back(change);
    }
    sort_changes();
  }
  std::sort(ticks.gone.begin() + static_cast<ptrdiff_t>(first_gone),
            ticks.gone.end());
  ticks.time_ns.push_back(open_tick_ns_);
  ticks.changed_end.push_back(static_cast<uint32_t>(ticks.changes.size()));
  ticks.gone_end.push_back(static_cast<uint32_t>(ticks.gone.size()));
  CounterGroup* const group = open_group_;
  open_group_ = nullptr;
  if (group->ticks.changes.size() < kMaxChunkValues &&
      group->ticks.size() < kMaxChunkEvents)
    return;
  for (uint32_t id = 1; id < groups_.size(); ++id)
    if (groups_[id].get() == group) SealGroup(id);
}

void TraceWriter::OpenTrack(uint32_t track) {
  tracks_[track].open = std::make_unique<OpenTrackState>();
  open_tracks_.push_back(track);
}

uint64_t TraceWriter::EventsOf(uint32_t track) const {
  const TrackState& state = tracks_[track];
  return state.ordinal +
         (state.open ? state.open->events.size() + state.open->staged_count
                     : 0);
}

void TraceWriter::AddGivenUp(const TrackTotal& total) {
  AddTotal(tracks_[total.track].totals[total.aggregate.name], total.aggregate);
}

void TraceWriter::SealTrack(uint32_t track) {
  TrackState& state = tracks_[track];
  OpenTrackState& buffer = *state.open;
  buffer.Drain();
  if (buffer.events.size() == 0) return;
  IndexEntry entry;
  entry.events.track = track;
  entry.events.first_ordinal = state.ordinal;
  const std::string payload = buffer.encoder.Encode(
      buffer.events, 0, buffer.events.size(), true, entry.events);
  events_ += buffer.events.size();
  const bool put = Put(FrameKind::kEvents, payload, entry);
  // Also if it was given up at once, as too large for max_bytes.
  if (put || !failure_) {
    for (const NameAggregate& row : buffer.encoder.aggregates())
      AddTotal(state.totals[row.name], row);
  }
  state.ordinal += buffer.events.size();
  buffer.events.Clear();
  buffer.journaled = 0;
}

void TraceWriter::SealGroup(uint32_t id) {
  CounterGroup& group = *groups_[id];
  if (group.ticks.size() == 0) return;
  IndexEntry entry;
  entry.counters.group = id;
  entry.counters.first_ordinal = group.ordinal;
  const auto type_of = [this](uint32_t series) { return series_[series].type; };
  const std::string payload =
      EncodeCounterChunk(group.ticks, 0, group.ticks.size(), true, type_of,
                         group.memory, entry.counters);
  events_ += group.ticks.changes.size();
  Put(FrameKind::kCounters, payload, entry);
  group.ordinal += group.ticks.size();
  group.ticks.Clear();
  group.journaled = 0;
}

void TraceWriter::SealSamples() {
  if (samples_.empty()) return;
  IndexEntry entry;
  entry.samples.first_ordinal = sample_ordinal_;
  const std::string payload =
      EncodeSampleChunk(samples_, sample_memory_, entry.samples);
  events_ += samples_.size();
  Put(FrameKind::kSamples, payload, entry);
  sample_ordinal_ += samples_.size();
  samples_.clear();
  samples_journaled_ = 0;
}

void TraceWriter::StartJournal() {
  if (!options_.journal || failure_) return;
  FileHeader header = header_;
  header.journal = true;
  if (!journal_) {
    // An old journal of that name belongs to a trace that is replaced.
    const std::string path = path_ + ".journal";
    auto sink = FileSink::Create(path, options_.replace && IsJournal(path), 0);
    if (!sink.ok()) return;
    journal_ = sink.Take();
  } else if (!journal_->Truncate(0).ok()) {
    DropJournal();
    return;
  }
  if (!journal_->Append(header.Encode()).ok()) DropJournal();
}

void TraceWriter::DropJournal() {
  if (!journal_) return;
  journal_.reset();
  ::unlink((path_ + ".journal").c_str());
}

void TraceWriter::Flush() {
  // The journal must not bring back what the file has given up.
  if (compacted_) Seal();
  if (journal_) FlushToJournal();
  if (journal_ || failure_ || !options_.journal) return;
  // The journal's disk is full. The file may have room set aside; if it has
  // none either, this is where it shows.
  Seal();
  StartJournal();
}

void TraceWriter::FlushToJournal() {
  SealTables(true);
  for (const uint32_t track : open_tracks_) {
    OpenTrackState& buffer = *tracks_[track].open;
    buffer.Drain();
    // What is staged next must still fit.
    if (buffer.events.size() > kMaxChunkEvents - kStaged) SealTrack(track);
    if (buffer.journaled == buffer.events.size()) continue;
    EventChunkInfo info;
    info.track = track;
    info.first_ordinal = tracks_[track].ordinal + buffer.journaled;
    PutJournal(FrameKind::kEvents,
               buffer.encoder.Encode(buffer.events, buffer.journaled,
                                     buffer.events.size(), false, info));
    buffer.journaled = buffer.events.size();
  }
  const auto type_of = [this](uint32_t series) { return series_[series].type; };
  for (uint32_t id = 1; id < groups_.size(); ++id) {
    CounterGroup& group = *groups_[id];
    if (group.journaled == group.ticks.size()) continue;
    CounterChunkInfo info;
    info.group = id;
    info.first_ordinal = group.ordinal + group.journaled;
    PutJournal(
        FrameKind::kCounters,
        EncodeCounterChunk(group.ticks, group.journaled, group.ticks.size(),
                           false, type_of, group.memory, info));
    group.journaled = group.ticks.size();
  }
  if (samples_journaled_ < samples_.size()) {
    SampleChunkInfo info;
    info.first_ordinal = sample_ordinal_ + samples_journaled_;
    PutJournal(
        FrameKind::kSamples,
        EncodeSampleChunk(std::span(samples_).subspan(samples_journaled_),
                          sample_memory_, info));
    samples_journaled_ = samples_.size();
  }
  // The journal counts against the limit, and a journal that has grown large
  // costs more than the short chunks that empty it.
  const int64_t half = options_.max_bytes ? options_.max_bytes / 8 : 8 << 20;
  if (journal_ && journal_->size() > half) Seal();
}

void TraceWriter::Seal() {
  // Tables first: a chunk that can be read can also be named.
  SealTables(false);
  std::erase_if(open_tracks_, [&](uint32_t track) {
    TrackState& state = tracks_[track];
    state.open->Drain();
    const bool silent =
        state.open->events.size() == 0 && !state.open->encoder.busy();
    if (silent)
      state.open.reset();
    else
      SealTrack(track);
    return silent;
  });
  for (uint32_t id = 1; id < groups_.size(); ++id) SealGroup(id);
  SealSamples();
  if (journal_) StartJournal();
  compacted_ = false;
}

Status TraceWriter::Close() {
  CHECK(!closing_ && open_group_ == nullptr);
  Seal();
  closing_ = true;
  file_->OpenReserve();
  if (stopped_handle_) {
    if (stopped_.from_ns == INT64_MAX) stopped_.from_ns = kNoTime;
    UpdateLoss(*stopped_handle_, stopped_);
  }
  const std::vector<std::string> totals = EncodeTotals(0, AllTotals());
  if (options_.max_bytes > 0)
    for (const std::string& part : totals)
      totals_bytes_ += static_cast<int64_t>(
          EncodeFrame(FrameKind::kTotals, 0, part, true).size());
  SealTables(false);
  bool done = true;
  for (const std::string& part : totals) done &= Put(FrameKind::kTotals, part);
  if (!dropped_samples_.empty()) done &= PutSampleSums();

  EndMark end;
  end.index_offset = file_->size();
  end.events = events_;
  const std::vector<IndexEntry> entries = std::move(index_);
  index_.clear();  // Put() adds to it, for nobody
  for (size_t at = 0; at < entries.size() || at == 0; at += kIndexPart)
    done &= Put(FrameKind::kIndex,
                EncodeIndex(std::span(entries).subspan(
                    at, std::min(kIndexPart, entries.size() - at))));
  end.file_size =
      file_->size() + static_cast<int64_t>(kFrameHeaderSize + EndMark::kSize);
  done &= Put(FrameKind::kEnd, end.Encode());
  // Without an end the journal is still part of the trace.
  if (done) DropJournal();
  if (failure_) return *failure_;
  return Ok();
}

bool TraceWriter::Put(FrameKind kind, std::string_view payload,
                      IndexEntry entry) {
  const bool chunk = IsChunk(kind);
  entry.kind = kind;
  const int64_t most = static_cast<int64_t>(kFrameHeaderSize + payload.size());
  if (!MakeRoom(kind, most)) {
    // Not even all older chunks together make room for this one.
    if (chunk) {
      CountDropped(entry, payload);
      PutLoss(dropped_handle_, dropped_);
    }
    return false;
  }
  // Chunks compress their own columns.
  const std::string frame = EncodeFrame(kind, sequence_, payload, !chunk);
  const int64_t size = static_cast<int64_t>(frame.size());
  entry.offset = file_->size();
  entry.size = size;
  entry.sequence = sequence_;
  // Twice: the second time from the reserve, if the first finds the disk full.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (failure_ && !closing_ && size > reserve_left_) break;
    const Status status = file_->Append(frame);
    if (status.ok()) {
      if (failure_) reserve_left_ -= size;
      ++sequence_;
      index_.push_back(entry);
      return true;
    }
    if (failure_) {
      reserve_left_ = 0;
      break;
    }
    Stop(status.error());
  }
  if (chunk) {
    const ChunkSpan span = *entry.Chunk();
    stopped_.count += span.values;
    stopped_.from_ns = std::min(stopped_.from_ns, span.begin_ns);
    stopped_.to_ns = std::max(stopped_.to_ns, span.end_ns);
  }
  return false;
}

void TraceWriter::PutJournal(FrameKind kind, std::string_view payload) {
  if (!journal_) return;
  // Numbered as the file's next frame: it was written before that one.
  if (!journal_->Append(EncodeFrame(kind, sequence_, payload, false)).ok())
    DropJournal();
}

void TraceWriter::Stop(const Error& error) {
  failure_ = error;
  stopped_.reason = "disk-full";
  stopped_.detail = "values not written: " + error.what;
  stopped_.from_ns = INT64_MAX;
  stopped_handle_ = AddLoss(stopped_);
  // Half of the reserve takes what is still buffered, half is for the end.
  file_->OpenReserve();
  reserve_left_ = file_->reserve() / 2;
  // What the journal holds is buffered as well, and its room is needed.
  DropJournal();
}

std::vector<TrackTotal> TraceWriter::AllTotals() const {
  std::vector<TrackTotal> out;
  for (uint32_t track = 1; track < tracks_.size(); ++track) {
    const size_t first = out.size();
    for (const auto& entry : tracks_[track].totals)
      out.push_back({track, entry.second});
    std::sort(out.begin() + static_cast<ptrdiff_t>(first), out.end(),
              [](const TrackTotal& a, const TrackTotal& b) {
                return a.aggregate.name < b.aggregate.name;
              });
  }
  return out;
}

}  // namespace sonde

// How a trace keeps within max_bytes: TraceWriter::Compact().
//
// The oldest chunks are given up and the frames behind them moved to the front
// of the file, in place: no second file, no time at which more than max_bytes
// of disk are used. A SIGKILL in the middle leaves frames that stand twice
// (same sequence number; readers take the first) and at most one torn frame.
// Half of the file goes at once, so that a byte is moved about once.

#include <algorithm>

#include "trace/writer.h"

namespace sonde {
namespace {

// About what a sum of samples takes in the file, and which part of the limit
// all of them may take: those beyond are kept by thread alone.
constexpr int64_t kSampleSumBytes = 16;
constexpr int64_t kSampleSumsPart = 16;
// Also without a limit: they are one frame.
constexpr int64_t kMostSampleSums = 1 << 20;

}  // namespace

// What Close() will need at most, beyond what is in the file now.
int64_t TraceWriter::ClosingBytes() const {
  return (16 << 10) + static_cast<int64_t>(index_.size()) * 32 + total_bytes_ +
         static_cast<int64_t>(dropped_samples_.size()) * kSampleSumBytes;
}

void TraceWriter::AddGivenUp(const SampleSum& sum) {
  std::array<uint32_t, 3> key = {sum.thread, sum.stack, sum.flags};
  const int64_t most =
      options_.max_bytes == 0
          ? kMostSampleSums
          : std::min(kMostSampleSums,
                     options_.max_bytes / kSampleSumsPart / kSampleSumBytes);
  if (static_cast<int64_t>(dropped_samples_.size()) >= most &&
      !dropped_samples_.contains(key))
    key[1] = 0;
  SampleSum& all =
      dropped_samples_.try_emplace(key, SampleSum{key[0], key[1], key[2], 0, 0})
          .first->second;
  all.count += sum.count;
  all.weight_ns += sum.weight_ns;
}

void TraceWriter::AddTotal(NameAggregate& total, const NameAggregate& row) {
  const auto size = [](const NameAggregate& one) {
    if (one.count == 0) return int64_t{0};
    return 32 + static_cast<int64_t>(one.durations.buckets().size()) * 4;
  };
  total_bytes_ -= size(total);
  total.name = row.name;
  total.Merge(row);
  total_bytes_ += size(total);
}

bool TraceWriter::MakeRoom(FrameKind kind, int64_t bytes) {
  if (options_.max_bytes == 0) return true;
  // In Close() rows may find room that had none before, because what ends the
  // file is known by then.
  if (closing_) {
    const int64_t end =
        totals_bytes_ + static_cast<int64_t>(index_.size() + 64) * 32;
    const bool ends_the_file =
        kind == FrameKind::kTotals || kind == FrameKind::kSampleSums ||
        kind == FrameKind::kIndex || kind == FrameKind::kEnd;
    return ends_the_file || file_->size() + bytes + end <= options_.max_bytes;
  }
  const auto fits = [&] {
    const int64_t journal = journal_ ? journal_->size() : 0;
    return file_->size() + journal + bytes + ClosingBytes() <=
           options_.max_bytes;
  };
  return fits() || (Compact(bytes) && fits());
}

void TraceWriter::CountDropped(const IndexEntry& entry,
                               std::string_view payload) {
  const ChunkSpan span = *entry.Chunk();
  if (dropped_.count == 0) {
    dropped_.reason = "max-size";
    dropped_.detail =
        "oldest events and counter values given up to keep within --max-size";
    dropped_.from_ns = span.begin_ns;
    dropped_.to_ns = span.end_ns;
  }
  dropped_.count += span.values;
  dropped_.from_ns = std::min(dropped_.from_ns, span.begin_ns);
  dropped_.to_ns = std::max(dropped_.to_ns, span.end_ns);
  if (entry.kind == FrameKind::kSamples) {
    std::vector<Sample> samples;
    if (DecodeSampleChunk(payload, samples))
      for (const Sample& s : samples)
        AddGivenUp(SampleSum{s.thread, s.stack, s.flags, 1, s.weight_ns});
  }
  if (entry.kind != FrameKind::kEvents) return;
  EventChunkDecoder decoder;
  std::vector<NameAggregate> rows;
  if (!decoder.Open(payload) || !decoder.Aggregates(rows)) return;
  for (const NameAggregate& row : rows)
    AddTotal(dropped_totals_[{entry.events.track, row.name}], row);
}

bool TraceWriter::Compact(int64_t bytes) {
  // Half of the limit, or less if what is to come needs more than the rest.
  const int64_t journal = journal_ ? journal_->size() : 0;
  const int64_t coming = bytes + journal + ClosingBytes();
  int64_t excess =
      std::max(file_->size() - options_.max_bytes / 2,
               file_->size() + coming - options_.max_bytes / 8 * 7);
  // Nothing may be moved unless all that follows is done as well.
  if (excess <= 0 ||
      std::none_of(index_.begin(), index_.end(),
                   [](const IndexEntry& e) { return IsChunk(e.kind); }))
    return false;
  std::vector<IndexEntry> kept;
  int64_t to = kFileHeaderSize;
  for (size_t i = 0; i < index_.size(); ++i) {
    IndexEntry entry = index_[i];
    // Totals of chunks dropped earlier are rewritten below.
    const bool stale = entry.kind == FrameKind::kTotals ||
                       entry.kind == FrameKind::kSampleSums;
    if (stale || (IsChunk(entry.kind) && excess > 0)) {
      if (IsChunk(entry.kind)) {
        auto frame =
            file_->ReadAt(entry.offset, static_cast<size_t>(entry.size));
        if (frame.ok())
          CountDropped(
              entry, std::string_view(frame.value()).substr(kFrameHeaderSize));
      }
      excess -= entry.size;
      continue;
    }
    if (to != entry.offset) {
      auto frame = file_->ReadAt(entry.offset, static_cast<size_t>(entry.size));
      Status status = frame.ok() ? file_->WriteAt(to, frame.value())
                                 : Status(frame.error());
      if (!status.ok()) {
        // What was moved is where it is now; the rest is where it was.
        kept.insert(kept.end(), index_.begin() + static_cast<ptrdiff_t>(i),
                    index_.end());
        index_ = std::move(kept);
        Stop(status.error());
        return false;
      }
      entry.offset = to;
    }
    to += entry.size;
    kept.push_back(entry);
  }
  if (const Status status = file_->Truncate(to); !status.ok()) {
    Stop(status.error());
    return false;
  }
  index_ = std::move(kept);
  compacted_ = true;
  PutLoss(dropped_handle_, dropped_);

  // A crash now must not lose the totals of what was given up.
  std::vector<TrackTotal> totals;
  for (const auto& [key, aggregate] : dropped_totals_)
    totals.push_back({key.first, aggregate});
  for (const std::string& part : EncodeTotals(1, totals))
    if (!PutTotals(FrameKind::kTotals, part)) return false;
  return dropped_samples_.empty() || PutSampleSums();
}

bool TraceWriter::PutSampleSums() {
  std::vector<SampleSum> sums;
  for (const auto& [key, sum] : dropped_samples_) sums.push_back(sum);
  return PutTotals(FrameKind::kSampleSums, EncodeRows(sums));
}

// Without asking for room, which would come back to here.
bool TraceWriter::PutTotals(FrameKind kind, std::string_view payload) {
  const std::string frame = EncodeFrame(kind, sequence_, payload, true);
  IndexEntry entry;
  entry.kind = kind;
  entry.offset = file_->size();
  entry.size = static_cast<int64_t>(frame.size());
  entry.sequence = sequence_++;
  if (const Status status = file_->Append(frame); !status.ok()) {
    Stop(status.error());
    return false;
  }
  index_.push_back(entry);
  return true;
}

}  // namespace sonde

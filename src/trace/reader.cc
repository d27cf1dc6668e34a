#include "trace/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/shell_word.h"
#include "trace/bytes.h"

namespace sonde {
namespace {

// How much is looked through at once. Small at first: the next frame is often
// near, and a hostile file has many of them.
constexpr size_t kFirstWindow = 1 << 10, kLastWindow = 256 << 10;

// The next place at or behind `from` where `magic` begins something that
// `is_one` accepts, or `to`.
template <typename Accept>
int64_t Find(const Source& source, int64_t from, int64_t to,
             std::string_view magic, Accept is_one) {
  std::string window, head;
  for (size_t size = kFirstWindow; from < to;
       size = std::min(size * 2, kLastWindow)) {
    source.Read(from, size, window);
    const std::string_view view(window);
    size_t at = 0;
    while ((at = view.find(magic, at)) != std::string_view::npos) {
      const int64_t place = from + static_cast<int64_t>(at);
      if (place >= to) return to;
      source.Read(place, kFileHeaderSize, head);
      if (is_one(head)) return place;
      ++at;
    }
    if (window.size() < size) break;
    from += static_cast<int64_t>(window.size() - magic.size() + 1);
  }
  return to;
}

// The next frame at or behind `from`, or the source's size.
int64_t FindFrame(const Source& source, int64_t from) {
  const std::string_view magic(reinterpret_cast<const char*>(kFrameMagic),
                               sizeof(kFrameMagic));
  return Find(source, from, source.size(), magic, [](std::string_view head) {
    return FrameHeader::Decode(head).has_value();
  });
}

std::optional<FrameHeader> HeaderAt(const Source& source, int64_t at) {
  std::string head;
  source.Read(at, kFrameHeaderSize, head);
  return FrameHeader::Decode(head);
}

// The frame behind the damaged one at `at`.
int64_t FrameBehind(const Source& source, int64_t at) {
  int64_t next = FindFrame(source, at + 1);
  const auto header = HeaderAt(source, at);
  if (!header) return next;
  // A length holds if a frame follows, or if the file was cut off. What looks
  // like a frame before that is content, unless bytes were cut out: then its
  // number lies between those of the two.
  const int64_t end =
      at + static_cast<int64_t>(kFrameHeaderSize) + header->length;
  const bool inside = end < source.size();
  const auto behind = inside ? HeaderAt(source, end) : std::nullopt;
  if (inside && !behind) return next;
  const uint32_t bound = behind ? behind->sequence : header->sequence + 2;
  while (next < std::min(end, source.size())) {
    const auto found = HeaderAt(source, next);
    if (found && found->sequence > header->sequence && found->sequence < bound)
      break;
    next = FindFrame(source, next + 1);
  }
  return next;
}

// The header of another session's file in [from, to), or `to`.
int64_t FindOtherTrace(const Source& source, int64_t from, int64_t to,
                       const SessionId& session) {
  const std::string_view magic(reinterpret_cast<const char*>(kFileMagic),
                               sizeof(kFileMagic));
  return Find(source, from, to, magic, [&](std::string_view head) {
    const auto other = FileHeader::Decode(head);
    return other && other->session != session;
  });
}

// `failure` of opening the journal; null if it is there, but another's. Only a
// recording that was killed has a journal, and nearly always ends with a whole
// frame.
Loss LostEnd(const std::string& path, const Error* failure, bool torn) {
  const std::string shown = ShellWord(path, 4096);
  const bool absent =
      failure != nullptr && failure->kind == Error::Kind::kNotFound;
  if (absent && torn)
    return {TraceReader::kCut,
            "the end of the file is missing: it was cut or not copied whole; "
            "copy it again"};
  const std::string why =
      failure == nullptr
          ? shown +
                " is not the journal of this trace; put the one that was "
                "beside it back"
      : absent ? "the file was not copied whole, or its journal was left "
                 "elsewhere: put it back as " +
                     shown
               : shown + " cannot be read; is it yours?";
  return {"journal", "the newest part of the recording: " + why};
}

}  // namespace

Loss LossOf(const Damage& damage) {
  return {"damaged",
          fmt::format("{} ({} bytes at byte {}{})", damage.what, damage.bytes,
                      damage.offset, damage.journal ? " of the journal" : ""),
          static_cast<uint64_t>(damage.bytes)};
}

bool TraceReader::LooksLikeTrace(std::string_view first_bytes) {
  return first_bytes.size() >= sizeof(kFileMagic) &&
         std::memcmp(first_bytes.data(), kFileMagic, sizeof(kFileMagic)) == 0;
}

Result<TraceReader> TraceReader::Open(const std::string& path) {
  TRY(auto file, Source::OpenFile(path));
  const std::string journal_path = path + ".journal";
  const auto journal = Source::OpenFile(journal_path);
  TraceReader reader;
  TRY_OK(reader.OpenSources(std::move(file),
                            journal.ok() ? journal.value() : nullptr, path));
  const auto of_journal = [](const Damage& damage) { return damage.journal; };
  if (!reader.finished_ && !reader.ended_ && reader.journal_ == nullptr &&
      std::none_of(reader.damages_.begin(), reader.damages_.end(), of_journal))
    reader.lost_end_ = LostEnd(
        journal_path, journal.ok() ? nullptr : &journal.error(), reader.torn_);
  return reader;
}

Result<TraceReader> TraceReader::OpenBytes(std::shared_ptr<std::string> bytes,
                                           const std::string& name) {
  TraceReader reader;
  TRY_OK(reader.OpenSources(Source::OfBytes(std::move(bytes)), nullptr, name));
  return reader;
}

Status TraceReader::OpenSources(std::shared_ptr<Source> file,
                                std::shared_ptr<Source> journal,
                                const std::string& name) {
  name_ = name;
  file_ = std::move(file);
  std::string head;
  file_->Read(0, kFileHeaderSize, head);
  const auto header = FileHeader::Decode(head);
  if (header) {
    header_ = *header;
    if (header_.version > kFormatVersion)
      return Error{Error::Kind::kUnsupported,
                   name + ": written by a newer sonde (format " +
                       std::to_string(header_.version) + ", this one reads " +
                       std::to_string(kFormatVersion) + ")",
                   "use the sonde that made it, or a newer one"};
  }
  if (header && OpenByIndex()) {
    finished_ = true;
    if (file_->size() > kVerifyBytes) return Ok();
    // Small enough to know, not to hope.
    frames_.clear();
  }

  Scan(*file_, false);
  if (frames_.size() > kMaxFrames) return TooManyFrames();
  if (!header && frames_.empty())
    return Error{Error::Kind::kCorrupt, name + ": not a trace file",
                 "`sonde run -- <command>` makes one"};
  if (!header)
    damages_.insert(damages_.begin(), {false, 0, kFileHeaderSize,
                                       "the file's header is damaged"});
  if (!finished_ && journal && header) {
    journal->Read(0, kFileHeaderSize, head);
    const auto journal_header = FileHeader::Decode(head);
    if (!journal_header) {
      damages_.push_back(
          {true, 0, journal->size(), "the journal's header is damaged"});
    } else if (journal_header->journal &&
               journal_header->session == header_.session) {
      journal_ = std::move(journal);
      Scan(*journal_, true);
      if (frames_.size() > kMaxFrames) return TooManyFrames();
    }
  }
  Merge();
  return Ok();
}

bool TraceReader::OpenByIndex() {
  constexpr int64_t kEndSize =
      static_cast<int64_t>(kFrameHeaderSize + EndMark::kSize);
  std::string bytes, payload;
  file_->Read(file_->size() - kEndSize, kEndSize, bytes);
  FrameRef end;
  end.offset = file_->size() - kEndSize;
  end.size = kEndSize;
  EndMark mark;
  const auto head = FrameHeader::Decode(bytes);
  if (!head || head->kind != FrameKind::kEnd || !Read(end, payload) ||
      !mark.Decode(payload) || mark.file_size != file_->size() ||
      mark.index_offset < static_cast<int64_t>(kFileHeaderSize) ||
      mark.index_offset >= end.offset)
    return false;
  std::vector<IndexEntry> entries;
  for (int64_t at = mark.index_offset; at < end.offset;) {
    const auto header = HeaderAt(*file_, at);
    FrameRef index;
    index.offset = at;
    if (header)
      index.size = static_cast<int64_t>(kFrameHeaderSize) + header->length;
    if (!header || header->kind != FrameKind::kIndex ||
        index.size > end.offset - at || !Read(index, payload) ||
        !DecodeIndex(payload, mark.index_offset, entries))
      return false;
    at += index.size;
  }
  frames_.reserve(entries.size());
  for (const IndexEntry& entry : entries) {
    FrameRef ref;
    static_cast<IndexEntry&>(ref) = entry;
    frames_.push_back(ref);
  }
  return true;
}

void TraceReader::Scan(const Source& source, bool journal) {
  int64_t at = kFileHeaderSize;
  int64_t reread = 0;  // bytes of frames that were not whole
  while (at < source.size() && frames_.size() <= kMaxFrames) {
    int64_t size = 0;
    if (TakeFrame(source, journal, at, &size)) {
      at += size;
      continue;
    }
    // Headers made up to be read again and again are not obeyed.
    reread += size;
    const int64_t next =
        reread < 4 * source.size()
            ? FrameBehind(source, at)
            : FindFrame(source, at + std::max<int64_t>(size, 1));
    const int64_t other = FindOtherTrace(source, at, next, header_.session);
    if (other > at) {
      const bool tail = other == source.size() && size == 0;
      torn_ |= tail && !journal;
      AddDamage({journal, at, other - at,
                 tail ? "the last frame is incomplete" : "damaged frame"});
    }
    if (other < next) {
      AddDamage({journal, other, source.size() - other,
                 "another trace was appended here"});
      return;
    }
    at = next;
  }
}

void TraceReader::AddDamage(Damage damage) {
  if (damages_.size() < kMaxDamages) {
    damages_.push_back(std::move(damage));
    return;
  }
  damages_.back().bytes += damage.bytes;
  damages_.back().what = "damaged frames, here and behind";
}

Status TraceReader::TooManyFrames() const {
  return Error{Error::Kind::kUnsupported,
               name_ + ": has more than " + std::to_string(kMaxFrames) +
                   " frames, the most that are read"};
}

// Reads and checks the frame at `offset`. If it is whole, lists it.
bool TraceReader::TakeFrame(const Source& source, bool journal, int64_t offset,
                            int64_t* size) {
  std::string bytes;
  source.Read(offset, kFrameHeaderSize, bytes);
  const auto header = FrameHeader::Decode(bytes);
  if (!header) return false;
  FrameRef ref;
  ref.kind = header->kind;
  ref.journal = journal;
  ref.offset = offset;
  ref.size = static_cast<int64_t>(kFrameHeaderSize) + header->length;
  ref.sequence = header->sequence;
  if (ref.size > source.size() - offset) return false;
  *size = ref.size;
  source.Read(offset + static_cast<int64_t>(kFrameHeaderSize), header->length,
              bytes);
  if (bytes.size() != header->length || Checksum(bytes) != header->checksum)
    return false;
  if (header->version != 0) return true;  // of a newer sonde
  if (IsChunk(ref.kind)) {
    ByteReader in(bytes);
    if (!ref.DecodeChunk(in)) return false;
  }
  if (ref.kind != FrameKind::kIndex && ref.kind != FrameKind::kEnd)
    frames_.push_back(ref);
  else if (!journal)
    (ref.kind == FrameKind::kEnd ? ended_ : torn_) = true;
  return true;
}

// Orders the frames of file and journal as they were written and drops what
// stands twice.
void TraceReader::Merge() {
  // A journal frame carries the number of the file's next frame.
  std::stable_sort(frames_.begin(), frames_.end(),
                   [](const FrameRef& a, const FrameRef& b) {
                     if (a.sequence != b.sequence)
                       return a.sequence < b.sequence;
                     return a.journal && !b.journal;
                   });
  std::map<std::pair<FrameKind, uint32_t>, uint64_t> in_file;
  for (const FrameRef& f : frames_) {
    const auto chunk = f.Chunk();
    if (!journal_ || f.journal || !chunk) continue;
    uint64_t& covered = in_file[{f.kind, chunk->stream}];
    covered = std::max(covered, chunk->first_ordinal + chunk->count);
  }
  std::optional<uint32_t> last;  // of the file
  std::erase_if(frames_, [&](const FrameRef& f) {
    if (!f.journal) return std::exchange(last, f.sequence) == f.sequence;
    const auto chunk = f.Chunk();
    if (!chunk) return false;
    const auto at = in_file.find({f.kind, chunk->stream});
    return at != in_file.end() && chunk->first_ordinal < at->second;
  });
}

bool TraceReader::Read(const FrameRef& frame, std::string& out) const {
  const Source& source = frame.journal ? *journal_ : *file_;
  thread_local std::string bytes;
  if (frame.size > static_cast<int64_t>(kFrameHeaderSize + kMaxPayload))
    return false;
  source.Read(frame.offset, static_cast<size_t>(frame.size), bytes);
  if (bytes.size() != static_cast<size_t>(frame.size)) return false;
  const auto header = FrameHeader::Decode(bytes);
  if (!header || header->version != 0 ||
      header->length != bytes.size() - kFrameHeaderSize)
    return false;
  // Most frames, and all chunks, are stored as they are.
  if (IsChunk(frame.kind) && (header->flags & kPayloadZstd)) return false;
  const std::string_view stored =
      std::string_view(bytes).substr(kFrameHeaderSize);
  auto payload = DecodePayload(*header, stored);
  if (!payload.ok()) return false;
  out = payload.Take();
  return true;
}

}  // namespace sonde

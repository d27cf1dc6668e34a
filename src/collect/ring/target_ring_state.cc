#include "collect/ring/target_ring.h"

namespace sonde {

void TargetRing::Archive(StateArchive& archive) {
  bool begun_now = begun();
  archive.Flag(begun_now);
  archive.Number(process_);
  archive.Signed(start_ns_);
  reader_.Archive(archive);
  archive.Each(pieces_, [&](Piece& piece) {
    archive.Numbers(piece.thread.number, piece.thread.tid);
    archive.Numbers(piece.first, piece.count);
    archive.Flag(piece.ended);
  });
  archive.Words(words_);
  archive.Each(threads_, [&](auto& entry) {
    archive.Numbers(entry.first, entry.second);
  });
  archive.Each(ending_, [&](Ending& ending) {
    uint32_t tid = static_cast<uint32_t>(ending.tid);
    archive.Numbers(ending.key, ending.thread, tid);
    ending.tid = static_cast<pid_t>(tid);
  });
  const auto loss = [&](Loss& row, std::optional<size_t>& handle) {
    bool has = handle.has_value();
    archive.Flag(has);
    if (!has) return;
    if (!handle) handle = 0;
    archive.LossHandle(*handle);
    archive.Number(row.count);
    archive.Signed(row.from_ns);
    archive.Signed(row.to_ns);
  };
  loss(full_, full_handle_);
  loss(damaged_, damaged_handle_);
  for (const Piece& piece : pieces_)
    if (piece.first > words_.size() ||
        piece.count > words_.size() - piece.first)
      archive.Refuse();
  if (!archive.ok()) pieces_.clear();
  if (!archive.writing() && begun_now && archive.ok() && reader_.Open())
    Begin();
  if (begun_now && begun()) annotations_->Archive(archive);
}

int64_t TargetRing::last_ns() const {
  return begun() && annotations_->last_time() != 0
             ? ToNs(annotations_->last_time())
             : start_ns_;
}

}  // namespace sonde

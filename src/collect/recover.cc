#include "collect/recover.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/time.h"
#include "collect/recorded_tree.h"
#include "collect/ring/target_rings.h"
#include "trace/copy.h"

namespace sonde {
namespace {

// Only rings make tracks of these kinds.
bool OfRings(const Track& track) {
  return track.kind == Track::Kind::kThread ||
         track.kind == Track::Kind::kCustom;
}

bool OfRings(const Loss& loss) {
  return loss.reason.starts_with("ring-") || loss.reason == "names-full" ||
         loss.reason == "texts-full";
}

// What of the trace was there when the state was saved. The rest of what the
// rings gave is made again. One that had ended by then is not in the state, and
// whole.
CopyRange RangeOf(const RingsState& state) {
  CopyRange range;
  range.events = [&state](const Track& track) -> std::optional<uint64_t> {
    if (!OfRings(track)) return UINT64_MAX;
    if (track.id > state.have.tracks) return std::nullopt;
    const auto at = state.events.find(track.id);
    return at == state.events.end() ? UINT64_MAX : at->second;
  };
  range.ticks = [&state](uint32_t group) -> uint64_t {
    if (group < TraceWriter::kFirstFreeGroup) return UINT64_MAX;
    const auto at = state.counts.find(group);
    return at == state.counts.end() ? UINT64_MAX : at->second;
  };
  range.series = [&state](const Series& series) {
    return series.group < TraceWriter::kFirstFreeGroup ||
           series.id <= state.have.series;
  };
  range.losses = [&state](const LossRow& row) {
    return row.ordinal < state.have.losses || !OfRings(row.loss);
  };
  return range;
}

// Whether the ids in the state mean the same in the copy.
bool Fits(const StateLimits& have, const Copied& copied) {
  return copied.same_strings >= have.strings &&
         copied.same_tracks >= have.tracks &&
         copied.same_series >= have.series && copied.same_losses >= have.losses;
}

void TellDamages(const Copied& copied, TraceWriter& out) {
  for (const Damage& damage : copied.damages)
    out.AddLoss({"damaged",
                 fmt::format("{} bytes at {} of the {}: {}", damage.bytes,
                             damage.offset, damage.journal ? "journal" : "file",
                             damage.what),
                 0, kNoTime, kNoTime});
}

}  // namespace

Result<Recovered> Recover(const std::string& trace, const SessionDir* dir,
                          const std::string& output) {
  TRY(const TraceReader reader, TraceReader::Open(trace));
  const AllRows rows(reader);
  Recovered result;
  std::optional<RingsState> state;
  if (dir == nullptr)
    result.rings_why = "its session's directory is gone";
  else if (!(state = RingsStateFile::Load(dir->fd())))
    result.rings_why = "the collector could not save how far it had read";
  else if (state->boot != BootId())
    result.rings_why = "the machine was started anew";

  const bool in_place = output == trace;
  const std::string path = in_place ? trace + ".recovered" : output;
  TraceWriter::Options options;
  options.journal = false;
  options.replace = in_place;
  FileHeader header = reader.header();
  TRY(const auto out, TraceWriter::Create(path, header, options));
  const int64_t now_ns = NowNs();
  const bool same_boot = result.rings_why.empty();
  const Copied copied =
      CopyTrace(reader, rows, same_boot ? RangeOf(*state) : CopyRange{}, *out);
  if (same_boot && !Fits(state->have, copied))
    result.rings_why = "the trace is damaged";

  RecordedTree tree(*out, rows, copied);
  int64_t ended_ns = copied.last_ns;
  if (result.rings_why.empty()) {
    const auto rings = TargetRings::Reopen(dir->fd(), *state, *out, tree);
    const uint64_t before = rings->records();
    rings->Finish(now_ns);
    result.records = rings->records() - before;
    out->PutMeta("guest_records", std::to_string(rings->records()));
    ended_ns = std::max(ended_ns, tree.last_ns());
  }
  result.running = tree.alive();
  if (result.running > 0) ended_ns = now_ns;
  tree.Finish(ended_ns);
  out->AddLoss({"collector-killed",
                "samples: the recorder was killed, and only what programs "
                "recorded themselves goes on" +
                    (result.rings_why.empty()
                         ? std::string()
                         : ", which is missing: " + result.rings_why),
                0, copied.last_ns, ended_ns});
  TellDamages(copied, *out);
  out->PutMeta("still_running", std::to_string(result.running));
  out->PutMeta("ended_ns", std::to_string(ended_ns));
  if (const Status status = out->Close(); !status.ok()) {
    ::unlink(path.c_str());
    return status.error();
  }
  if (!in_place) return result;
  if (::rename(path.c_str(), trace.c_str()) != 0)
    return ErrnoError(trace, errno);
  ::unlink((trace + ".journal").c_str());
  return result;
}

}  // namespace sonde

#include "collect/session/recover.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "collect/ring/target_rings.h"
#include "collect/sample/native_frames.h"
#include "collect/tree/recorded_tree.h"
#include "trace/copy.h"
#include "trace/journal.h"
#include "trace/work.h"

namespace sonde {
namespace {

bool OfRings(const Loss& loss) {
  return loss.reason.starts_with("ring-") || loss.reason == "names-full" ||
         loss.reason == "texts-full";
}

// What of the trace was there when the state was saved. The rest of what the
// rings gave is made again. One that had ended by then is not in the state, and
// whole.
CopyRange RangeOf(const RingsState& state, const AllRows& rows) {
  CopyRange range;
  range.events = [&](const Track& track) -> std::optional<uint64_t> {
    if (!rows.OfProgram(track)) return UINT64_MAX;
    if (track.id > state.have.tracks) return std::nullopt;
    const auto at = state.events.find(track.id);
    return at == state.events.end() ? UINT64_MAX : at->second;
  };
  // A group that is not in the state is the collector's, or had ended.
  range.ticks = [&state](uint32_t group) -> uint64_t {
    const auto at = state.counts.find(group);
    return at == state.counts.end() ? UINT64_MAX : at->second;
  };
  range.series = [&](const Series& series) {
    return !rows.OfProgram(series) || series.id <= state.have.series;
  };
  range.losses = [&state](uint64_t ordinal, const Loss& loss) {
    return ordinal < state.have.losses || !OfRings(loss);
  };
  return range;
}

// Samplers with nothing to tell have groups without series, which a copy does
// not have. The state is no reason to make more of them.
void AddEmptyGroups(const StateLimits& have, TraceWriter& out) {
  constexpr int kMost = 16;
  for (int i = 0; i < kMost && out.groups() < have.groups; ++i) out.AddGroup();
}

// Whether the ids in the state mean the same in the copy.
bool Fits(const StateLimits& have, const Copied& copied,
          const TraceWriter& out) {
  return have.groups <= out.groups() && copied.same_strings >= have.strings &&
         copied.same_tracks >= have.tracks &&
         copied.same_series >= have.series && copied.same_losses >= have.losses;
}

// Removes the file unless it has become what it should.
class Unfinished {
 public:
  explicit Unfinished(std::string path) : path_(std::move(path)) {}
  ~Unfinished() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  void Keep() { path_.clear(); }

 private:
  std::string path_;
};

// What was lost before the trace was recovered; its journal will not come back.
void TellLosses(const TraceReader& reader, const Copied& copied,
                TraceWriter& out) {
  if (reader.lost_end())
    out.AddLoss({"journal",
                 "the newest part of the recording: it was recovered without "
                 "its journal"});
  for (const Damage& damage : copied.damages) out.AddLoss(LossOf(damage));
}

}  // namespace

Result<Recovered> Recover(const std::string& trace, const SessionDir* dir,
                          const std::string& output) {
  // The one who writes it holds this lock, wherever its session lies.
  const Fd lock = OpenRegular(AT_FDCWD, trace.c_str(), O_RDONLY);
  if (!lock.valid()) return ErrnoError(trace, errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Error{Error::Kind::kUsage, trace + ": is still being recorded",
                 "`sonde ctl stop` ends the recording"};
  TRY(const TraceReader reader, TraceReader::Open(trace));
  const AllRows rows(reader, /*with_args=*/false);
  TRY_OK(rows.status(trace));
  TRY_OK(CheckWork(reader, kCopying));
  // Who has told the end was not killed before it.
  if (dir == nullptr &&
      (reader.cut() || (reader.lost_end() && rows.meta.contains("ended_ns"))))
    return Error{Error::Kind::kNotFound,
                 Printable(trace) +
                     ": it was cut or not copied whole, there is nothing to "
                     "recover from",
                 "copy it again; what is left can be reported"};
  Recovered result;
  std::optional<RingsState> state;
  if (dir == nullptr)
    result.rings_why = "its session's directory is gone";
  else if (!(state = RingsStateFile::Load(dir->fd())))
    result.rings_why = "the collector could not save how far it had read";
  else if (state->boot != BootId())
    result.rings_why = "the machine was started anew";
  if (result.rings_why.empty())
    TargetRings::StopRecording(dir->fd(), state->ticks);

  const std::string path = output + ".recovered-" + std::to_string(::getpid());
  TraceWriter::Options options;
  options.journal = false;
  std::unique_ptr<TraceWriter> out;
  Copied copied;
  std::optional<Unfinished> unfinished;
  // If the trace does not fit to the state, a second time without it.
  for (bool again = true; again; options.replace = true) {
    TRY(out, TraceWriter::Create(path, reader.header(), options));
    if (!unfinished) unfinished.emplace(path);
    copied = CopyTrace(
        reader, rows,
        result.rings_why.empty() ? RangeOf(*state, rows) : CopyRange{}, *out);
    if (result.rings_why.empty()) AddEmptyGroups(state->have, *out);
    again = result.rings_why.empty() && !Fits(state->have, copied, *out);
    if (again) result.rings_why = "the trace is damaged";
  }

  RecordedTree tree(*out, rows, copied);
  int64_t now_ns = NowNs();
  int64_t ended_ns = copied.last_ns;
  if (result.rings_why.empty()) {
    const auto rings = TargetRings::Reopen(dir->fd(), *state, *out, tree);
    if (rings->refused() > 0)
      return Error{
          Error::Kind::kIo,
          fmt::format("{} ring files could not be opened", rings->refused()),
          "allow more open files: ulimit -n 100000"};
    const uint64_t before = rings->records();
    now_ns = NowNs();
    rings->Stop(now_ns);
    result.records = rings->records() - before;
    out->PutMeta("guest_records", std::to_string(rings->records()));
    if (const uint64_t damaged = rings->damaged(); damaged > 0)
      out->AddLoss({"ring-state",
                    "processes whose last records are left out: what the "
                    "recorder had saved about them is damaged",
                    damaged, copied.last_ns, now_ns});
    ended_ns = std::max(ended_ns, tree.last_ns());
  }
  result.running = tree.alive();
  if (result.running > 0) ended_ns = now_ns;
  tree.Stop(ended_ns);
  out->AddLoss({"collector-killed",
                "samples: sonde was killed, and since then only what programs "
                "recorded themselves is known" +
                    (result.rings_why.empty()
                         ? std::string()
                         : "; that is missing: " + result.rings_why),
                0, copied.last_ns, ended_ns});
  TellLosses(reader, copied, *out);
  NameCopied(rows, copied, *out);
  out->PutMeta("still_running", std::to_string(result.running));
  out->PutMeta("ended_ns", std::to_string(ended_ns));
  TRY_OK(out->Close());
  out.reset();
  if (::rename(path.c_str(), output.c_str()) != 0)
    return ErrnoError(output, errno);
  unfinished->Keep();
  if (const std::string journal = trace + ".journal";
      output == trace && IsJournal(journal))
    ::unlink(journal.c_str());
  return result;
}

}  // namespace sonde

#include "collect/tree/recorded_tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fd.h"
#include "base/time.h"
#include "collect/proc/process_files.h"
#include "collect/tree/proc_world.h"
#include "trace/sources.h"

namespace sonde {
namespace {

// /proc tells a start to a clock tick (10 ms), rounded down.
constexpr int64_t kSameStartNs = 30 * kNsPerMs;

// When the process of this pid began, if it is alive.
std::optional<int64_t> BegunNs(pid_t pid) {
  const auto text = ReadFile(fmt::format("/proc/{}/stat", pid));
  const auto stat = text.ok() ? ParseProcessStat(text.value()) : std::nullopt;
  if (!stat || stat->state == 'Z' || stat->state == 'X') return std::nullopt;
  return StartNs(stat->start_ticks);
}

// Whether the process of this pid is the one that was there at `at_ns`: another
// would have begun later.
bool Lives(pid_t pid, int64_t at_ns) {
  const auto begun_ns = BegunNs(pid);
  return begun_ns && *begun_ns < at_ns + kSameStartNs;
}

}  // namespace

RecordedTree::RecordedTree(TraceWriter& out, const AllRows& rows,
                           const Copied& copied)
    : out_(out),
      last_seen_ns_(copied.last_ns),
      processes_(copied.processes),
      threads_(copied.threads) {
  for (const auto& [number, row] : processes_) {
    by_pid_[row.pid] = number;
    if (Open(row) && Lives(row.pid, row.start_ns))
      live_[number] = {number, row.pid, {}};
  }
  for (const auto& [number, row] : threads_) {
    by_tid_[{row.process, row.tid}] = number;
    if (const auto at = live_.find(row.process);
        at != live_.end() && row.end_ns == kNoTime)
      at->second.threads.push_back({number, row.tid});
  }
  for (const auto& [old_id, id] : copied.tracks) {
    const Track& row = rows.tracks.at(old_id);
    if (row.kind != Track::Kind::kProcess) continue;
    tracks_[row.process] = id;
    if (const auto at = copied.last_end.find(id); at != copied.last_end.end())
      last_image_ns_[row.process] = at->second;
  }
}

uint32_t RecordedTree::Adopt(pid_t pid, uint32_t parent, int64_t start_ns) {
  Process row;
  row.number = processes_.empty() ? 1 : processes_.rbegin()->first + 1;
  row.parent = parent;
  row.pid = pid;
  row.start_ns = start_ns;
  const bool alive = Lives(pid, start_ns);
  const auto comm = ReadFile(fmt::format("/proc/{}/comm", pid));
  const auto maker = processes_.find(parent);
  if (alive && comm.ok() && !comm.value().empty())
    row.name = out_.Intern(comm.value().substr(0, comm.value().size() - 1));
  else if (maker != processes_.end())
    row.name = maker->second.name;
  if (alive) live_[row.number] = {row.number, pid, {}};
  processes_[row.number] = row;
  by_pid_[pid] = row.number;
  out_.PutProcess(row);
  return row.number;
}

std::optional<ProcessTree::TaskState> RecordedTree::FindPid(pid_t pid) const {
  const auto at = by_pid_.find(pid);
  return at == by_pid_.end() ? std::nullopt : FindNumber(at->second);
}

std::optional<ProcessTree::TaskState> RecordedTree::FindNumber(
    uint32_t number) const {
  const auto at = processes_.find(number);
  if (at == processes_.end()) return std::nullopt;
  return TaskState{number, live_.contains(number), at->second.end_ns, kNoTime,
                   0};
}

ProcessTree::ThreadState RecordedTree::FindThread(uint32_t process,
                                                  pid_t tid) const {
  const auto at = by_tid_.find({process, tid});
  if (at == by_tid_.end()) return {};
  return {at->second, threads_.at(at->second).end_ns};
}

void RecordedTree::Rename(uint32_t process, uint32_t thread,
                          std::string_view name) {
  if (const auto at = threads_.find(thread); at != threads_.end()) {
    at->second.name = out_.Intern(name);
    out_.PutThread(at->second);
  } else if (const auto it = processes_.find(process);
             thread == 0 && it != processes_.end()) {
    it->second.name = out_.Intern(name);
    out_.PutProcess(it->second);
  }
}

void RecordedTree::NoteLife(uint32_t process, int64_t at_ns) {
  int64_t& last = life_ns_.try_emplace(process, at_ns).first->second;
  last = std::max(last, at_ns);
  last_ns_ = std::max(last_ns_, at_ns);
}

void RecordedTree::Stop(int64_t now_ns) {
  for (auto& [number, row] : processes_) {
    if (!Open(row)) continue;
    const bool alive = live_.contains(number);
    int64_t end_ns = now_ns;
    if (!alive) {
      end_ns = std::max(row.start_ns, last_seen_ns_);
      for (const auto* times : {&life_ns_, &last_image_ns_})
        if (const auto at = times->find(number); at != times->end())
          end_ns = std::max(end_ns, at->second);
      row.exit = Process::Exit::kUnknown;
      row.end_ns = end_ns;
      out_.PutProcess(row);
    }
    const auto last = last_image_ns_.find(number);
    Event image;
    image.name = row.name;
    image.category = out_.Intern("process");
    image.begin_ns = last == last_image_ns_.end() ? row.start_ns : last->second;
    image.dur_ns = end_ns - image.begin_ns;
    image.flags = Event::kUnfinished;
    uint32_t& track = tracks_[number];
    if (track == 0) {
      Track images;
      images.kind = Track::Kind::kProcess;
      images.process = number;
      images.name = out_.Intern("images");
      images.source = out_.Intern(source::kTree);
      track = out_.AddTrack(images);
    }
    if (image.dur_ns > 0) out_.AddEvent(track, image);
  }
  for (auto& [number, row] : threads_) {
    const auto process = processes_.find(row.process);
    if (row.end_ns != kNoTime || process == processes_.end()) continue;
    row.end_ns = process->second.end_ns;
    if (row.end_ns != kNoTime) out_.PutThread(row);
  }
}

}  // namespace sonde

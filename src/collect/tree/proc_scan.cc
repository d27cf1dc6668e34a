#include "collect/tree/proc_scan.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/time.h"
#include "collect/proc/pids.h"
#include "collect/proc/proc_file.h"
#include "collect/proc/process_files.h"
#include "collect/tree/proc_world.h"

namespace sonde {
namespace {

TaskRecord Record(TaskRecord::Kind kind, int64_t time_ns, pid_t pid, pid_t tid,
                  std::string_view comm = {}) {
  TaskRecord record;
  record.kind = kind;
  record.time_ns = time_ns;
  record.pid = pid;
  record.tid = tid;
  comm.copy(record.comm, sizeof(record.comm) - 1);
  return record;
}

// Ended, and not waited for yet. A leader may end before its other threads.
bool IsZombie(const ProcessStat& stat) {
  return (stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1;
}

bool HasChildrenFile() {
  return ::access(
             fmt::format("/proc/self/task/{}/children", ::getpid()).c_str(),
             R_OK) == 0;
}

}  // namespace

ProcScan::ProcScan(TreeModel& model, bool follow_children)
    : model_(model),
      follow_children_(follow_children),
      has_children_file_(HasChildrenFile()) {}

void ProcScan::Scan(int64_t now_ns) {
  std::vector<uint32_t> numbers;
  for (const auto& [number, task] : model_.tasks())
    if (task.detached) numbers.push_back(number);
  std::erase_if(seen_, [&](const auto& one) {
    return !model_.tasks().contains(one.first);
  });
  std::erase_if(zombies_, [](const auto& one) {
    return ::access(fmt::format("/proc/{}", one.first).c_str(), F_OK) != 0;
  });
  if (numbers.empty()) return;
  // Ends first: a child may have the pid of one that is gone.
  std::erase_if(numbers,
                [&](uint32_t number) { return !Look(number, now_ns); });
  if (!follow_children_) return;
  if (!has_children_file_) ReadParents();
  for (const uint32_t number : numbers)
    if (model_.live().contains(number))
      AddChildren(model_.live().at(number), now_ns);
}

void ProcScan::AddMissing(int64_t now_ns) {
  if (!has_children_file_) ReadParents();
  std::vector<uint32_t> numbers;
  for (const auto& [number, live] : model_.live()) numbers.push_back(number);
  for (const uint32_t number : numbers) {
    // What is found on the way may tell of another's end.
    if (!model_.live().contains(number)) continue;
    AddThreads(model_.live().at(number), now_ns, false);
    if (model_.live().contains(number))
      AddChildren(model_.live().at(number), now_ns);
  }
}

// Brings one process up to date. False if it is gone.
bool ProcScan::Look(uint32_t number, int64_t now_ns) {
  if (!model_.live().contains(number)) return false;
  const ProcessTree::Live& live = model_.live().at(number);
  const pid_t pid = live.pid;
  int error = 0;
  const auto stat = ParseProcessStat(
      ReadOnce(fmt::format("/proc/{}/stat", pid).c_str(), buffer_, &error));
  // Not readable now (too many open files) is not gone.
  if (!stat && error != 0 && error != ENOENT && error != ESRCH) return true;
  const auto [at, fresh] = seen_.try_emplace(number);
  Seen& seen = at->second;
  if (stat && fresh) {
    const TreeModel::Task& task = model_.tasks().at(number);
    seen.start_ticks = stat->start_ticks;
    seen.comm = task.image;
    // An exec before the first look is only told by the name.
    if (task.found || task.row.parent == 0 || !seen_.contains(task.row.parent))
      seen.start_stack = stat->start_stack;
    else
      seen.start_stack = seen_.at(task.row.parent).start_stack;
  }
  const bool dead = stat && IsZombie(*stat);
  if (!stat || dead || stat->start_ticks != seen.start_ticks) {
    if (dead) zombies_[pid] = stat->start_ticks;
    seen_.erase(at);
    model_.Vanished(number, now_ns);
    return false;
  }
  if (stat->state == 'Z' || stat->exiting) return true;
  const std::string comm(stat->comm.substr(0, 15));
  const bool told = stat->start_stack != 0 && seen.start_stack != 0;
  if (told ? stat->start_stack != seen.start_stack : comm != seen.comm) {
    // One that was already there at the first look has run since its start.
    const int64_t since_ns =
        fresh && number != 1 ? model_.tasks().at(number).row.start_ns : now_ns;
    // Later than `now_ns`: the file was read after that.
    seen.exec_seen_ns = NowNs();
    model_.Apply(Record(TaskRecord::Kind::kExec, since_ns, pid, pid, comm));
  } else if (comm != seen.comm) {
    model_.Apply(Record(TaskRecord::Kind::kComm, now_ns, pid, pid, comm));
  }
  seen.comm = comm;
  if (stat->start_stack != 0) seen.start_stack = stat->start_stack;
  if (stat->threads != 1 || live.threads.size() != 1)
    AddThreads(live, now_ns, true);
  return true;
}

void ProcScan::NoteExec(pid_t pid, int64_t at_ns, std::string_view comm) {
  const TreeModel::Task* const task = model_.FindPid(pid);
  if (task == nullptr || at_ns <= task->exec_ns) return;
  const auto seen = seen_.find(task->row.number);
  if (seen == seen_.end() || at_ns <= seen->second.exec_seen_ns) return;
  const auto stat = ParseProcessStat(
      ReadOnce(fmt::format("/proc/{}/stat", pid).c_str(), buffer_));
  if (!stat || stat->start_ticks != seen->second.start_ticks) return;
  seen->second.start_stack = stat->start_stack;
  seen->second.comm = stat->comm.substr(0, 15);
  model_.Apply(Record(TaskRecord::Kind::kExec, at_ns, pid, pid, comm));
}

void ProcScan::AddThreads(const ProcessTree::Live& live, int64_t now_ns,
                          bool end_missing) {
  std::vector<pid_t> tids = NumbersIn(fmt::format("/proc/{}/task", live.pid));
  if (tids.empty()) return;
  const pid_t pid = live.pid;
  std::vector<pid_t> known;
  for (const auto& [number, tid] : live.threads) known.push_back(tid);
  std::sort(known.begin(), known.end());
  for (const pid_t tid : tids) {
    if (std::binary_search(known.begin(), known.end(), tid)) continue;
    TaskRecord record = Record(TaskRecord::Kind::kFork, now_ns, pid, tid);
    record.ppid = record.ptid = pid;
    // It may be much older than our first look at it.
    if (const auto stat = ParseProcessStat(ReadOnce(
            fmt::format("/proc/{}/task/{}/stat", pid, tid).c_str(), buffer_)))
      record.time_ns = std::min(now_ns, StartNs(stat->start_ticks));
    model_.Apply(record);
  }
  if (!end_missing) return;
  std::sort(tids.begin(), tids.end());
  for (const pid_t tid : known)
    if (!std::binary_search(tids.begin(), tids.end(), tid))
      model_.Apply(Record(TaskRecord::Kind::kExit, now_ns, pid, tid));
}

std::vector<pid_t> ProcScan::ChildrenOf(const ProcessTree::Live& live) {
  if (!has_children_file_) return children_[live.pid];
  std::vector<pid_t> out;
  for (const auto& [number, tid] : live.threads) {
    const auto some = ParseChildren(ReadOnce(
        fmt::format("/proc/{}/task/{}/children", live.pid, tid).c_str(),
        buffer_));
    out.insert(out.end(), some.begin(), some.end());
  }
  return out;
}

void ProcScan::AddChildren(const ProcessTree::Live& live, int64_t now_ns) {
  const pid_t ppid = live.pid;
  for (const pid_t pid : ChildrenOf(live))
    if (model_.FindPid(pid) == nullptr) AddChild(pid, ppid, now_ns);
}

// Whether a zombie is one that nobody has told of. Who is told by perf has been
// told of it, or has counted a loss.
bool ProcScan::IsNew(pid_t zombie, pid_t ppid, uint64_t start_ticks) const {
  const TreeModel::Task* const parent = model_.FindPid(ppid);
  const auto known = zombies_.find(zombie);
  return parent != nullptr && parent->detached &&
         (known == zombies_.end() || known->second != start_ticks);
}

void ProcScan::AddChild(pid_t pid, pid_t ppid, int64_t now_ns) {
  if (pid == ::getpid()) return;  // somebody above us is watched
  const auto stat = ParseProcessStat(
      ReadOnce(fmt::format("/proc/{}/stat", pid).c_str(), buffer_));
  // Another may have the pid by now.
  if (!stat || stat->ppid != ppid) return;
  if (IsZombie(*stat) && !IsNew(pid, ppid, stat->start_ticks)) return;
  TaskRecord record =
      Record(TaskRecord::Kind::kFork, StartNs(stat->start_ticks), pid, pid);
  record.ppid = record.ptid = ppid;
  model_.Apply(record);
  const TreeModel::Task* const task = model_.FindPid(pid);
  if (task == nullptr) return;
  const uint32_t number = task->row.number;
  if (task->detached && !Look(number, now_ns)) return;
  if (!task->detached) AddThreads(model_.live().at(number), now_ns, false);
  if (model_.live().contains(number))
    AddChildren(model_.live().at(number), now_ns);
}

// Parents of all processes of the machine, for kernels without the children
// file.
void ProcScan::ReadParents() {
  children_.clear();
  for (const pid_t pid : NumbersIn("/proc"))
    if (const auto stat = ParseProcessStat(
            ReadOnce(fmt::format("/proc/{}/stat", pid).c_str(), buffer_)))
      children_[stat->ppid].push_back(pid);
}

}  // namespace sonde

#include "collect/tree/tree_model.h"

#include <algorithm>
#include <cstring>

#include "base/time.h"
#include "collect/proc/process_files.h"

namespace sonde {
namespace {

// A false exit follows its exec at once.
constexpr int64_t kFalseExitNs = 1 * kNsPerSec;
// A copy of its parent that lives this long before its exec is an image.
constexpr int64_t kCopyIsImageNs = 10 * kNsPerMs;
constexpr int kCmdlineTries = 4;

std::string_view CommOf(const TaskRecord& record) {
  return {record.comm, ::strnlen(record.comm, sizeof(record.comm))};
}

}  // namespace

TreeModel::TreeModel(TraceWriter& out, TaskWorld& world, const Options& options)
    : out_(out),
      world_(world),
      options_(options),
      root_(options.launched ? 1 : 0) {}

TreeModel::Task* TreeModel::Find(pid_t pid) {
  const auto at = by_pid_.find(pid);
  return at == by_pid_.end() ? nullptr : &tasks_.at(at->second);
}

const TreeModel::Task* TreeModel::FindPid(pid_t pid) const {
  const auto at = by_pid_.find(pid);
  return at == by_pid_.end() ? nullptr : &tasks_.at(at->second);
}

uint32_t TreeModel::CopyOf(const Task& task) {
  return task.found || task.exec_ns != kNoTime ? 0 : task.row.parent;
}

std::optional<ProcessTree::TaskState> TreeModel::StateOf(
    uint32_t number) const {
  if (const auto alive = tasks_.find(number); alive != tasks_.end()) {
    const Task& task = alive->second;
    return ProcessTree::TaskState{number, true, kNoTime, task.exec_ns,
                                  CopyOf(task)};
  }
  const auto late = late_.find(number);
  if (late == late_.end()) return std::nullopt;
  return late->second;
}

std::optional<ProcessTree::TaskState> TreeModel::StateOfPid(pid_t pid) const {
  if (const auto alive = by_pid_.find(pid); alive != by_pid_.end())
    return StateOf(alive->second);
  const auto late = lately_.find(pid);
  if (late == lately_.end()) return std::nullopt;
  return StateOf(late->second);
}

ProcessTree::ThreadState TreeModel::FindThread(uint32_t process,
                                               pid_t tid) const {
  if (const uint32_t number = ThreadNumber(process, tid)) return {number};
  const auto late = late_threads_.find({process, tid});
  return late == late_threads_.end() ? ProcessTree::ThreadState()
                                     : late->second;
}

void TreeModel::Rename(uint32_t process, uint32_t thread,
                       std::string_view name) {
  if (thread != 0) {
    const auto at = threads_.find(thread);
    if (at == threads_.end()) return RenameLate(thread, out_.Intern(name));
    renamed_.try_emplace(thread, at->second.name);
    at->second.name = out_.Intern(name);
    out_.PutThread(at->second);
    return;
  }
  const auto at = tasks_.find(process);
  if (at == tasks_.end()) return;
  at->second.row.name = out_.Intern(name);
  at->second.renamed = true;
  out_.PutProcess(at->second.row);
}

uint32_t TreeModel::ThreadNumber(uint32_t process, pid_t tid) const {
  const auto at = by_tid_.find({process, tid});
  return at == by_tid_.end() ? 0 : at->second;
}

void TreeModel::NewProcess(int64_t time_ns, pid_t pid, const Task* parent,
                           uint32_t name) {
  Task task;
  task.row.number = next_process_++;
  task.row.pid = pid;
  task.row.start_ns = time_ns;
  task.row.name = name;
  if (parent != nullptr) {
    task.row.parent = parent->row.number;
    task.row.cmdline = parent->row.cmdline;
    task.row.start_ns = std::max(time_ns, parent->row.start_ns);
  }
  task.detached = options_.detached || (parent != nullptr && parent->detached);
  task.cpu_known = options_.cpu_parts > 0 && !task.detached;
  task.image = out_.StringOf(name);
  task.image_ns = task.row.start_ns;
  const uint32_t number = task.row.number;
  live_[number] = {number, pid, {}};
  by_pid_[pid] = number;
  world_.Begun(number, pid);
  Task& added = tasks_.emplace(number, std::move(task)).first->second;
  out_.PutProcess(added.row);
  NewThread(added, added.row.start_ns, pid, name);
}

void TreeModel::NewThread(Task& task, int64_t time_ns, pid_t tid,
                          uint32_t name) {
  Thread row;
  row.number = next_thread_++;
  row.process = task.row.number;
  row.tid = tid;
  row.start_ns = std::max(time_ns, task.row.start_ns);
  row.name = name;
  live_.at(task.row.number).threads.emplace_back(row.number, tid);
  by_tid_[{task.row.number, tid}] = row.number;
  threads_[row.number] = row;
  out_.PutThread(row);
  ++changes_;
}

void TreeModel::AddRoot(int64_t now_ns, pid_t pid) {
  CHECK(next_process_ == root_);
  NewProcess(now_ns, pid, nullptr, out_.Intern("sonde"));
  root_leader_ = threads_.at(live_.at(root_).threads[0].first);
}

void TreeModel::AddFound(int64_t start_ns, int64_t since_ns, pid_t pid,
                         pid_t ppid, std::string_view comm) {
  if (Find(pid) != nullptr) return;
  const uint32_t number = next_process_;
  NewProcess(start_ns, pid, Find(ppid), out_.Intern(comm));
  Task& task = tasks_.at(number);
  task.found = true;
  task.image_ns = std::max(task.image_ns, since_ns);
  task.row.cmdline = 0;  // not its parent's
  want_cmdline_[number] = 0;
  out_.PutProcess(task.row);
}

void TreeModel::Apply(const TaskRecord& record) {
  switch (record.kind) {
    case TaskRecord::Kind::kFork:
      Fork(record);
      break;
    case TaskRecord::Kind::kComm:
      Comm(record);
      break;
    case TaskRecord::Kind::kExec:
      Exec(record);
      break;
    case TaskRecord::Kind::kExit:
      Exit(record);
      break;
    case TaskRecord::Kind::kCpu:
      Cpu(record);
      break;
  }
}

void TreeModel::Fork(const TaskRecord& record) {
  Task* const parent = Find(record.ppid);
  if (parent == nullptr) {
    Orphan(record);
    return;
  }
  const uint32_t forker = ThreadNumber(parent->row.number, record.ptid);
  // A child begins with the name the kernel knows.
  const auto renamed = renamed_.find(forker);
  const uint32_t name = renamed != renamed_.end() ? renamed->second
                        : forker                  ? threads_.at(forker).name
                                                  : parent->row.name;
  if (record.pid == record.ppid) {
    if (ThreadNumber(parent->row.number, record.tid) == 0)
      NewThread(*parent, record.time_ns, record.tid, name);
  } else {
    if (const Task* const old = Find(record.pid)) {
      // Found in /proc before its record came, or another under the same pid.
      if (std::abs(old->row.start_ns - record.time_ns) < kSameStartNs) return;
      Vanished(old->row.number, record.time_ns);
    }
    NewProcess(record.time_ns, record.pid, parent, name);
  }
  if (!orphans_.empty()) Replay(record.pid);
}

// Applies what waited for this process to become known.
void TreeModel::Replay(pid_t pid) {
  std::vector<TaskRecord> waiting;
  std::erase_if(orphans_, [&](const TaskRecord& one) {
    const bool takes = one.pid == pid ||
                       (one.kind == TaskRecord::Kind::kFork && one.ppid == pid);
    if (takes) waiting.push_back(one);
    return takes;
  });
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const TaskRecord& a, const TaskRecord& b) {
                     return a.time_ns < b.time_ns;
                   });
  const Task* const task = Find(pid);
  const int64_t since_ns = task != nullptr ? task->row.start_ns : INT64_MIN;
  // Older ones were about the process that had the pid before.
  for (const TaskRecord& one : waiting)
    if (one.time_ns >= since_ns) Apply(one);
}

void TreeModel::Comm(const TaskRecord& record) {
  Task* const task = Find(record.pid);
  const uint32_t number =
      task != nullptr ? ThreadNumber(task->row.number, record.tid) : 0;
  if (number == 0) {
    Orphan(record);
    return;
  }
  if (const auto at = renamed_.find(number); at != renamed_.end()) {
    at->second = out_.Intern(CommOf(record));
    return;
  }
  Thread& thread = threads_.at(number);
  thread.name = out_.Intern(CommOf(record));
  out_.PutThread(thread);
  // A worker that never execs has no other name than the one it gives itself.
  if (record.tid == record.pid && task->row.execs == 0 &&
      task->row.number != root_ && !task->renamed) {
    task->row.name = thread.name;
    task->image = CommOf(record);
    out_.PutProcess(task->row);
  }
}

void TreeModel::Exec(const TaskRecord& record) {
  Task* const task = Find(record.pid);
  if (task == nullptr) {
    Orphan(record);
    return;
  }
  const uint32_t number = task->row.number;
  // One thread survives an exec and becomes the leader, whichever it was.
  auto& threads = live_.at(number).threads;
  if (!threads.empty() && ThreadNumber(number, record.pid) == 0) {
    by_tid_.erase({number, threads.back().second});
    by_tid_[{number, record.pid}] = threads.back().first;
    threads.back().second = record.pid;
    Thread& thread = threads_.at(threads.back().first);
    thread.tid = record.pid;
  }
  ++changes_;
  while (threads.size() > 1) {
    const bool survivor = threads.back().second == record.pid;
    EndThread(*task, threads[threads.size() - (survivor ? 2 : 1)].second,
              record.time_ns, true);
  }

  const bool first = task->row.execs == 0;
  const bool brief = record.time_ns - task->image_ns < kCopyIsImageNs;
  if (!first || (!brief && number != root_))
    CloseImage(*task, record.time_ns, 0);
  task->image = CommOf(record);
  task->image_ns = task->exec_ns = record.time_ns;
  task->row.name = out_.Intern(CommOf(record));
  task->renamed = false;
  ++task->row.execs;
  task->row.cmdline = 0;  // of the image before
  want_cmdline_[number] = 0;
  out_.PutProcess(task->row);
  if (!threads.empty()) {
    Thread& thread = threads_.at(threads[0].first);
    thread.name = task->row.name;
    out_.PutThread(thread);
  }
}

bool TreeModel::FalseExit(const Task& task, int64_t time_ns) {
  if (task.exec_ns == kNoTime || time_ns - task.exec_ns > kFalseExitNs)
    return false;
  const auto state = world_.Look(task.row.pid);
  return state && !state->ended &&
         state->start_ns <= task.row.start_ns + kSameStartNs;
}

void TreeModel::Exit(const TaskRecord& record) {
  Task* const task = Find(record.pid);
  const uint32_t thread =
      task != nullptr ? ThreadNumber(task->row.number, record.tid) : 0;
  if (thread == 0) {
    Orphan(record);
    return;
  }
  const bool last = live_.at(task->row.number).threads.size() == 1;
  if (last && !task->detached && FalseExit(*task, record.time_ns)) {
    Detach(task->row.number);
    ++detached_execs_;
    return;
  }
  EndThread(*task, record.tid, record.time_ns, true);
  if (last) EndProcess(task->row.number, record.time_ns);
  if (!orphans_.empty()) Replay(record.pid);
}

void TreeModel::Vanished(uint32_t number, int64_t now_ns) {
  const auto at = tasks_.find(number);
  if (at == tasks_.end()) return;
  while (!live_.at(number).threads.empty())
    EndThread(at->second, live_.at(number).threads.back().second, now_ns,
              false);
  EndProcess(number, now_ns);
}

void TreeModel::Detach(uint32_t number) {
  Task& task = tasks_.at(number);
  task.detached = true;
  task.cpu_known = false;
}

// Forgets those that ended a while ago. Not each time: in a storm of short
// processes there are many.
void TreeModel::Sweep(int64_t now_ns) {
  next_sweep_ns_ = now_ns + kPatienceNs / 2;
  const int64_t late_ns = now_ns - 2 * kPatienceNs;
  std::erase_if(late_,
                [&](const auto& one) { return one.second.end_ns < late_ns; });
  std::erase_if(lately_,
                [&](const auto& one) { return !late_.contains(one.second); });
  std::erase_if(late_threads_,
                [&](const auto& one) { return one.second.end_ns < late_ns; });
  std::erase_if(late_rows_,
                [&](const auto& one) { return one.second.end_ns < late_ns; });
  std::erase_if(noted_threads_, [&](const auto& one) {
    return !threads_.contains(one.first) && !late_rows_.contains(one.first);
  });
}

void TreeModel::Settle(int64_t now_ns) {
  if (now_ns >= next_sweep_ns_) Sweep(now_ns);
  for (auto at = want_cmdline_.begin(); at != want_cmdline_.end();) {
    const auto task = tasks_.find(at->first);
    bool done = task == tasks_.end();
    if (!done) {
      Process& row = task->second.row;
      const std::string text = world_.Cmdline(row.pid);
      // Empty while the new image is still being made.
      done = !text.empty() || ++at->second == kCmdlineTries;
      if (!text.empty()) {
        const auto argv = ParseCmdline(text);
        const bool whole = options_.all_args || row.number == root_;
        row.cmdline =
            out_.Intern(whole ? WholeCommand(argv) : ShortCommand(argv));
        out_.PutProcess(row);
      }
    }
    at = done ? want_cmdline_.erase(at) : std::next(at);
  }
  Expire(now_ns);
}

}  // namespace sonde

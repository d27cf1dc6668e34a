#include "collect/tree_model.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "base/time.h"
#include "collect/proc/process_files.h"

namespace sonde {
namespace {

constexpr uint32_t kRoot = 1;
// How long records wait for what should have come before them.
constexpr int64_t kPatienceNs = 2 * kNsPerSec;
// /proc tells a start to a clock tick (10 ms), rounded down.
constexpr int64_t kSameStartNs = 30 * kNsPerMs;
// A false exit follows its exec at once.
constexpr int64_t kFalseExitNs = 1 * kNsPerSec;
// A copy of its parent that lives this long before its exec is an image.
constexpr int64_t kCopyIsImageNs = 10 * kNsPerMs;
constexpr size_t kMostOrphans = 200'000;
constexpr int kCmdlineTries = 4;

std::string_view CommOf(const TaskRecord& record) {
  return {record.comm, ::strnlen(record.comm, sizeof(record.comm))};
}

}  // namespace

TreeModel::TreeModel(TraceWriter& out, TaskWorld& world, const Options& options)
    : out_(out), world_(world), options_(options) {}

void TreeModel::SetExit(Process& row, int wait_status) {
  if (WIFEXITED(wait_status)) {
    row.exit = Process::Exit::kExited;
    row.exit_code = WEXITSTATUS(wait_status);
  } else if (WIFSIGNALED(wait_status)) {
    row.exit = Process::Exit::kSignaled;
    row.exit_code = WTERMSIG(wait_status);
  }
}

TreeModel::Task* TreeModel::Find(pid_t pid) {
  const auto at = by_pid_.find(pid);
  return at == by_pid_.end() ? nullptr : &tasks_.at(at->second);
}

const TreeModel::Task* TreeModel::FindPid(pid_t pid) const {
  const auto at = by_pid_.find(pid);
  return at == by_pid_.end() ? nullptr : &tasks_.at(at->second);
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
  CHECK(next_process_ == kRoot);
  NewProcess(now_ns, pid, nullptr, out_.Intern("sonde"));
  root_leader_ = threads_.at(live_.at(kRoot).threads[0].first);
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
    if (orphans_.size() < kMostOrphans) orphans_.push_back(record);
    return;
  }
  const uint32_t forker = ThreadNumber(parent->row.number, record.ptid);
  const uint32_t name = forker ? threads_.at(forker).name : parent->row.name;
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
    if (orphans_.size() < kMostOrphans) orphans_.push_back(record);
    return;
  }
  Thread& thread = threads_.at(number);
  thread.name = out_.Intern(CommOf(record));
  out_.PutThread(thread);
  // A worker that never execs has no other name than the one it gives itself.
  if (record.tid == record.pid && task->row.execs == 0 &&
      task->row.number != kRoot) {
    task->row.name = thread.name;
    task->image = CommOf(record);
    out_.PutProcess(task->row);
  }
}

void TreeModel::Exec(const TaskRecord& record) {
  Task* const task = Find(record.pid);
  if (task == nullptr) {
    if (orphans_.size() < kMostOrphans) orphans_.push_back(record);
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
    ++changes_;
  }
  while (threads.size() > 1) {
    const bool survivor = threads.back().second == record.pid;
    EndThread(*task, threads[threads.size() - (survivor ? 2 : 1)].second,
              record.time_ns, true);
  }

  const bool first = task->row.execs == 0;
  const bool brief = record.time_ns - task->image_ns < kCopyIsImageNs;
  if (!first || (!brief && number != kRoot))
    CloseImage(*task, record.time_ns, 0);
  task->image = CommOf(record);
  task->image_ns = task->exec_ns = record.time_ns;
  task->row.name = out_.Intern(CommOf(record));
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
    if (orphans_.size() < kMostOrphans) orphans_.push_back(record);
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

void TreeModel::EndThread(Task& task, pid_t tid, int64_t time_ns,
                          bool cpu_comes) {
  auto& threads = live_.at(task.row.number).threads;
  const auto by_tid = by_tid_.extract({task.row.number, tid});
  CHECK(by_tid);
  const auto at = std::lower_bound(
      threads.begin(), threads.end(), by_tid.mapped(),
      [](const auto& one, uint32_t number) { return one.first < number; });
  const auto node = threads_.extract(at->first);
  Thread row = node.mapped();
  threads.erase(at);
  ++changes_;
  row.end_ns = std::max(time_ns, row.start_ns);
  out_.PutThread(row);
  if (row.number == root_leader_.number) {
    root_leader_ = row;
  } else if (cpu_comes && options_.cpu_parts > 0 && !task.detached) {
    ended_threads_[Key(task.row.pid, tid)] = {row, 0, 0};
    ++task.cpu_pending;
  } else {
    task.cpu_known = false;
    noted_threads_.erase(row.number);
  }
}

void TreeModel::Cpu(const TaskRecord& record) {
  const auto at = ended_threads_.find(Key(record.pid, record.tid));
  if (at == ended_threads_.end()) {
    if (orphans_.size() < kMostOrphans) orphans_.push_back(record);
    return;
  }
  EndedThread& thread = at->second;
  thread.cpu_ns += static_cast<int64_t>(record.value);
  if (++thread.parts < options_.cpu_parts) return;
  Thread& row_of = thread.row;
  std::pair<int64_t, int64_t> noted(kNoTime, 0);
  if (const auto note = noted_threads_.find(row_of.number);
      note != noted_threads_.end()) {
    noted = note->second;
    noted_threads_.erase(note);
  }
  row_of.cpu_ns = Believable(thread.cpu_ns, noted.first, noted.second,
                             row_of.start_ns, row_of.end_ns, 1);
  out_.PutThread(row_of);
  const Thread row = thread.row;
  ended_threads_.erase(at);
  ThreadCpuDone(row.process, row.cpu_ns);
}

void TreeModel::NoteCpu(uint32_t process, uint32_t thread, int64_t now_ns,
                        int64_t cpu_ns) {
  if (thread != 0) {
    noted_threads_[thread] = {now_ns, cpu_ns};
    return;
  }
  const auto alive = tasks_.find(process);
  const auto ended = ended_.find(process);
  if (alive == tasks_.end() && ended == ended_.end()) return;
  Task& task = alive != tasks_.end() ? alive->second : ended->second.task;
  task.noted_ns = now_ns;
  task.noted_cpu_ns = cpu_ns;
}

int64_t TreeModel::Believable(int64_t counted_ns, int64_t noted_ns,
                              int64_t noted_cpu_ns, int64_t start_ns,
                              int64_t end_ns, int64_t cores) const {
  const bool noted = noted_ns != kNoTime;
  const int64_t known = noted ? noted_cpu_ns : 0;
  const int64_t since = noted ? noted_ns : start_ns;
  const int64_t most = std::max<int64_t>(0, end_ns - since) * cores;
  return known + std::clamp<int64_t>(counted_ns - known, 0, most);
}

// `cpu_ns` is -1 if it stays unknown.
void TreeModel::ThreadCpuDone(uint32_t process, int64_t cpu_ns) {
  const auto ended = ended_.find(process);
  const auto alive = tasks_.find(process);
  if (ended == ended_.end() && alive == tasks_.end()) return;
  Task& task = ended != ended_.end() ? ended->second.task : alive->second;
  --task.cpu_pending;
  if (cpu_ns < 0)
    task.cpu_known = false;
  else
    task.cpu_ns += cpu_ns;
  if (ended != ended_.end()) PublishEnded(ended->second);
}

// Sets the exit status if it can be known, and whether it may become known.
void TreeModel::FindStatus(EndedProcess& ended) {
  Task& task = ended.task;
  std::optional<int> status;
  const auto state = world_.Look(task.row.pid);
  // A later process may have the pid by now.
  const bool there =
      state && state->start_ns <= task.row.start_ns + kSameStartNs;
  if (there)
    status = state->wait_status;
  else
    status = world_.WaitStatus(task.row.number);
  if (status) SetExit(task.row, *status);
  ended.status_open = there && !status;
}

void TreeModel::EndProcess(uint32_t number, int64_t time_ns) {
  auto node = tasks_.extract(number);
  EndedProcess ended{std::move(node.mapped()), false};
  Task& task = ended.task;
  task.row.end_ns = std::max(time_ns, task.row.start_ns);
  task.row.exit = Process::Exit::kUnknown;
  CloseImage(task, task.row.end_ns, 0);
  live_.erase(number);
  by_pid_.erase(task.row.pid);
  lately_[task.row.pid] = task.row.end_ns;
  ++changes_;
  // The root's comes from wait().
  if (number != kRoot) FindStatus(ended);
  PublishEnded(ended_.emplace(number, std::move(ended)).first->second);
}

// Writes the row as far as it is known; forgets it if that is all.
void TreeModel::PublishEnded(EndedProcess& ended) {
  Task& task = ended.task;
  const uint32_t number = task.row.number;
  if (task.cpu_pending == 0 && task.cpu_known && number != kRoot)
    task.row.cpu_ns =
        Believable(task.cpu_ns, task.noted_ns, task.noted_cpu_ns,
                   task.row.start_ns, task.row.end_ns, options_.cores);
  out_.PutProcess(task.row);
  if (task.cpu_pending > 0 || ended.status_open || number == kRoot) return;
  world_.Done(number);
  want_cmdline_.erase(number);
  tracks_.erase(number);
  ended_.erase(number);
}

void TreeModel::CloseImage(Task& task, int64_t time_ns, uint8_t flags) {
  uint32_t& track = tracks_[task.row.number];
  if (track == 0) {
    Track row;
    row.kind = Track::Kind::kProcess;
    row.process = task.row.number;
    row.name = out_.Intern("images");
    track = out_.AddTrack(row);
  }
  Event event;
  event.begin_ns = task.image_ns;
  event.dur_ns = std::max<int64_t>(0, time_ns - task.image_ns);
  event.name = out_.Intern(task.image);
  event.category = out_.Intern("process");
  event.flags = flags;
  out_.AddEvent(track, event);
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

void TreeModel::Settle(int64_t now_ns) {
  std::erase_if(lately_, [&](const auto& one) {
    return now_ns - one.second > 2 * kPatienceNs;
  });
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
        const bool whole = options_.all_args || row.number == kRoot;
        row.cmdline =
            out_.Intern(whole ? WholeCommand(argv) : ShortCommand(argv));
        out_.PutProcess(row);
      }
    }
    at = done ? want_cmdline_.erase(at) : std::next(at);
  }
  Expire(now_ns);
}

void TreeModel::Expire(int64_t now_ns) {
  for (auto at = ended_.begin(); at != ended_.end();) {
    EndedProcess& ended = at->second;
    ++at;  // PublishEnded may forget the one before
    if (!ended.status_open) continue;
    FindStatus(ended);
    if (ended.status_open && now_ns - ended.task.row.end_ns < kPatienceNs)
      continue;
    ended.status_open = false;
    PublishEnded(ended);
  }
  std::vector<Thread> late;
  std::erase_if(ended_threads_, [&](const auto& one) {
    const bool gone = now_ns - one.second.row.end_ns > kPatienceNs;
    if (gone) late.push_back(one.second.row);
    return gone;
  });
  for (const Thread& thread : late) ThreadCpuDone(thread.process, -1);

  if (orphans_.empty()) return;
  std::vector<TaskRecord> old;
  std::erase_if(orphans_, [&](const TaskRecord& one) {
    const bool gone = now_ns - one.time_ns > kPatienceNs;
    if (gone && one.kind == TaskRecord::Kind::kFork && one.pid != one.ppid)
      old.push_back(one);
    return gone;
  });
  // Their parent's fork was lost. They are ours all the same.
  for (const TaskRecord& one : old) {
    if (Find(one.pid) != nullptr) continue;
    NewProcess(one.time_ns, one.pid, nullptr, 0);
    Replay(one.pid);
  }
}

void TreeModel::RootEnded(int64_t now_ns, int wait_status,
                          int64_t leader_cpu_ns) {
  if (tasks_.contains(kRoot)) {
    auto& threads = live_.at(kRoot).threads;
    Task& task = tasks_.at(kRoot);
    while (!threads.empty())
      EndThread(task, threads.back().second, now_ns, true);
    EndProcess(kRoot, now_ns);
  }
  EndedProcess& root = ended_.at(kRoot);
  SetExit(root.task.row, wait_status);
  if (leader_cpu_ns >= 0) {
    const auto note = noted_threads_.find(root_leader_.number);
    const bool noted = note != noted_threads_.end();
    root_leader_.cpu_ns =
        Believable(leader_cpu_ns, noted ? note->second.first : kNoTime,
                   noted ? note->second.second : 0, root_leader_.start_ns,
                   root_leader_.end_ns, 1);
    out_.PutThread(root_leader_);
    root.task.cpu_ns += leader_cpu_ns;
  } else {
    root.task.cpu_known = false;
  }
  PublishEnded(root);
}

void TreeModel::Finish(int64_t now_ns) {
  Settle(now_ns);
  Expire(now_ns + 2 * kPatienceNs);
  if (const auto root = ended_.find(kRoot); root != ended_.end()) {
    Task& task = root->second.task;
    if (task.cpu_known)
      task.row.cpu_ns =
          Believable(task.cpu_ns, task.noted_ns, task.noted_cpu_ns,
                     task.row.start_ns, task.row.end_ns, options_.cores);
    out_.PutProcess(task.row);
  }
  for (auto& [number, task] : tasks_) {
    CloseImage(task, now_ns, Event::kUnfinished);
    out_.PutProcess(task.row);
  }
}

}  // namespace sonde

// How tasks end: what is known at once, what is waited for, and what is held
// to be true of their CPU time.

#include <sys/wait.h>

#include <algorithm>

#include "base/check.h"
#include "collect/tree/tree_model.h"
#include "trace/sources.h"

namespace sonde {

void TreeModel::SetExit(Process& row, int wait_status) {
  if (WIFEXITED(wait_status)) {
    row.exit = Process::Exit::kExited;
    row.exit_code = WEXITSTATUS(wait_status);
  } else if (WIFSIGNALED(wait_status)) {
    row.exit = Process::Exit::kSignaled;
    row.exit_code = WTERMSIG(wait_status);
  }
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
  late_threads_[{task.row.number, tid}] = {row.number, row.end_ns};
  late_rows_[row.number] = row;
  renamed_.erase(row.number);
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

void TreeModel::RenameLate(uint32_t thread, uint32_t name) {
  const auto late = late_rows_.find(thread);
  if (late == late_rows_.end()) return;
  late->second.name = name;
  if (thread == root_leader_.number) root_leader_.name = name;
  // What is still to be put of it must not take the name away again.
  for (auto& [key, ended] : ended_threads_)
    if (ended.row.number == thread) ended.row.name = name;
  out_.PutThread(late->second);
}

void TreeModel::Cpu(const TaskRecord& record) {
  const auto at = ended_threads_.find(Key(record.pid, record.tid));
  if (at == ended_threads_.end()) {
    Orphan(record);
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
  late_rows_[row_of.number] = row_of;
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
  lately_[task.row.pid] = number;
  late_[number] = {number, false, task.row.end_ns, task.exec_ns, CopyOf(task)};
  ++changes_;
  // The root's comes from wait().
  if (number != root_) FindStatus(ended);
  PublishEnded(ended_.emplace(number, std::move(ended)).first->second);
}

// Writes the row as far as it is known; forgets it if that is all.
void TreeModel::PublishEnded(EndedProcess& ended) {
  Task& task = ended.task;
  const uint32_t number = task.row.number;
  if (task.cpu_pending == 0 && task.cpu_known && number != root_)
    task.row.cpu_ns =
        Believable(task.cpu_ns, task.noted_ns, task.noted_cpu_ns,
                   task.row.start_ns, task.row.end_ns, options_.cores);
  out_.PutProcess(task.row);
  if (task.cpu_pending > 0 || ended.status_open || number == root_) return;
  world_.Done(number);
  want_cmdline_.erase(number);
  tracks_.erase(number);
  ended_.erase(number);
}

void TreeModel::CloseImage(Task& task, int64_t time_ns, uint8_t flags) {
  if (tracks_made_ >= kManyTracks && !tracks_.contains(task.row.number) &&
      flags == 0 && time_ns - task.image_ns < kShortImageNs &&
      task.row.number != root_)
    return CountWithoutSlice(task, time_ns);
  uint32_t& track = tracks_[task.row.number];
  if (track == 0) {
    ++tracks_made_;
    Track row;
    row.kind = Track::Kind::kProcess;
    row.process = task.row.number;
    row.name = out_.Intern("images");
    row.source = out_.Intern(source::kTree);
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

void TreeModel::CountWithoutSlice(const Task& task, int64_t time_ns) {
  Loss& loss = without_slice_;
  if (!without_slice_handle_) {
    loss.reason = "many-processes";
    loss.detail =
        "slices of processes shorter than a second: only the first 4096 have "
        "one; the table of processes has all of them";
    loss.from_ns = task.image_ns;
  }
  ++loss.count;
  loss.to_ns = std::max(loss.to_ns, time_ns);
  out_.PutLoss(without_slice_handle_, loss);
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
  if (tasks_.contains(root_)) {
    auto& threads = live_.at(root_).threads;
    Task& task = tasks_.at(root_);
    while (!threads.empty())
      EndThread(task, threads.back().second, now_ns, true);
    EndProcess(root_, now_ns);
  }
  EndedProcess& root = ended_.at(root_);
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
  if (const auto root = ended_.find(root_); root != ended_.end()) {
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

#include "collect/sample/stack_sampler.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/time.h"
#include "collect/proc/process_files.h"

namespace sonde {
namespace {

constexpr int64_t kMinCpuNs = 50 * kNsPerMs;
constexpr int64_t kRestByCost = 50;  // at most 1/50 of the time
// After these times a process that was no Python is looked at again: it may
// have loaded one.
constexpr int64_t kTryAgainNs[] = {kNsPerSec / 2, 2 * kNsPerSec,
                                   10 * kNsPerSec};

// Reads this very process: whether the kernel allows the call at all.
SourceState CheckStacks() {
#if !defined(__x86_64__)
  return SourceState::Fails("this build reads stacks on x86-64 only", "");
#endif
  const uint64_t value = 1;
  uint64_t copy = 0;
  ProcessMemory memory(::getpid());
  const int error =
      memory.Read(reinterpret_cast<uintptr_t>(&value),
                  {reinterpret_cast<uint8_t*>(&copy), sizeof(copy)});
  if (error != 0)
    return SourceState::Fails(
        "the memory of processes may not be read",
        "docker run --security-opt seccomp=unconfined ...");
  return SourceState::Works("functions of Python 3.8 to 3.14");
}

constexpr SourceInfo kStackSources[] = {
    {"stacks", "where in their code programs are", CheckStacks}};

}  // namespace

StackSampler::StackSampler(SampledRun& run)
    : run_(run),
      ticks_(NowNs(), run.stacks_hz > 0
                          ? static_cast<int64_t>(1e9 / run.stacks_hz)
                          : INT64_MAX / 4) {}

const char* StackSampler::Path(pid_t pid, pid_t tid, const char* name) {
  path_.clear();
  fmt::format_to(std::back_inserter(path_), "/proc/{}/task/{}/{}", pid, tid,
                 name);
  return path_.c_str();
}

// What was used and is in no sample belongs to one without a stack.
void StackSampler::Forget(Program& program, int64_t now_ns) {
  for (Watched& thread : program.threads) {
    if (thread.pending_ns > 0) Put(now_ns, thread, nullptr);
    thread.schedstat.Close(run_.budget);
    thread.stat.Close(run_.budget);
  }
  program.threads.clear();
  program.python.reset();
}

// Takes over which processes have come, gone, or become another program.
void StackSampler::Sync() {
  if (run_.tree.changes() == seen_changes_) return;
  seen_changes_ = run_.tree.changes();
  const auto& live = run_.tree.live();
  for (auto at = programs_.begin(); at != programs_.end();) {
    const bool gone = !live.contains(at->first);
    if (gone) Forget(at->second, NowNs());
    at = gone ? programs_.erase(at) : std::next(at);
  }
  for (const auto& [number, process] : live) {
    const auto [at, fresh] = programs_.try_emplace(number);
    Program& program = at->second;
    const auto state = run_.tree.FindNumber(number);
    const int64_t exec_ns = state ? state->exec_ns : kNoTime;
    if (!fresh && exec_ns != program.exec_ns) {
      Forget(program, NowNs());
      program.tries = 0;
      program.next_try_ns = 0;
    }
    program.exec_ns = exec_ns;
    program.pid = process.pid;
    if (fresh && ::clock_getcpuclockid(process.pid, &program.clock) != 0)
      programs_.erase(at);  // ended already
    else if (program.python)
      SyncThreads(number, program);
  }
}

void StackSampler::SyncThreads(uint32_t number, Program& program) {
  const auto live = run_.tree.live().find(number);
  if (live == run_.tree.live().end()) return;
  std::vector<Watched> threads;
  for (const auto& one : live->second.threads) {
    const uint32_t thread_number = one.first;
    const pid_t tid = one.second;
    const auto known = std::find_if(
        program.threads.begin(), program.threads.end(), [&](const Watched& w) {
          return w.number == thread_number && w.tid == tid;
        });
    if (known != program.threads.end()) {
      threads.push_back(std::move(*known));
      program.threads.erase(known);
      continue;
    }
    Watched fresh;
    fresh.number = thread_number;
    fresh.tid = tid;
    fresh.own_tid = ParseOwnPid(std::string(ReadOnce(
                                    Path(program.pid, tid, "status"), buffer_)))
                        .value_or(tid);
    threads.push_back(std::move(fresh));
    // What it used before anybody looked is not sampled.
    ReadUsed(program, threads.back());
    threads.back().pending_ns = 0;
  }
  std::swap(program.threads, threads);
  Program gone;
  gone.pid = program.pid;
  gone.threads = std::move(threads);
  Forget(gone, NowNs());
}

void StackSampler::TryFind(uint32_t number, Program& program, int64_t now_ns) {
  auto found = PythonProcess::Find(program.pid);
  if (found.ok()) {
    program.python = found.Take();
    SyncThreads(number, program);
    return;
  }
  const Error& error = found.error();
  if (error.kind == Error::Kind::kDenied && denied_.empty()) {
    denied_ = error.what;
    denied_cure_ = error.hint;
  }
  if (error.kind == Error::Kind::kUnsupported && unsupported_.empty())
    unsupported_ = error.what;
  const auto tries = static_cast<size_t>(program.tries++);
  program.next_try_ns =
      tries < std::size(kTryAgainNs) ? now_ns + kTryAgainNs[tries] : INT64_MAX;
}

void StackSampler::Poll(int64_t now_ns) {
  if (run_.stacks_hz <= 0) return;
  Sync();
  for (auto& [number, program] : programs_) {
    if (program.python || now_ns < program.next_try_ns) continue;
    const int64_t cpu_ns = ClockNs(program.clock);
    if (cpu_ns - program.cpu_ns < kMinCpuNs) continue;
    program.cpu_ns = cpu_ns;
    TryFind(number, program, now_ns);
  }
}

int64_t StackSampler::next_look_ns() const {
  if (run_.stacks_hz <= 0 || run_.paused) return INT64_MAX;
  for (const auto& [number, program] : programs_)
    if (program.python) return ticks_.next_ns();
  return INT64_MAX;
}

void StackSampler::Look(int64_t now_ns) {
  if (!ticks_.Due(now_ns)) return;
  ticks_.Take(now_ns);
  const int64_t before_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  Sync();
  for (auto& [number, program] : programs_) {
    if (!program.python) continue;
    const int64_t cpu_ns = ClockNs(program.clock);
    if (cpu_ns == program.cpu_ns) continue;
    program.cpu_ns = cpu_ns;
    LookAt(program, now_ns);
  }
  const int64_t cost_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID) - before_ns;
  ticks_.RestUntil(now_ns + cost_ns * kRestByCost);
}

// Adds what the thread has used since it was last asked. False if it cannot be
// asked any more.
bool StackSampler::ReadUsed(const Program& program, Watched& thread) {
  const auto times = ParseSchedStat(thread.schedstat.Read(
      thread.schedstat.kept() ? "" : Path(program.pid, thread.tid, "schedstat"),
      run_.budget, buffer_));
  if (!times) return false;
  const uint64_t run_ns = times->run_ns;
  if (run_ns > thread.run_ns) thread.pending_ns += run_ns - thread.run_ns;
  thread.run_ns = run_ns;
  return true;
}

bool StackSampler::IsReady(const Program& program, Watched& thread) {
  const auto stat = ParseProcessStat(thread.stat.Read(
      thread.stat.kept() ? "" : Path(program.pid, thread.tid, "stat"),
      run_.budget, buffer_));
  return stat && stat->state == 'R';
}

void StackSampler::LookAt(Program& program, int64_t now_ns) {
  std::vector<Watched*> ready;
  std::vector<pid_t> own_tids;
  for (Watched& thread : program.threads) {
    if (!ReadUsed(program, thread) || thread.pending_ns == 0 ||
        !IsReady(program, thread))
      continue;
    ready.push_back(&thread);
    own_tids.push_back(thread.own_tid);
  }
  if (ready.empty()) return;
  std::sort(own_tids.begin(), own_tids.end());
  auto stacks = program.python->Sample(own_tids);
  if (!stacks.ok()) {
    // It ended or became another program; the tree will say so.
    Forget(program, now_ns);
    return;
  }
  for (Watched* const thread : ready) {
    const PythonThread* python = nullptr;
    for (const PythonThread& one : stacks.value().threads)
      if (one.own_tid == thread->own_tid && !one.frames.empty()) python = &one;
    Put(now_ns, *thread, python);
  }
}

void StackSampler::Put(int64_t now_ns, Watched& thread,
                       const PythonThread* python) {
  Sample sample;
  sample.time_ns = now_ns;
  sample.thread = thread.number;
  sample.weight_ns = thread.pending_ns;
  thread.pending_ns = 0;
  if (python != nullptr) {
    frames_.clear();
    for (size_t i = python->frames.size(); i-- > 0;) {
      const PythonFrame& one = python->frames[i];
      StackFrame frame;
      frame.function = run_.out.Intern(one.function);
      frame.file = run_.out.Intern(one.file);
      frame.line = static_cast<uint32_t>(std::max(one.line, 0));
      frames_.push_back(frame);
    }
    sample.stack = run_.out.AddStack(frames_);
    if (python->approximate || python->cut) sample.flags = Sample::kApproximate;
  }
  run_.out.AddSample(sample);
}

void StackSampler::Pause(bool paused) {
  if (paused) return;
  // What was used meanwhile is not recorded.
  for (auto& [number, program] : programs_)
    for (Watched& thread : program.threads) {
      ReadUsed(program, thread);
      thread.pending_ns = 0;
    }
}

void StackSampler::Stop(int64_t now_ns) {
  for (auto& [number, program] : programs_) {
    if (!run_.paused)
      for (Watched& thread : program.threads) ReadUsed(program, thread);
    Forget(program, now_ns);
  }
}

std::vector<NotCollected> StackSampler::not_collected() const {
  if (run_.stacks_hz <= 0) return {};
  if (!denied_.empty())
    return {Missing(kStackSources[0], denied_, denied_cure_)};
  if (!unsupported_.empty()) return {Missing(kStackSources[0], unsupported_)};
  return {};
}

extern const GathererInfo kStackGatherer = {kStackSources, Make<StackSampler>};

}  // namespace sonde

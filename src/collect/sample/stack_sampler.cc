#include "collect/sample/stack_sampler.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/time.h"

namespace sonde {
namespace {

constexpr int64_t kMinCpuNs = 50 * kNsPerMs;
// By then a program is loaded, and most that live shorter have ended.
constexpr int64_t kFirstTryNs = 10 * kNsPerMs;
constexpr int64_t kCpuAgainNs = 100 * kNsPerMs;
// Ticks that come seldom are not waited for; ten a second do it.
constexpr int64_t kFindEveryNs = 150 * kNsPerMs;
constexpr int64_t kLeastFindNs = kNsPerMs;
constexpr int64_t kLeastWaitLookNs = 10 * kNsPerMs;
// Where nobody went to sleep in so many looks, the next come more seldom.
constexpr int kQuietLooks = 8;
constexpr int64_t kQuietNs = 50 * kNsPerMs;
constexpr int64_t kRestByCost = 50;  // at most 1/50 of the time
constexpr int64_t kTellSleepNs = kNsPerSec;
// PythonProcess::Sample() looks anew for threads that it did not know.
constexpr int64_t kNewThreadNs = 3 * kNsPerSec / 2;
constexpr size_t kAlwaysAsked = 32;
// Of native programs those that rest, and their threads, are asked at every so
// many looks.
constexpr size_t kNativeRests = 4, kNativeThreadRests = 8;
// What does not live for so long is not worth a look; what looks like a Python
// may be one yet.
constexpr int64_t kNativeAfterNs = kNsPerSec / 5;
constexpr int64_t kNoPythonAfterNs = 2 * kNsPerSec;
// After these times, and then after the last again and again, a process that
// was no Python is looked at anew if it has worked: it may have loaded one.
// What looks like a Python may only just be loading it.
constexpr int64_t kTryAgainNs[] = {kNsPerSec / 2, 2 * kNsPerSec,
                                   10 * kNsPerSec};
constexpr int64_t kTryPythonAgainNs[] = {
    10 * kNsPerMs, 30 * kNsPerMs, 100 * kNsPerMs, kNsPerSec / 2,
    kNsPerSec,     2 * kNsPerSec, 10 * kNsPerSec};

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

uint8_t FlagsOf(const PythonThread* python) {
  const bool exact = python == nullptr || !(python->approximate || python->cut);
  return exact ? 0 : Sample::kApproximate;
}

// Where threads only wait is told by half as many looks, and a hundred a
// second: for how long they do is the kernel's account.
int64_t IntervalNs(const SampledRun& run) {
  if (run.stacks_hz <= 0) return kNsPerSec;  // nobody looks
  const auto interval_ns = static_cast<int64_t>(1e9 / run.stacks_hz);
  return run.native_stacks ? std::max(2 * interval_ns, kLeastWaitLookNs)
                           : interval_ns;
}

constexpr SourceInfo kStackSources[] = {
    {"stacks", "where in their code programs are", CheckStacks}};

}  // namespace

StackSampler::StackSampler(SampledRun& run)
    : run_(run),
      interval_ns_(IntervalNs(run)),
      next_tick_ns_(NowNs()),
      next_find_ns_(NowNs() + kFindEveryNs),
      rest_find_ns_(NowNs()),
      sleep_frames_(run) {}

bool StackSampler::Rest::Skips() {
  if (skip == 0) return false;
  --skip;
  return true;
}

void StackSampler::Rest::Again(bool rests, size_t most) {
  looks = rests ? looks + 1 : 0;
  skip = static_cast<uint32_t>(std::min<size_t>(looks / 2, most));
}

// What was used and is in no sample belongs to one without a stack.
void StackSampler::Forget(const Program& program, WatchedThread& thread,
                          int64_t now_ns) {
  PutSlept(now_ns, thread);
  PutRan(now_ns, program, thread, 0, 0);
  thread.Close(run_.budget);
}

void StackSampler::Forget(uint32_t number, Program& program, int64_t now_ns) {
  for (Watched& one : program.threads) Forget(program, one.thread, now_ns);
  program.threads.clear();
  program.python = nullptr;
  program.code.reset();
  // What perf has of it comes a little later.
  if (run_.pythons.contains(number)) ended_.emplace_back(now_ns, number);
  program.asleep = false;
}

// Takes over which processes have come, gone, or become another program.
void StackSampler::Sync(int64_t now_ns) {
  if (run_.tree.changes() == seen_changes_) return;
  seen_changes_ = run_.tree.changes();
  const auto& live = run_.tree.live();
  for (auto at = programs_.begin(); at != programs_.end();) {
    const bool gone = !live.contains(at->first);
    if (gone) {
      Forget(at->first, at->second, now_ns);
      run_.python_tried.erase(at->first);
    }
    at = gone ? programs_.erase(at) : std::next(at);
  }
  for (const auto& [number, process] : live) {
    const auto [at, fresh] = programs_.try_emplace(number);
    Program& program = at->second;
    const auto state = run_.tree.FindNumber(number);
    const int64_t exec_ns = state ? state->exec_ns : kNoTime;
    if (fresh || exec_ns != program.exec_ns) {
      // What it is now, nobody has looked at yet.
      run_.python_tried.erase(number);
      Forget(number, program, now_ns);
      run_.pythons.erase(number);
      program.tries = 0;
      program.looks_like_python.reset();
      program.since_ns = now_ns;
      program.closed = false;
      program.next_try_ns = now_ns + kFirstTryNs;
      next_find_ns_ = std::min(next_find_ns_, program.next_try_ns);
    }
    program.exec_ns = exec_ns;
    program.pid = process.pid;
    if (fresh && ::clock_getcpuclockid(process.pid, &program.clock) != 0)
      programs_.erase(at);  // ended already
    else if (program.code)
      SyncThreads(number, program, now_ns);
    else if (fresh && state && state->copy_of != 0)
      TryCopy(number, program, state->copy_of, now_ns);
  }
}

void StackSampler::SyncThreads(uint32_t number, Program& program,
                               int64_t now_ns) {
  const auto live = run_.tree.live().find(number);
  if (live == run_.tree.live().end()) return;
  std::vector<Watched> threads;
  threads.reserve(live->second.threads.size());
  auto old = program.threads.begin();
  const auto end = program.threads.end();
  for (const auto& [thread, tid] : live->second.threads) {
    while (old != end && old->thread.number() < thread)
      Forget(program, (old++)->thread, now_ns);
    if (old != end && old->thread.number() == thread &&
        old->thread.tid() == tid) {
      threads.push_back(std::move(*old++));
      continue;
    }
    threads.emplace_back(WatchedThread(thread, program.pid, tid, now_ns));
    program.asleep = false;
  }
  while (old != end) Forget(program, (old++)->thread, now_ns);
  program.threads = std::move(threads);
}

// True once it has used, or lived, enough.
bool StackSampler::WorthATry(Program& program, int64_t now_ns) {
  if (program.python != nullptr || now_ns < program.next_try_ns) return false;
  if (!program.looks_like_python)
    program.looks_like_python = LooksLikePython(program.pid);
  const int64_t cpu_ns = ClockNs(program.clock);
  const bool works = cpu_ns - program.tried_cpu_ns >= kMinCpuNs;
  if (works) program.tried_cpu_ns = cpu_ns;
  if (works || *program.looks_like_python) return true;
  program.next_try_ns = now_ns + kCpuAgainNs;
  return false;
}

void StackSampler::TryFind(uint32_t number, Program& program, int64_t now_ns) {
  run_.python_tried.insert(number);
  auto found = PythonProcess::Find(program.pid);
  if (found.ok()) {
    Interpreter interpreter =
        InterpreterOf(found.value().python(), ProgramOf(program.pid),
                      *program.looks_like_python);
    return Found(number, program,
                 {found.Take(), std::move(interpreter), program.exec_ns},
                 now_ns);
  }
  const Error& error = found.error();
  if (error.kind == Error::Kind::kDenied && denied_.empty()) {
    denied_ = error.what;
    denied_cure_ = error.hint;
  }
  if (error.kind == Error::Kind::kUnsupported && unsupported_.empty())
    unsupported_ = error.what;
  const std::span<const int64_t> again =
      *program.looks_like_python ? std::span<const int64_t>(kTryPythonAgainNs)
                                 : kTryAgainNs;
  program.next_try_ns =
      now_ns + again[std::min(program.tries++, again.size() - 1)];
}

// It is what its parent is, and lives in the memory of its parent.
void StackSampler::TryCopy(uint32_t number, Program& program, uint32_t copy_of,
                           int64_t now_ns) {
  const auto parent = run_.pythons.find(copy_of);
  if (parent == run_.pythons.end()) return;
  auto copy = parent->second.process.InCopy(program.pid);
  if (!copy.ok()) return;
  run_.python_tried.insert(number);
  Found(number, program,
        {copy.Take(), parent->second.interpreter, program.exec_ns}, now_ns);
}

void StackSampler::Found(uint32_t number, Program& program,
                         SampledRun::Python python, int64_t now_ns) {
  program.python =
      &run_.pythons.insert_or_assign(number, std::move(python)).first->second;
  ++run_.pythons_found;
  program.code.emplace(program.pid, run_.native.files);
  program.told_ns = now_ns;
  program.asleep = false;
  SyncThreads(number, program, now_ns);
}

// One that is no Python, or is not known as one.
void StackSampler::WatchNative(uint32_t number, Program& program,
                               int64_t now_ns) {
  if (!SleepingStack::Works() || program.closed) return;
  const int64_t after_ns = program.looks_like_python.value_or(true)
                               ? kNoPythonAfterNs
                               : kNativeAfterNs;
  if (now_ns - program.since_ns < after_ns) return;
  program.closed =
      ReadOnce(fmt::format("/proc/{}/syscall", program.pid).c_str(), buffer_)
          .empty();
  if (program.closed) return;
  program.code.emplace(program.pid, run_.native.files);
  program.told_ns = now_ns;
  SyncThreads(number, program, now_ns);
}

void StackSampler::Poll(int64_t now_ns) {
  if (run_.stacks_hz > 0) FindPythons(now_ns);
}

void StackSampler::FindPythons(int64_t now_ns) {
  const int64_t before_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  next_find_ns_ = now_ns + kFindEveryNs;
  Sync(now_ns);
  for (; !ended_.empty() && now_ns - ended_.front().first > kNsPerSec;
       ended_.pop_front())
    if (const auto at = programs_.find(ended_.front().second);
        at == programs_.end() || at->second.python == nullptr)
      run_.pythons.erase(ended_.front().second);
  for (auto& [number, program] : programs_) {
    if (WorthATry(program, now_ns)) TryFind(number, program, now_ns);
    if (!program.code) WatchNative(number, program, now_ns);
    if (program.python == nullptr)
      next_find_ns_ = std::min(next_find_ns_, program.next_try_ns);
  }
  const int64_t cost_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID) - before_ns;
  rest_find_ns_ = now_ns + std::max(kLeastFindNs, cost_ns * kRestByCost);
}

// Who comes is looked at at once: the process may not live for long.
bool StackSampler::FindIsDue(int64_t now_ns) const {
  return now_ns >= rest_find_ns_ &&
         (now_ns >= next_find_ns_ || run_.tree.changes() != seen_changes_);
}

int64_t StackSampler::next_look_ns() const {
  if (run_.stacks_hz <= 0 || run_.paused) return INT64_MAX;
  const int64_t find_ns = run_.tree.changes() != seen_changes_
                              ? rest_find_ns_
                              : std::max(next_find_ns_, rest_find_ns_);
  for (const auto& [number, program] : programs_)
    if (program.code) return std::min(find_ns, next_tick_ns_);
  return find_ns;
}

void StackSampler::Look(int64_t now_ns) {
  if (FindIsDue(now_ns)) FindPythons(now_ns);
  if (now_ns < next_tick_ns_) return;
  const int64_t before_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  Sync(now_ns);
  ++quiet_looks_;
  const size_t most = programs_.size() / kAlwaysAsked;
  for (auto& [number, program] : programs_) {
    if (!program.code || program.rest.Skips()) continue;
    const int64_t cpu_ns = ClockNs(program.clock);
    const bool rests = program.asleep && cpu_ns == program.cpu_ns;
    program.cpu_ns = cpu_ns;
    program.rest.Again(
        rests, program.python != nullptr ? most : std::max(most, kNativeRests));
    if (rests)
      SleepOn(program, now_ns);
    else
      LookAt(number, program, now_ns);
  }
  const int64_t cost_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID) - before_ns;
  const bool quiet = run_.native_stacks && quiet_looks_ > kQuietLooks;
  next_tick_ns_ = std::max(
      next_tick_ns_ + About(interval_ns_),
      now_ns + std::max(cost_ns * kRestByCost, quiet ? About(kQuietNs) : 0));
}

// That long on average. A program may have a rhythm of its own, and looks in
// step with it would always see the same.
int64_t StackSampler::About(int64_t time_ns) {
  return time_ns / 2 + static_cast<int64_t>(random_() % 1024) * time_ns / 1024;
}

// None of its threads has run. They are where they were until this moment: what
// comes next may be another place.
void StackSampler::SleepOn(Program& program, int64_t now_ns) {
  const bool tells = now_ns - program.told_ns >= kTellSleepNs;
  if (tells) program.told_ns = now_ns;
  for (Watched& one : program.threads) {
    one.thread.SleepsOn(now_ns);
    if (tells) PutSlept(now_ns, one.thread);
  }
}

void StackSampler::LookAt(uint32_t number, Program& program, int64_t now_ns) {
  running_.clear();
  sleeping_.clear();
  size_t most = program.threads.size() / kAlwaysAsked;
  if (program.python == nullptr) most = std::max(most, kNativeThreadRests);
  for (Watched& one : program.threads) {
    if (one.rest.Skips()) continue;
    WatchedThread& thread = one.thread;
    const auto seen = thread.Look(now_ns, run_.budget, buffer_);
    using Seen = WatchedThread::Seen;
    one.rest.Again(seen == Seen::kStill, most);
    one.asleep_cpu_ns =
        seen == Seen::kStill || seen == Seen::kSleeps ? program.cpu_ns : -1;
    if (seen == Seen::kStill) {
      if (now_ns - thread.told_ns() >= kTellSleepNs) PutSlept(now_ns, thread);
      continue;
    }
    PutSlept(now_ns, thread);
    // Where it runs, perf tells.
    if (seen == Seen::kRuns && (run_.native_stacks || !program.python))
      PutRan(now_ns, program, thread, 0, 0);
    else if (seen == Seen::kRuns)
      running_.push_back(&thread);
    if (seen == Seen::kSleeps) {
      sleeping_.push_back(&thread);
      quiet_looks_ = 0;
    }
  }
  // A thread that was not asked in this look may have run.
  program.asleep = std::all_of(
      program.threads.begin(), program.threads.end(),
      [&](const Watched& one) { return one.asleep_cpu_ns == program.cpu_ns; });
  if ((!running_.empty() || !sleeping_.empty()) &&
      !ReadStacks(number, program, now_ns))
    Forget(number, program, now_ns);
}

// Of those that run or sleep now. False if it ended or became another program;
// the tree will say so.
bool StackSampler::ReadStacks(uint32_t number, Program& program,
                              int64_t now_ns) {
  if (program.python == nullptr) {
    for (WatchedThread* const thread : sleeping_)
      sleep_frames_.Put(number, *program.code, nullptr, nullptr, *thread);
    return true;
  }
  own_tids_.clear();
  for (const auto* list : {&running_, &sleeping_})
    for (WatchedThread* const thread : *list)
      own_tids_.push_back(thread->own_tid(buffer_));
  auto stacks = program.python->process.Sample(own_tids_);
  if (!stacks.ok()) return false;
  std::unordered_map<pid_t, const PythonThread*> by_tid;
  for (const PythonThread& one : stacks.value())
    if (!one.frames.empty()) by_tid.emplace(one.own_tid, &one);
  const auto python_of = [&](WatchedThread& thread) {
    const auto at = by_tid.find(thread.own_tid(buffer_));
    return at == by_tid.end() ? nullptr : at->second;
  };
  for (WatchedThread* const thread : running_) {
    const PythonThread* const python = python_of(*thread);
    PutRan(now_ns, program, *thread, PutStack(python), FlagsOf(python));
  }
  for (WatchedThread* const thread : sleeping_) {
    const PythonThread* const python = python_of(*thread);
    // Its interpreter may not know it yet; then it is asked again.
    if (python == nullptr && now_ns - thread->since_ns() < kNewThreadNs)
      program.asleep = false;
    else
      sleep_frames_.Put(number, *program.code, python,
                        &program.python->interpreter, *thread);
  }
  return true;
}

uint32_t StackSampler::PutStack(const PythonThread* python) {
  if (python == nullptr) return 0;
  frames_.clear();
  for (size_t i = python->frames.size(); i-- > 0;)
    frames_.push_back(FrameOf(run_.out, python->frames[i]));
  return run_.out.AddStack(frames_);
}

// Only of Python.
void StackSampler::PutRan(int64_t now_ns, const Program& program,
                          WatchedThread& thread, uint32_t stack,
                          uint8_t flags) {
  Sample sample;
  sample.weight_ns = thread.TakeRan();
  if (sample.weight_ns == 0 || run_.native_stacks || program.python == nullptr)
    return;
  sample.time_ns = now_ns;
  sample.thread = thread.number();
  sample.stack = stack;
  sample.flags = flags;
  run_.out.AddSample(sample);
}

void StackSampler::PutSlept(int64_t now_ns, WatchedThread& thread) {
  Sample sample;
  sample.weight_ns = thread.TakeSlept(now_ns);
  if (sample.weight_ns == 0) return;
  sample.time_ns = now_ns;
  sample.thread = thread.number();
  sample.stack = thread.wait_stack();
  sample.flags = Sample::kWaiting | thread.wait_flags();
  run_.out.AddSample(sample);
}

void StackSampler::Pause(bool paused) {
  const int64_t now_ns = NowNs();
  for (auto& [number, program] : programs_) {
    program.asleep = false;
    for (Watched& one : program.threads) {
      one.thread.Look(now_ns, run_.budget, buffer_);
      // What is done meanwhile is not recorded.
      if (paused) {
        PutSlept(now_ns, one.thread);
        PutRan(now_ns, program, one.thread, 0, 0);
      } else {
        one.thread.Drop();
      }
    }
  }
}

void StackSampler::Stop(int64_t now_ns) {
  for (auto& [number, program] : programs_) {
    if (!run_.paused)
      for (Watched& one : program.threads)
        one.thread.Look(now_ns, run_.budget, buffer_);
    Forget(number, program, now_ns);
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

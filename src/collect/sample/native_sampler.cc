#include "collect/sample/native_sampler.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "collect/perf/stack_record.h"
#include "collect/proc/proc_file.h"
#include "collect/proc/process_files.h"
#include "collect/sample/stack_sampler.h"

namespace sonde {
namespace {

#if defined(__x86_64__)
constexpr bool kUnwinds = true;
#else
constexpr bool kUnwinds = false;
#endif
// 512 KiB for each CPU, fewer where the user may lock no more.
constexpr size_t kPages = 128;
// Frames of libraries that multiply, and the start of large programs, are
// deeper than 16 KiB. What lies beyond is read later, if it is still there, so
// who may lock as much as he wants has more copied at once.
constexpr size_t kRootsPages = 256;
constexpr uint32_t kCopyBytes = 16 << 10, kRootsCopyBytes = 48 << 10;
// A ring must hold so many samples.
constexpr size_t kFewestRecords = 2;
constexpr int64_t kMostSeldomNs = 50 * kNsPerMs;
constexpr int64_t kMostOftenNs = 5 * kNsPerMs;
// Samples of all CPUs together, 20 us each: on large machines each CPU has
// fewer.
constexpr double kMostPerSecond = 2000, kFewestHz = 10;
// Words of a stack in which the function of Python that ran is looked for,
// where it is not known which part of the stack is that function's.
constexpr size_t kFewWords = 128;
constexpr int64_t kRestBySync = 50, kRestByReading = 20;
// How long a Python may take to begin, and for how long it is young: it or its
// functions may be gone soon, and what its samples say can only be read before.
constexpr int64_t kStartNs = kNsPerSec;
constexpr int64_t kYoungNs = 250 * kNsPerMs, kYoungEveryNs = 2 * kNsPerMs;
constexpr size_t kMostOwed = 65536;
constexpr size_t kFurtherBytes = 64 << 10;

// With time in the kernel, if that is allowed.
Result<PerfRing> OpenRing(double hz, pid_t pid, int cpu, size_t pages,
                          uint32_t copy_bytes, bool wakes, bool* with_kernel) {
  const auto open = [&] {
    return PerfRing::Open(
        StackAttr(hz, kPerfRegisters, *with_kernel, copy_bytes, wakes), pid,
        cpu, pages);
  };
  if (!*with_kernel) return open();
  auto ring = open();
  if (ring.ok()) return ring;
  *with_kernel = false;
  return open();
}

// Opens the event on ourselves, as `sonde run` does on the command.
SourceState CheckNative() {
  if (!kUnwinds)
    return SourceState::Fails("this build reads stacks on x86-64 only", "");
  bool kernel = true;
  const auto ring =
      OpenRing(199, ::getpid(), 0, 16, kCopyBytes, false, &kernel);
  if (!ring.ok()) return ExplainPerf(ring.error());
  return SourceState::Works(
      kernel ? "functions of native programs, by perf"
             : "functions of native programs, by perf; not their time in the "
               "kernel");
}

// As its own pid namespace numbers a thread.
pid_t OwnTid(pid_t pid, pid_t tid) {
  return ParseOwnPid(ReadText(fmt::format("/proc/{}/task/{}/status", pid, tid)))
      .value_or(tid);
}

constexpr SourceInfo kNativeSources[] = {
    {"native stacks", "where in their code native programs are", CheckNative},
    {"exact Python stacks", "functions of Python at the moment of a sample",
     FrameWalker::Check}};

}  // namespace

NativeSampler::NativeSampler(SampledRun& run)
    : run_(run),
      cpus_(OnlineCpus()),
      hz_(std::min(run.stacks_hz,
                   std::max(kFewestHz, kMostPerSecond /
                                           static_cast<double>(cpus_.size())))),
      copy_bytes_(kCopyBytes),
      native_(run.out, files_) {
  fault_.function = run.out.Intern(kPageFault);
  fault_.file = run.out.Intern(kKernelFile);
  // Where the tree is not followed by perf, perf was not wanted or not allowed.
  if (run_.stacks_hz <= 0 || run_.stacks_by == StacksBy::kProc ||
      run_.tree.source() != "perf")
    return;
  if (run_.stacks_by != StacksBy::kPerf) {
    auto made = FrameWalker::Make();
    if (made.ok()) walker_ = made.Take();
    if (walker_) copy_bytes_ = kRootsCopyBytes;
  }
  if (const Status opened = Open(); !opened.ok()) {
    rings_.clear();
    walker_.reset();
    failed_ = ExplainPerf(opened.error());
    return;
  }
  run_.native_stacks = true;
  period_ns_ = static_cast<int64_t>(1e9 / hz_);
  const auto records =
      static_cast<int64_t>(rings_[0].bytes() / StackRecordBytes(copy_bytes_));
  if (every_ns_ != kMostOftenNs)
    every_ns_ =
        std::clamp(records / 2 * period_ns_, kMostOftenNs, kMostSeldomNs);
  run_.stacks_by = walker_ ? StacksBy::kBpf : StacksBy::kPerf;
  next_ns_ = NowNs() + every_ns_;
}

// The command waits for its exec: all that it will start inherits the events.
Status NativeSampler::Open() {
  if (!kUnwinds)
    return Error{Error::Kind::kUnsupported,
                 "this build reads stacks on x86-64 only"};
  const auto& live = run_.tree.live();
  if (live.empty()) return Error{Error::Kind::kNotFound, "there is no process"};
  const pid_t root = live.begin()->second.pid;
  bool with_kernel = true;
  std::vector<int> fds;
  for (const int cpu : cpus_) {
    auto ring = OpenRing(hz_, root, cpu, walker_ ? kRootsPages : kPages,
                         copy_bytes_, !walker_, &with_kernel);
    if (!ring.ok()) return ring.error();
    if (ring.value().bytes() < kFewestRecords * StackRecordBytes(copy_bytes_))
      return Error{Error::Kind::kDenied,
                   "the user may not lock enough memory for samples"};
    fds.push_back(ring.value().fd());
    rings_.push_back(ring.Take());
  }
  walks_.resize(rings_.size());
  // Without it samples go on as before.
  if (walker_)
    if (const Status attached = walker_->Attach(fds); !attached.ok())
      DropWalker(attached.error());
  return Ok();
}

void NativeSampler::Poll(int64_t now_ns) {
  // A process whose end is known is asked nothing any more.
  std::erase_if(programs_, [&](const auto& one) {
    const auto state = run_.tree.FindNumber(one.first);
    return !state || (!state->alive && now_ns - state->end_ns > kNsPerSec);
  });
}

// Only of Python it matters that it is looked at soon after a sample.
std::vector<int> NativeSampler::look_fds() const {
  std::vector<int> out;
  if (run_.paused || run_.pythons.empty() || walker_) return out;
  for (const PerfRing& ring : rings_) out.push_back(ring.fd());
  return out;
}

int64_t NativeSampler::next_look_ns() const {
  if (!walker_ || run_.paused) return next_ns_;
  return std::min(next_ns_,
                  std::max(next_sync_ns_, WalkedChanged() ? 0 : next_ask_ns_));
}

void NativeSampler::Look(int64_t now_ns) {
  Drain(now_ns);
  next_ns_ =
      now_ns + (now_ns < young_until_ns_ ? std::min(every_ns_, kYoungEveryNs)
                                         : every_ns_);
}

void NativeSampler::Drain(int64_t now_ns) {
  // What the tree does not know yet has no number.
  if (!rings_.empty()) run_.tree.Poll(now_ns);
  SyncWalked(now_ns);
  const uint64_t before = lost_;
  for (size_t i = 0; i < rings_.size(); ++i)
    lost_ += rings_[i].Drain([&](std::string_view record) {
      if (walker_ && FrameWalker::Parse(record, walks_[i])) return;
      Take(record, rings_[i].offset_ns(), walks_[i]);
      walks_[i].tid = 0;
    });
  if (lost_ == before) return;
  if (lost_from_ns_ == kNoTime) lost_from_ns_ = now_ns;
  lost_to_ns_ = now_ns;
}

void NativeSampler::LoadWalker() {
  std::vector<int> fds;
  for (const PerfRing& ring : rings_) fds.push_back(ring.fd());
  const Status loaded = walker_->Load(fds, cpus_);
  if (loaded.ok()) return;
  DropWalker(loaded.error());
}

// Functions of Python are then read when we look, which is often.
void NativeSampler::DropWalker(const Error& why) {
  not_walked_ = SourceState::Fails(why.what, why.hint);
  walker_.reset();
  run_.stacks_by = StacksBy::kPerf;
  every_ns_ = kMostOftenNs;
}

// Whether there may be threads of Python that the kernel does not know.
bool NativeSampler::WalkedChanged() const {
  return run_.pythons_found != walked_pythons_ ||
         (!walked_.empty() && run_.tree.changes() != walked_changes_);
}

// Tells the kernel which threads run Python. A process is asked when its
// threads have changed, soon again while some of them are unknown, and once a
// second: threads may come to Python late.
void NativeSampler::SyncWalked(int64_t now_ns) {
  if (!walker_ || (run_.pythons.empty() && walked_.empty())) return;
  if (!walker_->loaded()) LoadWalker();
  if (!walker_ || now_ns < next_sync_ns_ ||
      (!WalkedChanged() && now_ns < next_ask_ns_))
    return;
  const int64_t before_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  walked_changes_ = run_.tree.changes();
  if (run_.pythons_found != walked_pythons_)
    young_until_ns_ = now_ns + kYoungNs;
  walked_pythons_ = run_.pythons_found;
  next_ask_ns_ = INT64_MAX;
  const auto& live = run_.tree.live();
  std::erase_if(walked_, [&](const auto& one) {
    const auto python = run_.pythons.find(one.first);
    if (live.contains(one.first) && python != run_.pythons.end() &&
        python->second.exec_ns == one.second.exec_ns)
      return false;
    for (const auto& [tid, state] : one.second.states) walker_->Remove(tid);
    return true;
  });
  for (auto& [number, python] : run_.pythons) {
    const auto at = live.find(number);
    if (at == live.end()) continue;
    Walked& walked = walked_[number];
    const bool changed = walked.threads != at->second.threads;
    if (changed || now_ns >= walked.next_ask_ns) {
      walked.threads = at->second.threads;
      walked.exec_ns = python.exec_ns;
      Walk(at->second.pid, python.process, walked);
      walked.ask_every_ns =
          walked.states.size() == walked.threads.size() ? kNsPerSec
          : changed                                     ? kYoungEveryNs
                    : std::min(2 * walked.ask_every_ns, kNsPerSec);
      walked.next_ask_ns = now_ns + walked.ask_every_ns;
    }
    next_ask_ns_ = std::min(next_ask_ns_, walked.next_ask_ns);
  }
  next_sync_ns_ =
      now_ns + (ClockNs(CLOCK_THREAD_CPUTIME_ID) - before_ns) * kRestBySync;
}

void NativeSampler::Walk(pid_t pid, PythonProcess& python, Walked& walked) {
  std::unordered_map<pid_t, uint64_t> states, now;  // by own tid, by tid
  for (const auto& one : python.ThreadAddresses())
    states.emplace(one.own_tid, one.state);
  const bool same_tids = OwnTid(pid, pid) == pid;
  for (const auto& [thread, tid] : walked.threads) {
    const auto state = states.find(same_tids ? tid : OwnTid(pid, tid));
    if (state == states.end()) continue;
    const auto known = walked.states.find(tid);
    const bool is_known =
        known != walked.states.end() && known->second == state->second;
    if (!is_known) {
      const Status put =
          walker_->Put(tid, state->second, python.python().layout);
      if (!put.ok()) {
        not_walked_ = SourceState::Fails(put.error().what, put.error().hint);
        continue;
      }
    }
    now.emplace(tid, state->second);
  }
  for (const auto& [tid, state] : walked.states)
    if (!now.contains(tid)) walker_->Remove(tid);
  walked.states = std::move(now);
}

void NativeSampler::Take(std::string_view bytes, int64_t offset_ns,
                         const FrameWalker::Walk& walk) {
  const auto record = ParseStackRecord(bytes, lost_);
  if (!record) return;
  uint32_t number = 0;
  Program* const program = ProgramOf(static_cast<pid_t>(record->pid), &number);
  if (program == nullptr) return;
  Sample sample;
  sample.thread =
      run_.tree.FindThread(number, static_cast<pid_t>(record->tid)).number;
  if (sample.thread == 0) return;
  // What a Python does before anybody knows where its frames are.
  if (program->looks_like_python && !program->interpreter &&
      !run_.python_tried.contains(number))
    return;
  sample.time_ns = record->time_ns + offset_ns;
  // It was another program then, whose code is gone.
  if (sample.time_ns < program->exec_ns) return;
  sample.weight_ns = static_cast<uint64_t>(period_ns_);
  if (program->interpreter && walk.tid != static_cast<pid_t>(record->tid) &&
      NowNs() < next_read_ns_) {
    if (owed_ns_.size() < kMostOwed)
      owed_ns_[sample.thread] += sample.weight_ns;
    return;
  }
  if (const auto owed = owed_ns_.find(sample.thread); owed != owed_ns_.end()) {
    sample.weight_ns += owed->second;
    owed_ns_.erase(owed);
  }
  if (record->registers) {
    const Registers registers = RegistersOfPerf(*record->registers);
    unwinder_.Unwind(program->code, registers,
                     StackCopy{registers[kRsp], record->stack}, stack_);
    copy_ = record->stack;
    if (stack_.end == UnwindEnd::kEndOfCopy) UnwindFurther(*record, *program);
    frames_.clear();
    const bool whole = program->interpreter
                           ? MergePython(*record, walk, number, *program)
                           : stack_.end == UnwindEnd::kComplete;
    if (!program->interpreter)
      for (size_t i = stack_.frames.size(); i-- > 0;)
        frames_.push_back(
            native_.Of(stack_.frames[i], number, program->code.pid()));
    if (Starts(*program, sample.time_ns)) return;
    // A function that makes system calls says by its name which. The processor
    // leaves the place of the call in rcx.
    if (record->in_kernel && registers[kRcx] != registers[kRip])
      frames_.push_back(fault_);
    if (!frames_.empty()) sample.stack = run_.out.AddStack(frames_);
    if (!whole) sample.flags |= Sample::kApproximate;
  }
  run_.out.AddSample(sample);
}

// Some functions, as those that multiply matrices, have more on the stack than
// a sample copies. What lies beyond is of their callers, and is there still if
// they go on; where it leads nowhere, what was found before stays.
void NativeSampler::UnwindFurther(const StackRecord& record, Program& program) {
  const Registers registers = RegistersOfPerf(*record.registers);
  const uint64_t end = registers[kRsp] + record.stack.size();
  ProcessMemory memory(program.code.pid());
  longer_.resize(record.stack.size() + kFurtherBytes);
  std::copy(record.stack.begin(), record.stack.end(), longer_.begin());
  longer_.resize(record.stack.size() +
                 memory.ReadSome(end, std::span(longer_).last(kFurtherBytes)));
  unwinder_.Unwind(program.code, registers, StackCopy{registers[kRsp], longer_},
                   further_);
  if (further_.end != UnwindEnd::kComplete) return;
  std::swap(stack_, further_);
  copy_ = longer_;
}

NativeSampler::Program* NativeSampler::ProgramOf(pid_t pid, uint32_t* number) {
  const auto state = run_.tree.FindPid(pid);
  if (!state) return nullptr;
  *number = state->number;
  const auto at = programs_.find(state->number);
  Program& program =
      at == programs_.end() ? *NewProgram(pid, *state) : at->second;
  if (program.exec_ns != state->exec_ns) {
    program.exec_ns = state->exec_ns;
    program.copy_of = 0;
    program.looks_like_python = LooksLikePython(pid);
    program.started = false;
    program.interpreter.reset();
    program.code.Changed();
  }
  const PythonProcess* const python = PythonOf(state->number, program.exec_ns);
  if (python != nullptr && !program.interpreter) {
    const FoundPython& found = python->python();
    program.interpreter = Interpreter{
        .minor = found.layout.minor,
        .eval = found.eval,
        .library = found.file,
        .program = ::sonde::ProgramOf(pid),
        .notable = found.notable,
        .is_program = program.looks_like_python,
    };
    program.same_tids = OwnTid(pid, pid) == pid;
  }
  return &program;
}

// A copy of a known one is that, also if it has ended by now.
NativeSampler::Program* NativeSampler::NewProgram(
    pid_t pid, const ProcessTree::TaskState& state) {
  const auto parent = programs_.find(state.copy_of);
  if (parent == programs_.end()) {
    Program fresh(ProcessCode(pid, files_));
    fresh.looks_like_python = LooksLikePython(pid);
    fresh.exec_ns = state.exec_ns;
    return &programs_.emplace(state.number, std::move(fresh)).first->second;
  }
  Program copy(ProcessCode(pid, parent->second.code));
  copy.exec_ns = state.exec_ns;
  copy.copy_of = state.copy_of;
  copy.looks_like_python = parent->second.looks_like_python;
  copy.started = parent->second.started;
  return &programs_.emplace(state.number, std::move(copy)).first->second;
}

// Whether a Python has not come to its first function, with what merged_ says
// of it. Nobody wants to hear of that, and to name its functions takes time.
bool NativeSampler::Starts(Program& program, int64_t time_ns) const {
  if (!program.interpreter || !program.looks_like_python || program.started)
    return false;
  program.started =
      program.exec_ns == kNoTime || time_ns - program.exec_ns > kStartNs ||
      std::any_of(merged_.frames.begin(), merged_.frames.end(),
                  [](const MergedFrame& one) { return one.python; });
  return !program.started;
}

// Null if it runs none, or became another program since that was found.
PythonProcess* NativeSampler::PythonOf(uint32_t number, int64_t exec_ns) {
  const auto at = run_.pythons.find(number);
  return at != run_.pythons.end() && at->second.exec_ns == exec_ns
             ? &at->second.process
             : nullptr;
}

// Puts into frames_ what the thread was in, with its functions of Python. False
// if they may be of another moment, or some are missing.
bool NativeSampler::MergePython(const StackRecord& record,
                                const FrameWalker::Walk& walk, uint32_t number,
                                Program& program) {
  PythonThread python;
  bool exact = true;
  const Interpreter& interpreter = *program.interpreter;
  const auto tid = static_cast<pid_t>(record.tid);
  PythonProcess* const process = PythonOf(number, program.exec_ns);
  if (process != nullptr && walk.tid == tid) {
    python = process->NameFrames(walk.frames, walk.whole, walk.name_hash);
    // A copy that has ended had these functions from its parent.
    const auto parent = run_.pythons.find(program.copy_of);
    if (python.frames.empty() && parent != run_.pythons.end())
      python = parent->second.process.NameFrames(walk.frames, walk.whole,
                                                 walk.name_hash);
    exact = !python.approximate;
    // What a program runs once, as the start of its modules, is soon gone.
    if (!exact) young_until_ns_ = NowNs() + kYoungNs;
  } else if (process != nullptr) {
    const int64_t before_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
    auto read = process->Sample(
        {program.same_tids ? tid : OwnTid(program.code.pid(), tid)});
    if (read.ok() && !read.value().empty()) {
      python = std::move(read.Take().front());
      exact = process->CheckInnermost(WordsOf(record, python, interpreter),
                                      python) &&
              !python.approximate;
    }
    const int64_t cost_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    next_read_ns_ = NowNs() + cost_ns * kRestByReading;
  }
  MergeStacks(stack_, python.raw, interpreter, merged_);
  for (size_t i = merged_.frames.size(); i-- > 0;) {
    const MergedFrame& one = merged_.frames[i];
    if (!one.python)
      frames_.push_back(
          native_.Of(stack_.frames[one.index], number, program.code.pid()));
    else if (one.index < python.frames.size())
      frames_.push_back(FrameOf(run_.out, python.frames[one.index]));
  }
  return merged_.complete && exact;
}

// The thread's registers and the innermost part of its stack.
std::span<const uint64_t> NativeSampler::WordsOf(
    const StackRecord& record, const PythonThread& python,
    const Interpreter& interpreter) {
  words_.assign(record.registers->begin(), record.registers->end());
  const size_t part = InnermostPart(stack_, python.raw, interpreter);
  const uint64_t begin = RegistersOfPerf(*record.registers)[kRsp];
  const uint64_t top = part > 0 ? stack_.frames[part - 1].top : 0;
  const size_t count =
      std::min(copy_.size() / sizeof(uint64_t),
               top > begin ? (top - begin) / sizeof(uint64_t) : kFewWords);
  const size_t registers = words_.size();
  words_.resize(registers + count);
  if (count > 0)
    std::memcpy(words_.data() + registers, copy_.data(),
                count * sizeof(uint64_t));
  return words_;
}

void NativeSampler::Pause(bool paused) {
  if (rings_.empty()) return;
  if (paused) {
    Drain(NowNs());
    // Who ends meanwhile is not heard of in time.
    for (const auto& [number, walked] : walked_)
      for (const auto& [tid, state] : walked.states) walker_->Remove(tid);
    walked_.clear();
  } else {
    next_sync_ns_ = next_ask_ns_ = 0;
    SyncWalked(NowNs());
  }
  for (const PerfRing& ring : rings_)
    ::ioctl(ring.fd(), paused ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE,
            0);
  next_ns_ = paused ? INT64_MAX : NowNs() + every_ns_;
}

void NativeSampler::Stop(int64_t now_ns) {
  if (rings_.empty()) return;
  if (!run_.paused) Drain(now_ns);
  rings_.clear();
  walker_.reset();
  next_ns_ = INT64_MAX;
  native_.Name();
  if (lost_ == 0) return;
  Loss loss;
  loss.reason = "stack-samples";
  loss.detail = "samples of native stacks that were not read in time";
  loss.count = lost_;
  loss.from_ns = lost_from_ns_;
  loss.to_ns = lost_to_ns_;
  run_.out.AddLoss(loss);
}

std::vector<NotCollected> NativeSampler::not_collected() const {
  std::vector<NotCollected> out;
  if (!failed_.why.empty())
    out.push_back(Missing(kNativeSources[0], failed_.why, failed_.cure));
  if (!not_walked_.why.empty())
    out.push_back(
        Missing(kNativeSources[1], not_walked_.why, not_walked_.cure));
  if (!native_.unnamed().empty())
    out.push_back(
        Missing(kNativeSources[0], "names are missing: " + native_.unnamed()));
  return out;
}

extern const GathererInfo kNativeGatherer = {kNativeSources,
                                             Make<NativeSampler>};

}  // namespace sonde

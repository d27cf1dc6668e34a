#include "collect/sample/native_sampler.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "collect/perf/stack_record.h"
#include "collect/proc/proc_file.h"
#include "collect/stacks/python_finder.h"
#include "collect/tree/task_events.h"

namespace sonde {
namespace {

constexpr int64_t kMostSeldomNs = 50 * kNsPerMs;
// Samples of all CPUs together, 20 us each: on large machines each CPU has
// fewer.
constexpr double kMostPerSecond = 2000, kFewestHz = 10;
// Words of a stack in which the function of Python that ran is looked for,
// where it is not known which part of the stack is that function's.
constexpr size_t kFewWords = 128;
constexpr int64_t kRestByReading = 20;
// How long a Python may take to begin.
constexpr int64_t kStartNs = kNsPerSec;
constexpr size_t kMostOwed = 65536;
constexpr size_t kFurtherBytes = 64 << 10;

size_t MostEvents() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return MostStackEvents(limit.rlim_cur);
}

double HzFor(double wanted_hz) {
  const auto cpus = static_cast<double>(OnlineCpus().size());
  return std::min(wanted_hz, std::max(kFewestHz, kMostPerSecond / cpus));
}

constexpr SourceInfo kNativeSources[] = {
    {"native stacks", "where in their code native programs are",
     CheckStackEvents},
    {"exact Python stacks", "functions of Python at the moment of a sample",
     FrameWalker::Check}};

}  // namespace

NativeSampler::NativeSampler(SampledRun& run)
    : run_(run), hz_(HzFor(run.stacks_hz)), events_(hz_, MostEvents()) {
  fault_.function = run.out.Intern(kPageFault);
  fault_.file = run.out.Intern(kKernelFile);
  // Where the tree of a command is not followed by perf, perf was not wanted or
  // not allowed.
  if (run_.stacks_hz <= 0 || run_.stacks_by == StacksBy::kProc ||
      (run_.stacks_of == StacksOf::kCommand && run_.tree.source() != "perf"))
    return;
  if (run_.stacks_by != StacksBy::kPerf) {
    auto made = FrameWalker::Make();
    if (made.ok()) walker_ = made.Take();
  }
  if (const Status opened = Open(); !opened.ok()) {
    GiveUp(opened.error());
    return;
  }
  run_.native_stacks = true;
  if (run_.stacks_of != StacksOf::kCommand) counted_from_ns_ = INT64_MAX;
  period_ns_ = static_cast<int64_t>(1e9 / hz_);
  const auto records =
      static_cast<int64_t>(events_.rings()[0].bytes() / events_.record_bytes());
  if (every_ns_ != kMostOftenNs)
    every_ns_ =
        std::clamp(records / 2 * period_ns_, kMostOftenNs, kMostSeldomNs);
  run_.stacks_by = walker_ ? StacksBy::kBpf : StacksBy::kPerf;
  next_ns_ = NowNs() + every_ns_;
}

Status NativeSampler::Open() {
  TRY_OK(events_.OpenRings(walker_.has_value()));
  walks_.resize(events_.rings().size());
  TRY_OK(Attach(NowNs()));
  return Ok();
}

Status NativeSampler::Attach(int64_t now_ns) {
  const auto attach = [&]() -> Status {
    const auto& live = run_.tree.live();
    if (run_.stacks_of == StacksOf::kMachine)
      return events_.AttachMachine(walker());
    if (run_.stacks_of == StacksOf::kCommand) {
      if (live.empty())
        return Error{Error::Kind::kNotFound, "there is no process"};
      return events_.AttachCommand(live.begin()->second.pid, walker());
    }
    attached_changes_ = run_.tree.changes();
    if (events_.HasRoomFor(live)) events_.AttachRunning(live, now_ns, walker());
    if (events_.left_out() > 0) {
      const Error why = events_.TooMany();
      return events_.AttachMachine(walker()).ok() ? Ok() : Status(why);
    }
    if (!events_.attached() && events_.denied()) return *events_.denied();
    return Ok();
  };
  TRY_OK(attach());
  Charge();
  // Without it samples go on as before.
  if (walker_ && events_.not_walked()) DropWalker(*events_.not_walked());
  return Ok();
}

// Those that nobody attached inherits to: of a cgroup, or begun by a thread
// that was not attached yet.
void NativeSampler::AttachNew(int64_t now_ns) {
  if (run_.stacks_of != StacksOf::kRunning || events_.machine() ||
      (run_.tree.changes() == attached_changes_ && !events_.waits()))
    return;
  attached_changes_ = run_.tree.changes();
  events_.AttachRunning(run_.tree.live(), now_ns, walker());
  if (events_.left_out() > most_left_out_) {
    most_left_out_ = events_.left_out();
    too_many_ = events_.TooMany();
    if (events_.AttachMachine(walker()).ok()) too_many_.reset();
  }
  Charge();
}

void NativeSampler::GiveUp(const Error& why) {
  events_.Close();
  Charge();
  walker_.reset();
  failed_ = why.hint.empty() ? ExplainPerf(why)
                             : SourceState::Fails(why.what, why.hint);
  next_ns_ = INT64_MAX;
  run_.native_stacks = false;
}

// Other samplers keep files open: they get by with what is left.
void NativeSampler::Charge() {
  const size_t open = events_.count() + events_.rings().size();
  run_.budget.left += std::exchange(charged_, 0);
  charged_ = std::min(run_.budget.left, open);
  run_.budget.left -= charged_;
}

void NativeSampler::Poll(int64_t now_ns) {
  counted_from_ns_ = std::min(counted_from_ns_, now_ns);
  polled_ns_ = now_ns;
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
  for (const PerfRing& ring : events_.rings()) out.push_back(ring.fd());
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

// Who has begun, ended or become another program, of all CPUs before any
// sample of one: a sample may be of a program that began on another CPU.
void NativeSampler::HearRecords(int64_t now_ns) {
  heard_.clear();
  uint64_t lost = 0;  // counted when it is drained
  for (PerfRing& ring : events_.rings())
    ring.Peek([&](std::string_view record) {
      TaskRecord task;
      if (!ParseTaskRecord(record, &task, &lost)) return;
      task.time_ns += ring.offset_ns();
      heard_.push_back(task);
    });
  std::stable_sort(heard_.begin(), heard_.end(),
                   [](const TaskRecord& a, const TaskRecord& b) {
                     return a.time_ns < b.time_ns;
                   });
  for (const TaskRecord& one : heard_) {
    events_.Hear(one, now_ns);
    if (one.kind == TaskRecord::Kind::kExec)
      run_.tree.NoteExec(one.pid, one.time_ns,
                         {one.comm, ::strnlen(one.comm, sizeof(one.comm))});
  }
}

void NativeSampler::Drain(int64_t now_ns) {
  auto& rings = events_.rings();
  if (rings.empty()) return;
  const bool runs_already = run_.stacks_of != StacksOf::kCommand;
  if (runs_already) HearRecords(now_ns);
  // What the tree does not know yet has no number.
  run_.tree.Poll(now_ns);
  AttachNew(now_ns);
  SyncWalked(now_ns);
  const uint64_t before = lost_;
  for (size_t i = 0; i < rings.size(); ++i)
    lost_ += rings[i].Drain([&](std::string_view record) {
      if (walker_ && FrameWalker::Parse(record, walks_[i])) return;
      Take(record, rings[i].offset_ns(), walks_[i]);
      walks_[i].tid = 0;
    });
  if (lost_ == before) return;
  if (lost_from_ns_ == kNoTime) lost_from_ns_ = now_ns;
  lost_to_ns_ = now_ns;
}

void NativeSampler::Take(std::string_view bytes, int64_t offset_ns,
                         const FrameWalker::Walk& walk) {
  const auto record = ParseStackRecord(bytes, lost_);
  if (!record) return;
  if (run_.stacks_of == StacksOf::kRunning)
    events_.HearSample(static_cast<pid_t>(record->tid), NowNs());
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
  if (sample.time_ns < counted_from_ns_ || sample.time_ns > counted_to_ns_)
    return;
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
    run_.native.unwinder.Unwind(program->code, registers,
                                StackCopy{registers[kRsp], record->stack},
                                stack_);
    copy_ = record->stack;
    if (stack_.end == UnwindEnd::kEndOfCopy) UnwindFurther(*record, *program);
    frames_.clear();
    const bool whole = program->interpreter
                           ? MergePython(*record, walk, number, *program)
                           : stack_.end == UnwindEnd::kComplete;
    if (!program->interpreter)
      run_.native.frames.Put(stack_, number, program->code.pid(), frames_);
    if (Starts(*program, sample.time_ns)) return;
    // A function that makes system calls says by its name which.
    if (record->in_kernel && !CallsSystem(registers)) frames_.push_back(fault_);
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
                 memory.ReadUpTo(end, std::span(longer_).last(kFurtherBytes)));
  run_.native.unwinder.Unwind(program.code, registers,
                              StackCopy{registers[kRsp], longer_}, further_);
  if (further_.end != UnwindEnd::kComplete) return;
  std::swap(stack_, further_);
  copy_ = longer_;
}

// Whether the innermost function has made a system call. Most processors leave
// the place behind the call in rcx; else the call stands before that place.
bool NativeSampler::CallsSystem(const Registers& registers) {
  if (registers[kRcx] == registers[kRip]) return true;
  if (stack_.frames.empty() || stack_.frames[0].file == nullptr) return false;
  constexpr uint8_t kSyscall[] = {0x0f, 0x05};
  uint8_t code[sizeof(kSyscall)] = {};
  CodeFile& file = *stack_.frames[0].file;
  run_.native.files.KeepOpen(file);
  return file.Read(stack_.frames[0].address - sizeof(code), code) &&
         std::equal(std::begin(code), std::end(code), kSyscall);
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
  const auto* const python = PythonOf(state->number, program.exec_ns);
  if (python != nullptr && !program.interpreter) {
    program.interpreter = python->interpreter;
    program.same_tids = OwnTid(pid, pid) == pid;
  }
  return &program;
}

// A copy of a known one is that, also if it has ended by now.
NativeSampler::Program* NativeSampler::NewProgram(
    pid_t pid, const ProcessTree::TaskState& state) {
  const auto parent = programs_.find(state.copy_of);
  if (parent == programs_.end()) {
    Program fresh(ProcessCode(pid, run_.native.files));
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
SampledRun::Python* NativeSampler::PythonOf(uint32_t number, int64_t exec_ns) {
  const auto at = run_.pythons.find(number);
  return at != run_.pythons.end() && at->second.exec_ns == exec_ns ? &at->second
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
  auto* const known = PythonOf(number, program.exec_ns);
  PythonProcess* const process = known != nullptr ? &known->process : nullptr;
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
  run_.native.frames.Put(merged_, stack_, python.frames, number,
                         program.code.pid(), frames_);
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
  if (events_.rings().empty()) return;
  const int64_t now_ns = NowNs();
  // Events that are off tell of no fork, so those of threads are closed.
  const bool closes =
      run_.stacks_of == StacksOf::kRunning && !events_.machine();
  if (paused) {
    Drain(now_ns);
    // Who ends meanwhile is not heard of in time.
    for (const auto& [number, walked] : walked_)
      for (const auto& [tid, state] : walked.states) walker_->Remove(tid);
    walked_.clear();
    if (closes) events_.Detach();
  } else {
    next_sync_ns_ = next_ask_ns_ = 0;
    SyncWalked(now_ns);
    if (closes)
      if (const Status attached = Attach(now_ns); !attached.ok()) {
        run_.stacks_by = StacksBy::kProc;
        return GiveUp(attached.error());
      }
  }
  if (!closes) events_.Enable(!paused);
  Charge();
  next_ns_ = paused ? INT64_MAX : now_ns + every_ns_;
}

void NativeSampler::Stop(int64_t now_ns) {
  if (period_ns_ == 0) return;
  if (run_.stacks_of != StacksOf::kCommand) counted_to_ns_ = polled_ns_;
  if (!run_.paused) Drain(now_ns);
  events_.Close();
  walker_.reset();
  next_ns_ = INT64_MAX;
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
  for (const std::optional<Error>& some : {events_.denied(), too_many_})
    if (some && failed_.why.empty())
      out.push_back(Missing(kNativeSources[0], some->what, some->hint));
  if (!not_walked_.why.empty())
    out.push_back(
        Missing(kNativeSources[1], not_walked_.why, not_walked_.cure));
  if (!run_.native.frames.unnamed().empty())
    out.push_back(Missing(kNativeSources[0], "names are missing: " +
                                                 run_.native.frames.unnamed()));
  return out;
}

extern const GathererInfo kNativeGatherer = {kNativeSources,
                                             Make<NativeSampler>};

}  // namespace sonde

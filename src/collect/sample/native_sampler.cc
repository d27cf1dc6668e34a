#include "collect/sample/native_sampler.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "collect/perf/stack_record.h"
#include "collect/proc/process_files.h"
#include "collect/sample/stack_sampler.h"
#include "collect/symbols/code_names.h"
#include "collect/symbols/perf_map.h"

namespace sonde {
namespace {

#if defined(__x86_64__)
constexpr bool kUnwinds = true;
#else
constexpr bool kUnwinds = false;
#endif
// 256 KiB for each CPU, fewer where the user may lock no more.
constexpr size_t kPages = 64;
// A ring must hold so many samples.
constexpr size_t kFewestRecords = 2;
constexpr int64_t kMostSeldomNs = 100 * kNsPerMs;
constexpr int64_t kMostOftenNs = 5 * kNsPerMs;
// Whoever waits for the end of `sonde run` waits for the names, too.
constexpr NamingLimits kNaming = {.all_ns = 5 * kNsPerSec,
                                  .file_ns = 3 * kNsPerSec};
// Samples of all CPUs together, 20 us each: on large machines each CPU has
// fewer.
constexpr double kMostPerSecond = 2000, kFewestHz = 10;
constexpr int64_t kMostMapsNs = 2 * kNsPerSec;
// Places that are named; the others stay numbers.
constexpr size_t kMostPlaces = 200'000;

// With time in the kernel, if that is allowed.
Result<PerfRing> OpenRing(double hz, pid_t pid, int cpu, size_t pages,
                          bool* with_kernel) {
  if (*with_kernel) {
    auto ring =
        PerfRing::Open(StackAttr(hz, kPerfRegisters, true), pid, cpu, pages);
    if (ring.ok()) return ring;
    *with_kernel = false;
  }
  return PerfRing::Open(StackAttr(hz, kPerfRegisters, false), pid, cpu, pages);
}

// What the code is called that a process has compiled, where its functions have
// no names.
const char* CallMade(pid_t pid) {
  const std::string program = ProgramName(pid);
  if (program == "node" || program == "nodejs") return "JavaScript";
  if (program.starts_with("java")) return "compiled Java";
  if (program.starts_with("dotnet")) return "compiled .NET";
  return "code made at run time";
}

// Opens the event on ourselves, as `sonde run` does on the command.
SourceState CheckNative() {
  if (!kUnwinds)
    return SourceState::Fails("this build reads stacks on x86-64 only", "");
  bool kernel = true;
  const auto ring = OpenRing(199, ::getpid(), 0, 16, &kernel);
  if (!ring.ok()) return ExplainPerf(ring.error());
  return SourceState::Works(
      kernel ? "functions of native programs, by perf"
             : "functions of native programs, by perf; not their time in the "
               "kernel");
}

constexpr SourceInfo kNativeSources[] = {
    {"native stacks", "where in their code native programs are", CheckNative}};

}  // namespace

NativeSampler::NativeSampler(SampledRun& run)
    : run_(run),
      cpus_(OnlineCpus()),
      hz_(std::min(run.stacks_hz,
                   std::max(kFewestHz, kMostPerSecond / static_cast<double>(
                                                            cpus_.size())))) {
  // Where the tree is not followed by perf, perf was not wanted or not allowed.
  if (run_.stacks_hz <= 0 || run_.tree.source() != "perf") return;
  if (const Status opened = Open(); !opened.ok()) {
    rings_.clear();
    failed_ = ExplainPerf(opened.error());
    return;
  }
  run_.native_stacks = true;
  period_ns_ = static_cast<int64_t>(1e9 / hz_);
  const auto records =
      static_cast<int64_t>(rings_[0].bytes() / kStackRecordBytes);
  every_ns_ = std::clamp(records / 2 * period_ns_, kMostOftenNs, kMostSeldomNs);
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
  for (const int cpu : cpus_) {
    auto ring = OpenRing(hz_, root, cpu, kPages, &with_kernel);
    if (!ring.ok()) return ring.error();
    if (ring.value().bytes() < kFewestRecords * kStackRecordBytes)
      return Error{Error::Kind::kDenied,
                   "the user may not lock enough memory for samples"};
    rings_.push_back(ring.Take());
  }
  return Ok();
}

void NativeSampler::Poll(int64_t now_ns) {
  // A process whose end is known is asked nothing any more.
  std::erase_if(programs_, [&](const auto& one) {
    const auto state = run_.tree.FindNumber(one.first);
    return !state || (!state->alive && now_ns - state->end_ns > kNsPerSec);
  });
}

void NativeSampler::Look(int64_t now_ns) {
  if (now_ns < next_ns_) return;
  Drain(now_ns);
  next_ns_ = now_ns + every_ns_;
}

void NativeSampler::Drain(int64_t now_ns) {
  // What the tree does not know yet has no number.
  if (!rings_.empty()) run_.tree.Poll(now_ns);
  const uint64_t before = lost_;
  for (PerfRing& ring : rings_)
    lost_ += ring.Drain(
        [&](std::string_view record) { Take(record, ring.offset_ns()); });
  if (lost_ == before) return;
  if (lost_from_ns_ == kNoTime) lost_from_ns_ = now_ns;
  lost_to_ns_ = now_ns;
}

void NativeSampler::Take(std::string_view bytes, int64_t offset_ns) {
  const auto record = ParseStackRecord(bytes, lost_);
  if (!record) return;
  uint32_t number = 0;
  Program* const program = ProgramOf(static_cast<pid_t>(record->pid), &number);
  if (program == nullptr) return;
  Sample sample;
  sample.thread =
      run_.tree.FindThread(number, static_cast<pid_t>(record->tid)).number;
  if (sample.thread == 0 || run_.python_threads.contains(sample.thread) ||
      (program->python && record->pid == record->tid &&
       !run_.python_tried.contains(number)))
    return;
  sample.time_ns = record->time_ns + offset_ns;
  sample.weight_ns = static_cast<uint64_t>(period_ns_);
  if (record->registers) {
    const Registers registers = RegistersOfPerf(*record->registers);
    unwinder_.Unwind(program->code, registers,
                     StackCopy{registers[kRsp], record->stack}, stack_);
    frames_.clear();
    for (size_t i = stack_.frames.size(); i-- > 0;)
      frames_.push_back(FrameOf(stack_.frames[i], number, program->code.pid()));
    if (!frames_.empty()) sample.stack = run_.out.AddStack(frames_);
    if (stack_.end != UnwindEnd::kComplete)
      sample.flags |= Sample::kApproximate;
  }
  run_.out.AddSample(sample);
}

NativeSampler::Program* NativeSampler::ProgramOf(pid_t pid, uint32_t* number) {
  const auto state = run_.tree.FindPid(pid);
  if (!state) return nullptr;
  *number = state->number;
  const auto [at, fresh] = programs_.try_emplace(state->number, pid, files_);
  Program& program = at->second;
  if (fresh || program.exec_ns != state->exec_ns) {
    program.exec_ns = state->exec_ns;
    program.python = LooksLikePython(pid);
    program.code.Changed();
  }
  return &program;
}

StackFrame NativeSampler::FrameOf(const NativeFrame& native, uint32_t process,
                                  pid_t pid) {
  if (native.file == nullptr) return FrameOfMade(native, process, pid);
  StackFrame frame;
  frame.module = ModuleOf(*native.file);
  frame.offset = native.address - (native.is_return_address ? 1 : 0);
  const Place place(native.file->number(), frame.offset);
  if (places_.size() < kMostPlaces && !places_.contains(place))
    places_.emplace(place, run_.out.AddFrame(frame));
  return frame;
}

StackFrame NativeSampler::FrameOfMade(const NativeFrame& native,
                                      uint32_t process, pid_t pid) {
  const auto [at, fresh] = made_.try_emplace(process);
  Made& made = at->second;
  if (fresh) {
    made.pid = pid;
    made.own_pid = ParseOwnPid(ReadText(fmt::format("/proc/{}/status", pid)))
                       .value_or(pid);
    struct stat st = {};
    if (::stat(fmt::format("/proc/{}", pid).c_str(), &st) == 0)
      made.owner = st.st_uid;
    made.called = CallMade(pid);
    Module module;
    module.path =
        run_.out.Intern(fmt::format("/tmp/perf-{}.map", made.own_pid));
    made.module = run_.out.AddRow(module);
  }
  StackFrame frame;
  frame.module = made.module;
  frame.offset = native.pc - (native.is_return_address ? 1 : 0);
  if (made_places_ < kMostPlaces && !made.frames.contains(frame.offset)) {
    made.frames.emplace(frame.offset, run_.out.AddFrame(frame));
    ++made_places_;
  }
  return frame;
}

uint32_t NativeSampler::ModuleOf(const CodeFile& file) {
  const auto [at, fresh] = modules_.try_emplace(file.number());
  if (fresh) {
    Module module;
    module.path = run_.out.Intern(file.path());
    module.build_id = run_.out.Intern(file.build_id());
    at->second = run_.out.AddRow(module);
  }
  return at->second;
}

void NativeSampler::Pause(bool paused) {
  if (rings_.empty()) return;
  if (paused) Drain(NowNs());
  for (const PerfRing& ring : rings_)
    ::ioctl(ring.fd(), paused ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE,
            0);
  next_ns_ = paused ? INT64_MAX : NowNs() + every_ns_;
}

void NativeSampler::Stop(int64_t now_ns) {
  if (rings_.empty()) return;
  if (!run_.paused) Drain(now_ns);
  rings_.clear();
  next_ns_ = INT64_MAX;
  Name();
  NameMade();
  if (lost_ == 0) return;
  Loss loss;
  loss.reason = "stack-samples";
  loss.detail = "samples of native stacks that were not read in time";
  loss.count = lost_;
  loss.from_ns = lost_from_ns_;
  loss.to_ns = lost_to_ns_;
  run_.out.AddLoss(loss);
}

void NativeSampler::Name() {
  std::vector<CodeToName> wanted;
  std::vector<std::vector<uint32_t>> frames;
  std::vector<const CodeFile*> files;
  const CodeFile* last = nullptr;
  for (const auto& [place, frame] : places_) {
    CodeFile& file = *files_.all()[place.first];
    if (&file != last) {
      last = &file;
      files_.KeepOpen(file);
      CodeToName code;
      code.path = file.path();
      code.build_id = file.build_id();
      wanted.push_back(std::move(code));
      frames.emplace_back();
      files.push_back(&file);
    }
    wanted.back().addresses.push_back(place.second);
    frames.back().push_back(frame);
  }
  // Now that all were opened: to open one may have closed another.
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i].fd = files[i]->fd();
  const CodeNames names = NameCode(wanted, kNaming);
  naming_cpu_ns_ = names.cpu_ns;
  for (size_t i = 0; i < names.code.size(); ++i) {
    const NamedCode& code = names.code[i];
    if (!code.why_not.empty() && unnamed_.empty())
      unnamed_ = fmt::format("{}: {}", wanted[i].path, code.why_not);
    for (size_t k = 0; k < code.places.size(); ++k)
      AddNames(frames[i][k], code.places[k]);
  }
}

void NativeSampler::NameMade() {
  const int64_t until_ns = NowNs() + kMostMapsNs;
  for (const auto& [process, made] : made_) {
    std::optional<PerfMap> map;
    if (NowNs() < until_ns)
      map = PerfMap::Of(made.pid, made.own_pid, made.owner, started_ns_);
    else
      unnamed_ = "the maps of code made at run time took too long to read";
    for (const auto& [address, frame] : made.frames) {
      PlaceName name;
      if (map) name = map->At(address);
      if (name.function.empty()) name.function = made.called;
      AddNames(frame, {name});
    }
  }
}

void NativeSampler::AddNames(uint32_t frame,
                             const std::vector<PlaceName>& names) {
  for (size_t depth = 0; depth < names.size(); ++depth) {
    const PlaceName& name = names[depth];
    Symbol symbol;
    symbol.frame = frame;
    symbol.depth = static_cast<uint32_t>(depth);
    symbol.function = run_.out.Intern(name.function);
    symbol.file = run_.out.Intern(name.file);
    symbol.line = name.line;
    symbol.inlined = name.inlined ? 1 : 0;
    run_.out.AddSymbol(symbol);
  }
}

std::vector<NotCollected> NativeSampler::not_collected() const {
  std::vector<NotCollected> out;
  if (!failed_.why.empty())
    out.push_back(Missing(kNativeSources[0], failed_.why, failed_.cure));
  if (!unnamed_.empty())
    out.push_back(Missing(kNativeSources[0], "names are missing: " + unnamed_));
  return out;
}

extern const GathererInfo kNativeGatherer = {kNativeSources,
                                             Make<NativeSampler>};

}  // namespace sonde

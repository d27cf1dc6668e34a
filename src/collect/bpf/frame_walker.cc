#include "collect/bpf/frame_walker.h"

#include <fmt/format.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "collect/bpf/bpf_calls.h"
#include "collect/bpf/walk_format.h"
#include "collect/bpf/walker_code.h"
#include "collect/perf/perf_ring.h"

namespace sonde {
namespace {

static_assert(FrameWalker::kMostFrames == WALK_MOST_FRAMES);
static_assert(WALK_MAGIC != 0, "0 is what samples of stacks have there");

// The inode of the machine's first pid namespace, the same on all machines.
constexpr uint64_t kFirstPidNamespace = 0xEFFFFFFC;

constexpr uint64_t Word(uint8_t code, uint8_t to, uint8_t from, int32_t value) {
  return code | uint64_t{to} << 8 | uint64_t{from} << 12 |
         uint64_t{static_cast<uint32_t>(value)} << 32;
}

// Where a program names a map: its descriptor in two words.
void PutMap(std::span<uint64_t> words, int map) {
  const uint8_t to = words[0] >> 8 & 0xf;
  words[0] = Word(BPF_LD | BPF_DW | BPF_IMM, to, BPF_PSEUDO_MAP_FD, map);
  words[1] = 0;
}

// Goes on with the program in the slot, or lets the kernel write its sample.
Result<Fd> LoadStub(int slot) {
  uint64_t words[] = {Word(0, BPF_REG_2, 0, 0),
                      0,
                      Word(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0),
                      Word(BPF_JMP | BPF_CALL, 0, 0, BPF_FUNC_tail_call),
                      Word(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 1),
                      Word(BPF_JMP | BPF_EXIT, 0, 0, 0)};
  PutMap(words, slot);
  return LoadBpfProgram(words, "sonde_stub");
}

Result<Fd> MakeSlot() {
  return MakeBpfMap({.type = BPF_MAP_TYPE_PROG_ARRAY, .name = "sonde_slot"});
}

// The event by which a program writes to the ring of another one of its CPU.
perf_event_attr OutputAttr() {
  perf_event_attr attr = {};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_BPF_OUTPUT;
  attr.sample_period = 1;
  // As samples of stacks begin, so that either can be told from the other.
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = 1;
  attr.wakeup_watermark = 1 << 30;  // nobody is woken
  return attr;
}

Result<Fd> OpenOutput(int cpu) {
  Fd out = OpenPerfEvent(OutputAttr(), -1, cpu);
  if (out.valid()) return out;
  // Of perf's errors this is the one for missing rights.
  return BpfError("perf event of a CPU", errno == EACCES ? EPERM : errno);
}

// The maps that the walker uses, and the walker.
struct Loaded {
  Fd settings, threads, scratch, output, walker;
};

Status SetSettings(int map) {
  struct stat st = {};
  if (::stat("/proc/self/ns/pid", &st) != 0)
    return ErrnoError("/proc/self/ns/pid", errno);
  WalkSettings settings = {};
  settings.by_kernel = st.st_ino == kFirstPidNamespace ? 1 : 0;
  // As the kernel writes a device's number, which programs see packed
  // otherwise.
  settings.namespace_device =
      uint64_t{major(st.st_dev)} << 20 | uint64_t{minor(st.st_dev)};
  settings.namespace_inode = st.st_ino;
  const uint32_t zero = 0;
  return SetInBpfMap(map, &zero, &settings);
}

Result<Loaded> LoadWalker(uint32_t cpus) {
  Loaded out;
  TRY(out.settings, MakeBpfMap({.type = BPF_MAP_TYPE_ARRAY,
                                .value_bytes = sizeof(WalkSettings),
                                .name = "sonde_settings"}));
  TRY_OK(SetSettings(out.settings.get()));
  TRY(out.threads, MakeBpfMap({.type = BPF_MAP_TYPE_HASH,
                               .value_bytes = sizeof(WalkedThread),
                               .entries = FrameWalker::kMostThreads,
                               .name = "sonde_threads"}));
  TRY(out.scratch, MakeBpfMap({.type = BPF_MAP_TYPE_PERCPU_ARRAY,
                               .value_bytes = sizeof(WalkScratch),
                               .name = "sonde_scratch"}));
  TRY(out.output, MakeBpfMap({.type = BPF_MAP_TYPE_PERF_EVENT_ARRAY,
                              .entries = cpus,
                              .name = "sonde_output"}));
  const std::pair<std::string_view, int> maps[] = {
      {"settings", out.settings.get()},
      {"threads", out.threads.get()},
      {"scratch", out.scratch.get()},
      {"output", out.output.get()}};
  const auto code = WalkerInstructions();
  std::vector<uint64_t> words(code.begin(), code.end());
  for (const MapReference& use : WalkerReferences()) {
    const auto* const map =
        std::find_if(std::begin(maps), std::end(maps),
                     [&](const auto& one) { return one.first == use.map; });
    CHECK(map != std::end(maps));
    PutMap(std::span(words).subspan(use.instruction, 2), map->second);
  }
  TRY(out.walker, LoadBpfProgram(words, "sonde_walker"));
  return out;
}

// Nothing if frames of this layout are not as the walker takes them.
bool SetOffsets(const PythonLayout& layout, WalkedThread& out) {
  out.frame = layout.frame;
  out.cframe = layout.cframe;
  out.has_cframe = layout.has_cframe ? 1 : 0;
  out.cframe_frame = layout.cframe_frame;
  out.previous = layout.previous;
  out.code = layout.code;
  out.instruction = layout.instruction;
  out.owner = layout.owner;
  out.entry = layout.entry;
  out.name = layout.plain_name;
  out.owner_mask = layout.owner != 0 ? 0xff : 0;
  out.entry_mask = layout.entry != 0 ? 1 : 0;
  const bool pointer = layout.bytecode != 0;
  out.instruction_mask = pointer ? UINT64_MAX : UINT32_MAX;
  out.frame_bytes = std::max({layout.previous + 8, layout.code + 8,
                              layout.instruction + (pointer ? 8 : 4),
                              layout.owner + 1, layout.entry + 1});
  return (layout.previous | layout.code | layout.instruction) % 8 == 0 &&
         out.frame_bytes < WALK_FRAME_BYTES &&
         !(layout.has_cframe && layout.cframe == 0);
}

// Takes fields off the front of a record.
template <typename T>
bool Take(std::string_view& bytes, T& out) {
  if (bytes.size() < sizeof(T)) return false;
  std::memcpy(&out, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return true;
}

}  // namespace

SourceState FrameWalker::Check() {
  const auto load = []() -> Status {
    TRY(const Fd slot, MakeSlot());
    TRY(const Fd stub, LoadStub(slot.get()));
    TRY(const Loaded loaded, LoadWalker(1));
    TRY(const Fd output, OpenOutput(OnlineCpus().front()));
    return Ok();
  };
  const Status status = load();
  if (status.ok()) return SourceState::Works("by a BPF program");
  return SourceState::Fails(status.error().what, status.error().hint);
}

Result<FrameWalker> FrameWalker::Make() {
  FrameWalker out;
  TRY(out.slot_, MakeSlot());
  TRY(out.stub_, LoadStub(out.slot_.get()));
  return out;
}

Status FrameWalker::Attach(std::span<const int> event_fds) {
  for (const int fd : event_fds)
    if (::ioctl(fd, PERF_EVENT_IOC_SET_BPF, stub_.get()) != 0)
      return BpfError("BPF program of a perf event", errno);
  return Ok();
}

Status FrameWalker::Load(std::span<const int> ring_fds,
                         std::span<const int> cpus) {
  CHECK(!loaded() && ring_fds.size() == cpus.size() && !cpus.empty());
  const int last = *std::max_element(cpus.begin(), cpus.end());
  TRY(Loaded loaded, LoadWalker(static_cast<uint32_t>(last) + 1));
  std::vector<Fd> outputs;
  for (size_t i = 0; i < cpus.size(); ++i) {
    TRY(Fd output, OpenOutput(cpus[i]));
    if (::ioctl(output.get(), PERF_EVENT_IOC_SET_OUTPUT, ring_fds[i]) != 0)
      return BpfError("ring of a perf event", errno);
    const int fd = output.get();
    TRY_OK(SetInBpfMap(loaded.output.get(), &cpus[i], &fd));
    outputs.push_back(std::move(output));
  }
  const uint32_t zero = 0;
  const int walker = loaded.walker.get();
  TRY_OK(SetInBpfMap(slot_.get(), &zero, &walker));
  threads_ = std::move(loaded.threads);
  output_ = std::move(loaded.output);
  outputs_ = std::move(outputs);
  walker_ = std::move(loaded.walker);
  return Ok();
}

Status FrameWalker::Put(pid_t tid, uint64_t thread_state,
                        const PythonLayout& layout) {
  CHECK(loaded());
  WalkedThread thread = {};
  thread.thread_state = thread_state;
  if (!SetOffsets(layout, thread))
    return Error{Error::Kind::kUnsupported,
                 fmt::format("thread {}: frames of Python 3.{} that cannot be "
                             "walked in the kernel",
                             tid, layout.minor)};
  return SetInBpfMap(threads_.get(), &tid, &thread);
}

void FrameWalker::Remove(pid_t tid) {
  if (loaded()) DropFromBpfMap(threads_.get(), &tid);
}

bool FrameWalker::Parse(std::string_view record, Walk& out) {
  perf_event_header header = {};
  uint32_t pid = 0, tid = 0, size = 0, magic = 0, count = 0, flags = 0;
  uint64_t time = 0;
  if (!Take(record, header) || header.type != PERF_RECORD_SAMPLE ||
      !Take(record, pid) || !Take(record, tid) || !Take(record, time) ||
      !Take(record, size) || size != record.size() || !Take(record, magic) ||
      magic != WALK_MAGIC || !Take(record, count) || !Take(record, flags) ||
      !Take(record, out.cframe) || !Take(record, out.name_hash))
    return false;
  if (tid > INT32_MAX || time > INT64_MAX || count > WALK_MOST_FRAMES ||
      record.size() != count * sizeof(WalkedFrame))
    return false;
  out.tid = static_cast<pid_t>(tid);
  out.time_ns = static_cast<int64_t>(time);
  out.whole = (flags & WALK_WHOLE) != 0;
  out.frames.clear();
  for (WalkedFrame one; Take(record, one);)
    out.frames.push_back({.address = one.address,
                          .code = one.code & ~uint64_t{WALK_BITS},
                          .instruction = one.instruction,
                          .shim = (one.code & WALK_SHIM) != 0,
                          .entry = (one.code & WALK_ENTRY) != 0});
  return true;
}

}  // namespace sonde

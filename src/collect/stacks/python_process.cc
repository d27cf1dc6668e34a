#include "collect/stacks/python_process.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time.h"
#include "collect/proc/proc_file.h"
#include "collect/proc/process_files.h"

namespace sonde {
namespace {

constexpr int kWalks = 6;
// Who samples has other things to do: 30 ms at most.
constexpr uint64_t kMostSampledBytes = 32 << 20;
constexpr size_t kMostWindowBytes = 256 << 10;
// Frames of these owners and above are the interpreter's own, made at each call
// of Python from C.
constexpr uint8_t kFirstShimOwner = 3;
constexpr uint8_t kMostOwner = 7;
// The lowest bits of a pointer to an object may hold a tag, from 3.14 on.
constexpr uint64_t kTagMask = ~uint64_t{7};
// glibc's struct pthread, at which a pthread_t points: itself and the tid.
constexpr size_t kPthreadSelf = 16, kPthreadTid = 720;

// Whether two walks found the same calls; only the innermost may have gone on
// to another instruction.
template <typename Stack>
bool Same(const Stack& a, const Stack& b) {
  return std::equal(
      a.frames.begin(), a.frames.end(), b.frames.begin(), b.frames.end(),
      [&](const auto& x, const auto& y) {
        return x.address == y.address && x.code == y.code &&
               (&x == a.frames.data() || x.instruction == y.instruction);
      });
}

}  // namespace

std::optional<PythonProcess::Identity> PythonProcess::IdentityOf(pid_t pid) {
  const std::string text = ReadText(fmt::format("/proc/{}/stat", pid));
  const auto stat = ParseProcessStat(text);
  if (!stat) return std::nullopt;
  return Identity{stat->start_ticks, stat->start_stack};
}

Result<PythonProcess> PythonProcess::Find(pid_t pid) {
  const auto identity = IdentityOf(pid);
  ProcessMemory memory(pid);
  TRY(FoundPython python, FindPython(memory));
  PythonProcess out(memory, std::move(python));
  out.identity_ = identity;
  return out;
}

Result<PythonProcess> PythonProcess::InCopy(pid_t pid) const {
  PythonProcess out(ProcessMemory(pid), python_);
  out.identity_ = IdentityOf(pid);
  // The kernel puts the stack of each program elsewhere.
  if (!out.identity_ || !identity_ ||
      out.identity_->start_stack != identity_->start_stack)
    return out.Gone();
  return out;
}

bool PythonProcess::IsGone() const {
  return identity_ && IdentityOf(memory_.pid()) != identity_;
}

Error PythonProcess::Gone() const {
  return {Error::Kind::kNotFound,
          fmt::format("process {}: ended while it was read", memory_.pid())};
}

template <typename Take>
bool PythonProcess::ForEachThread(Take take) {
  const PythonLayout& at = python_.layout;
  bool complete = true;
  auto interpreter = memory_.Word(python_.runtime + at.interpreters);
  for (size_t i = 0; interpreter && *interpreter != 0; ++i) {
    if (i == kMostInterpreters) return false;
    auto thread = memory_.Word(*interpreter + at.threads);
    for (size_t k = 0; thread && *thread != 0 && k < kMostThreads; ++k) {
      PythonThread one;
      uint64_t next = 0;
      if (!ReadThread(*thread, one, &next)) break;
      if (!take(*interpreter, *thread, std::move(one))) return false;
      thread = next;
    }
    complete &= thread && *thread == 0;
    interpreter = memory_.Word(*interpreter + at.interpreter_next);
  }
  return complete && interpreter.has_value();
}

Result<PythonProcess::Stacks> PythonProcess::ReadStacks() {
  memory_.StartOver();
  frames_left_ = kMostFrames;
  if (!memory_.Word(python_.runtime + python_.layout.interpreters))
    return Gone();
  Stacks out;
  uint64_t last = 0, holder = 0;
  out.complete = ForEachThread(
      [&](uint64_t interpreter, uint64_t address, PythonThread&& thread) {
        if (interpreter != last) holder = GilHolder(interpreter);
        last = interpreter;
        thread.holds_gil = address == holder;
        ReadFrames(address, thread);
        frames_left_ -= std::min(frames_left_, thread.frames.size());
        out.threads.push_back(std::move(thread));
        return out.threads.size() < kMostThreads && frames_left_ > 0;
      });
  if (IsGone()) return Gone();
  return out;
}

Result<std::vector<PythonThread>> PythonProcess::Sample(
    const std::vector<pid_t>& own_tids) {
  constexpr int64_t kListAgainNs = 20 * kNsPerMs;
  memory_.StartOver(kMostSampledBytes);
  frames_left_ = kMostFrames;
  const int64_t now_ns = NowNs();
  std::vector<PythonThread> out;
  std::vector<bool> done(own_tids.size());
  bool doubt = now_ns - checked_ns_ >= kNsPerSec;
  for (const bool listed : {false, true}) {
    // Those that were not known, once more.
    bool fresh = false, strange = false;
    for (size_t i = 0; i < own_tids.size(); ++i) {
      if (done[i]) continue;
      const pid_t tid = own_tids[i];
      PythonThread thread;
      const auto known = known_.find(tid);
      if (known != known_.end() && known->second.address == 0) {
        strange = true;
      } else if (known != known_.end() && SampleThread(tid, thread)) {
        frames_left_ -= std::min(frames_left_, thread.frames.size());
        out.push_back(std::move(thread));
        done[i] = true;
      } else {
        doubt = fresh = true;
      }
    }
    const int64_t since_ns = now_ns - listed_ns_;
    if (listed || !((fresh && since_ns >= kListAgainNs) ||
                    (strange && since_ns >= kNsPerSec)))
      break;
    ListThreads(own_tids, now_ns);
  }
  if (doubt) {
    if (IsGone()) return Gone();
    checked_ns_ = now_ns;
  }
  return out;
}

PythonThread PythonProcess::NameFrames(std::vector<RawPythonFrame> raw,
                                       bool whole, uint64_t name_hash) {
  memory_.StartOver(kMostSampledBytes);
  frames_left_ = kMostFrames;
  PythonThread out;
  RawStack stack{std::move(raw), whole};
  // Samples come in bunches.
  out.approximate =
      !Resolve(stack, codes_, out.frames, NowNs() - 5 * kNsPerMs) || !whole;
  out.raw = std::move(stack.frames);
  const auto first =
      std::find_if(out.raw.begin(), out.raw.end(),
                   [](const RawPythonFrame& one) { return !one.shim; });
  if (out.frames.empty() || first == out.raw.end()) return out;
  const PythonCode* const code = codes_.Known(first->code);
  if (code != nullptr && code->name_hash == name_hash) return out;
  out.approximate = true;
  out.frames.erase(out.frames.begin());
  // Its call of the interpreter, if it was one, ends with the next.
  if (first->entry && first + 1 != out.raw.end()) first[1].entry = true;
  out.raw.erase(first);
  return out;
}

// Where the states of all threads are, and which of `own_tids` have none.
void PythonProcess::ListThreads(const std::vector<pid_t>& own_tids,
                                int64_t now_ns) {
  listed_ns_ = now_ns;
  known_.clear();
  ForEachThread(
      [&](uint64_t interpreter, uint64_t address, const PythonThread& thread) {
        // Of a thread with states in several interpreters, the one in the
        // oldest.
        if (thread.own_tid != 0)
          known_.insert_or_assign(thread.own_tid, Known{interpreter, address});
        return known_.size() < kMostThreads;
      });
  for (const pid_t tid : own_tids) known_.try_emplace(tid);
}

std::vector<PythonProcess::ThreadAddress> PythonProcess::ThreadAddresses() {
  memory_.StartOver(kMostSampledBytes);
  std::unordered_map<pid_t, uint64_t> states;
  size_t count = 0;
  ForEachThread([&](uint64_t, uint64_t address, const PythonThread& thread) {
    if (thread.own_tid != 0) states.insert_or_assign(thread.own_tid, address);
    return ++count < kMostThreads;
  });
  std::vector<ThreadAddress> out;
  for (const auto& [own_tid, state] : states) out.push_back({own_tid, state});
  return out;
}

// False if the state of the thread is no longer where it was.
bool PythonProcess::SampleThread(pid_t own_tid, PythonThread& out) {
  const Known& known = known_.at(own_tid);
  uint64_t next = 0, previous = 0;
  if (!ReadThread(known.address, out, &next, &previous) ||
      out.own_tid != own_tid)
    return false;
  // One that was given up has been taken out of the list.
  const PythonLayout& at = python_.layout;
  if (memory_.Word(previous != 0
                       ? previous + at.thread_next
                       : known.interpreter + at.threads) != known.address)
    return false;
  RawStack raw = Walk(known.address);
  const bool named = Resolve(raw, codes_, out.frames);
  out.approximate = !named || !raw.whole || !Same(raw, Walk(known.address));
  out.raw = std::move(raw.frames);
  return true;
}

// The thread state that has the GIL; 0 if nobody has.
uint64_t PythonProcess::GilHolder(uint64_t interpreter) {
  const PythonLayout& at = python_.layout;
  uint64_t gil = python_.runtime;
  if (at.gil != 0) gil = memory_.Word(interpreter + at.gil).value_or(0);
  uint8_t locked[4];
  if (gil == 0 || memory_.Read(gil + at.gil_locked, locked) != 0 ||
      FieldAt<int32_t>(locked, 0) != 1)
    return 0;
  return memory_.Word(gil + at.gil_holder).value_or(0);
}

// False if there is no thread state at `address`.
bool PythonProcess::ReadThread(uint64_t address, PythonThread& out,
                               uint64_t* next, uint64_t* previous) {
  const PythonLayout& at = python_.layout;
  uint8_t buffer[PythonLayout::kMostThreadBytes];
  const std::span<uint8_t> bytes(buffer, at.thread_bytes);
  if (memory_.Read(address, bytes) != 0) return false;
  *next = FieldAt<uint64_t>(bytes, at.thread_next);
  if (previous != nullptr)
    *previous = FieldAt<uint64_t>(bytes, at.thread_previous);
  out.ident = FieldAt<uint64_t>(bytes, at.ident);
  const uint64_t native =
      at.native_id != 0 ? FieldAt<uint64_t>(bytes, at.native_id) : 0;
  out.own_tid = native > 0 && native <= INT32_MAX ? static_cast<pid_t>(native)
                                                  : TidOfIdent(out.ident);
  return true;
}

// Until the same frames are found before and after their names are read.
void PythonProcess::ReadFrames(uint64_t thread, PythonThread& out) {
  RawStack before = Walk(thread);
  for (int i = 1;; ++i) {
    PythonCodes codes;
    const bool named = Resolve(before, codes, out.frames);
    out.raw = before.frames;
    RawStack after = Walk(thread);
    const auto depth = static_cast<size_t>(
        std::count_if(before.frames.begin(), before.frames.end(),
                      [](const RawPythonFrame& one) { return !one.shim; }));
    out.cut = depth >= kMostDepth || (named && out.frames.size() < depth);
    const bool whole = before.whole || depth >= kMostDepth;
    out.approximate = !(Same(before, after) && named && whole);
    if (!out.approximate || i == kWalks) break;
    before = std::move(after);
  }
}

// 3.8 to 3.10 know a thread only by its pthread_t. glibc has the tid behind
// that; where something else lies there, the tid stays unknown.
pid_t PythonProcess::TidOfIdent(uint64_t ident) {
  uint8_t tid[4];
  if (memory_.Word(ident + kPthreadSelf) != ident ||
      memory_.Read(ident + kPthreadTid, tid) != 0)
    return 0;
  return std::max(FieldAt<int32_t>(tid, 0), 0);
}

// The innermost frame. From 3.11 on most frames of a thread lie in one block of
// memory: a copy of that is almost of one moment, and one system call.
std::optional<uint64_t> PythonProcess::FirstFrame(uint64_t thread,
                                                  Window& window) {
  const PythonLayout& at = python_.layout;
  uint8_t first[8], chunk[24] = {};  // begin, top, end
  const ProcessMemory::Piece pieces[] = {
      {thread + at.frame, first},
      {thread + at.stack_chunk,
       at.stack_chunk != 0 ? std::span<uint8_t>(chunk) : std::span<uint8_t>()}};
  if (memory_.ReadPieces(pieces) != 0) return std::nullopt;
  std::optional<uint64_t> frame = FieldAt<uint64_t>(first, 0);
  if (at.has_cframe && *frame != 0)
    frame = memory_.Word(*frame + at.cframe_frame);
  if (!frame || *frame == 0) return frame;
  const uint64_t begin = FieldAt<uint64_t>(chunk, 0);
  const uint64_t top = FieldAt<uint64_t>(chunk, 8);
  const uint64_t end = FieldAt<uint64_t>(chunk, 16);
  if (begin == 0 || top <= begin || top > end || end - begin > INT32_MAX)
    return frame;
  // A little more than is in use: a call may have come meanwhile.
  constexpr uint64_t kMore = 1024;
  const uint64_t size = std::min(top - begin + kMore, end - begin);
  if (size > kMostWindowBytes) return frame;
  window.bytes.resize(size);
  if (memory_.Read(begin, window.bytes) == 0)
    window.begin = begin;
  else
    window.bytes.clear();
  return frame;
}

PythonProcess::RawStack PythonProcess::Walk(uint64_t thread) {
  const PythonLayout& at = python_.layout;
  RawStack out;
  Window window;
  auto next = FirstFrame(thread, window);
  // Shims do not count, and a ring of shims must end too.
  size_t depth = 0;
  for (size_t i = 0; next && i < 2 * kMostDepth; ++i) {
    if (*next == 0) {
      out.whole = true;
      break;
    }
    if (depth == kMostDepth) break;
    uint8_t buffer[PythonLayout::kMostFrameBytes];
    std::span<const uint8_t> bytes(buffer, at.frame_bytes);
    const uint64_t offset = *next - window.begin;
    if (window.bytes.size() >= at.frame_bytes &&
        offset <= window.bytes.size() - at.frame_bytes)
      bytes = std::span(window.bytes).subspan(offset, at.frame_bytes);
    else if (memory_.Read(*next, {buffer, at.frame_bytes}) != 0)
      break;
    const uint8_t owner = at.owner != 0 ? bytes[at.owner] : 0;
    if (owner > kMostOwner) break;  // no frame any more
    RawPythonFrame frame;
    frame.address = *next;
    frame.shim = owner >= kFirstShimOwner;
    if (!frame.shim) {
      ++depth;
      frame.code = FieldAt<uint64_t>(bytes, at.code) & kTagMask;
      frame.instruction = at.bytecode != 0
                              ? FieldAt<uint64_t>(bytes, at.instruction)
                              : FieldAt<uint32_t>(bytes, at.instruction);
      frame.entry = at.entry != 0 && bytes[at.entry] != 0;
    }
    out.frames.push_back(frame);
    next = FieldAt<uint64_t>(bytes, at.previous);
  }
  return out;
}

// False if one of the frames runs what is no code; `out` then has the frames
// that were called from there, directly or not.
bool PythonProcess::Resolve(const RawStack& raw, PythonCodes& codes,
                            std::vector<PythonFrame>& out, int64_t since_ns) {
  out.clear();
  addresses_.clear();
  for (const RawPythonFrame& frame : raw.frames)
    if (!frame.shim && addresses_.size() < frames_left_)
      addresses_.push_back(frame.code);
  const auto& found = codes.Find(memory_, python_, addresses_, since_ns);
  auto frame = raw.frames.begin();
  for (const PythonCode* const code : found) {
    while (frame->shim) ++frame;
    if (code == nullptr) return false;
    out.push_back(
        {code->function, code->file,
         code->LineOf(python_.layout, frame->code, frame->instruction)});
    ++frame;
  }
  return true;
}

bool PythonProcess::CheckInnermost(std::span<const uint64_t> words,
                                   PythonThread& thread) {
  const auto is_call = [](const RawPythonFrame& one) { return !one.shim; };
  const auto first =
      std::find_if(thread.raw.begin(), thread.raw.end(), is_call);
  if (first == thread.raw.end() || thread.frames.empty()) return false;
  const PythonCode* const read = codes_.Known(first->code);
  if (read != nullptr &&
      std::any_of(words.begin(), words.end(), [&](uint64_t word) {
        return word - read->instructions_at < read->instructions_bytes;
      })) {
    if (seen_.size() >= kMostSeen) seen_.clear();
    if (!thread.approximate && thread.raw.size() <= kMostSeenFrames)
      seen_[{thread.own_tid, first->code}] = thread;
    return true;
  }
  thread.approximate = true;
  const auto ran = FindRunning(words);
  if (!ran) return false;
  const auto caller = std::find_if(
      first, thread.raw.end(),
      [&](const RawPythonFrame& one) { return one.code == ran->code; });
  if (caller != thread.raw.end()) {
    const auto gone = std::count_if(thread.raw.begin(), caller, is_call);
    if (static_cast<size_t>(gone) >= thread.frames.size()) return false;
    thread.frames.erase(thread.frames.begin(), thread.frames.begin() + gone);
    thread.raw.erase(thread.raw.begin(), caller);
    return false;
  }
  if (const auto seen = seen_.find({thread.own_tid, ran->code});
      seen != seen_.end()) {
    thread.raw = seen->second.raw;
    thread.frames = seen->second.frames;
  } else {
    first->code = ran->code;
    first->instruction = ran->instruction;
  }
  const PythonCode& code = *codes_.Known(ran->code);
  thread.frames.front() = {
      code.function, code.file,
      python_.layout.bytecode != 0
          ? code.LineOf(python_.layout, ran->code, ran->instruction)
          : 0};
  return false;
}

// The code that the first of these words points into, and the instruction.
std::optional<RawPythonFrame> PythonProcess::FindRunning(
    std::span<const uint64_t> words) {
  for (const uint64_t word : words) {
    const PythonCodes::Found found = codes_.WithInstruction(word);
    if (found.code == nullptr) continue;
    RawPythonFrame frame;
    frame.code = found.address;
    // It points behind the instruction that is executed.
    frame.instruction = std::max(word - 2, found.code->instructions_at);
    // Another object may be there by now.
    const uint64_t instructions = found.code->instructions_at;
    addresses_.assign(1, found.address);
    const PythonCode* const now =
        codes_.Find(memory_, python_, addresses_).front();
    if (now == nullptr || now->instructions_at != instructions)
      return std::nullopt;
    return frame;
  }
  return std::nullopt;
}

}  // namespace sonde

#include "collect/stacks/python_process.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "collect/proc/proc_file.h"
#include "collect/proc/process_files.h"

namespace sonde {
namespace {

constexpr int kWalks = 6;
constexpr size_t kMostWindowBytes = 256 << 10;
constexpr size_t kMostLineBytes = 1 << 20;
constexpr size_t kMostNameChars = 200;
constexpr size_t kMostFileChars = 1024;
// Frames of these owners and above are the interpreter's own, made at each call
// of Python from C.
constexpr uint8_t kFirstShimOwner = 3;
constexpr uint8_t kMostOwner = 7;
// The lowest bits of a pointer to an object may hold a tag, from 3.14 on.
constexpr uint64_t kTagMask = ~uint64_t{7};
// PyObject: its type, and the length of a str or bytes and where bytes begin.
constexpr size_t kObjectType = 8, kObjectLength = 16, kBytesData = 32;
constexpr size_t kTextHash = 24, kTextState = 32, kTextHead = 40;
// glibc's struct pthread, at which a pthread_t points: itself and the tid.
constexpr size_t kPthreadSelf = 16, kPthreadTid = 720;

void AppendUtf8(uint32_t c, std::string& out) {
  const auto low = [&](int shift) {
    return static_cast<char>(0x80 | (c >> shift & 0x3f));
  };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += {static_cast<char>(0xc0 | c >> 6), low(0)};
  } else if (c < 0x10000) {
    out += {static_cast<char>(0xe0 | c >> 12), low(6), low(0)};
  } else if (c < 0x110000) {
    out += {static_cast<char>(0xf0 | c >> 18), low(12), low(6), low(0)};
  }
}

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

Result<PythonProcess::Stacks> PythonProcess::ReadStacks() {
  return ReadAll(nullptr);
}

Result<PythonProcess::Stacks> PythonProcess::Sample(
    const std::vector<pid_t>& own_tids) {
  return ReadAll(&own_tids);
}

Result<PythonProcess::Stacks> PythonProcess::ReadAll(
    const std::vector<pid_t>* own_tids) {
  // Who samples has other things to do: 30 ms at most.
  constexpr uint64_t kMostSampled = 32 << 20;
  memory_.StartOver(own_tids == nullptr ? ProcessMemory::kMostBytes
                                        : kMostSampled);
  frames_left_ = kMostFrames;
  Stacks out;
  const PythonLayout& at = python_.layout;
  auto interpreter = memory_.Word(python_.runtime + at.interpreters);
  const bool gone = !interpreter;
  for (size_t i = 0; interpreter && *interpreter != 0; ++i) {
    if (i == kMostInterpreters) {
      out.complete = false;
      break;
    }
    const uint64_t holder = GilHolder(*interpreter);
    auto thread = memory_.Word(*interpreter + at.threads);
    while (thread && *thread != 0 && out.threads.size() < kMostThreads &&
           frames_left_ > 0) {
      PythonThread one;
      uint64_t next = 0;
      if (!ReadThread(*thread, own_tids, one, &next)) break;
      one.holds_gil = *thread == holder;
      out.threads.push_back(std::move(one));
      thread = next;
    }
    if (!thread || *thread != 0) out.complete = false;
    interpreter = memory_.Word(*interpreter + at.interpreter_next);
  }
  if (!interpreter) out.complete = false;
  if (gone || (identity_ && IdentityOf(memory_.pid()) != identity_))
    return Error{
        Error::Kind::kNotFound,
        fmt::format("process {}: ended while it was read", memory_.pid())};
  return out;
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
bool PythonProcess::ReadThread(uint64_t address,
                               const std::vector<pid_t>* own_tids,
                               PythonThread& out, uint64_t* next) {
  const PythonLayout& at = python_.layout;
  uint8_t buffer[PythonLayout::kMostThreadBytes];
  const std::span<uint8_t> bytes(buffer, at.thread_bytes);
  if (memory_.Read(address, bytes) != 0) return false;
  *next = FieldAt<uint64_t>(bytes, at.thread_next);
  out.ident = FieldAt<uint64_t>(bytes, at.ident);
  const uint64_t native =
      at.native_id != 0 ? FieldAt<uint64_t>(bytes, at.native_id) : 0;
  out.own_tid = native > 0 && native <= INT32_MAX ? static_cast<pid_t>(native)
                                                  : TidOfIdent(out.ident);
  if (own_tids == nullptr)
    ReadFrames(address, out);
  else if (std::binary_search(own_tids->begin(), own_tids->end(), out.own_tid))
    SampleFrames(address, out);
  frames_left_ -= std::min(frames_left_, out.frames.size());
  return true;
}

// Until the same frames are found before and after their names are read.
void PythonProcess::ReadFrames(uint64_t thread, PythonThread& out) {
  RawStack before = Walk(thread);
  for (int i = 1;; ++i) {
    Codes codes;
    const bool named = Resolve(before, codes, out.frames);
    RawStack after = Walk(thread);
    out.cut = before.frames.size() >= kMostDepth ||
              (named && out.frames.size() < before.frames.size());
    const bool whole = before.whole || before.frames.size() >= kMostDepth;
    out.approximate = !(Same(before, after) && named && whole);
    if (!out.approximate || i == kWalks) break;
    before = std::move(after);
  }
}

void PythonProcess::SampleFrames(uint64_t thread, PythonThread& out) {
  const RawStack raw = Walk(thread);
  const bool named = Resolve(raw, codes_, out.frames);
  out.approximate = !named || !raw.whole || !Same(raw, Walk(thread));
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

std::optional<uint64_t> PythonProcess::FirstFrame(uint64_t thread) {
  const PythonLayout& at = python_.layout;
  const auto word = memory_.Word(thread + at.frame);
  if (!word || !at.has_cframe || *word == 0) return word;
  return memory_.Word(*word + at.cframe_frame);
}

// From 3.11 on most frames of a thread lie in one block of memory: a copy of
// that is almost of one moment, and one system call.
void PythonProcess::CopyWindow(uint64_t thread, Window& window) {
  const PythonLayout& at = python_.layout;
  uint8_t chunk[24];  // begin, top, end
  if (at.stack_chunk == 0 || memory_.Read(thread + at.stack_chunk, chunk) != 0)
    return;
  const uint64_t begin = FieldAt<uint64_t>(chunk, 0);
  const uint64_t top = FieldAt<uint64_t>(chunk, 8);
  const uint64_t end = FieldAt<uint64_t>(chunk, 16);
  if (begin == 0 || top <= begin || top > end || end - begin > INT32_MAX)
    return;
  // A little more than is in use: a call may have come meanwhile.
  constexpr uint64_t kMore = 1024;
  const uint64_t size = std::min(top - begin + kMore, end - begin);
  if (size > kMostWindowBytes) return;
  window.bytes.resize(size);
  if (memory_.Read(begin, window.bytes) == 0)
    window.begin = begin;
  else
    window.bytes.clear();
}

PythonProcess::RawStack PythonProcess::Walk(uint64_t thread) {
  const PythonLayout& at = python_.layout;
  RawStack out;
  Window window;
  auto next = FirstFrame(thread);
  if (next && *next != 0) CopyWindow(thread, window);
  // Shims are not kept, and a ring of shims must end too.
  for (size_t i = 0; next && i < 2 * kMostDepth; ++i) {
    if (*next == 0) {
      out.whole = true;
      break;
    }
    if (out.frames.size() == kMostDepth) break;
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
    if (owner < kFirstShimOwner) {
      RawFrame frame{*next, FieldAt<uint64_t>(bytes, at.code) & kTagMask, 0};
      frame.instruction = at.bytecode != 0
                              ? FieldAt<uint64_t>(bytes, at.instruction)
                              : FieldAt<uint32_t>(bytes, at.instruction);
      out.frames.push_back(frame);
    }
    next = FieldAt<uint64_t>(bytes, at.previous);
  }
  return out;
}

// False if one of the frames runs what is no code; `out` then has the frames
// that were called from there, directly or not.
bool PythonProcess::Resolve(const RawStack& raw, Codes& codes,
                            std::vector<PythonFrame>& out) {
  out.clear();
  for (const RawFrame& frame : raw.frames) {
    if (out.size() >= frames_left_) return true;
    const Code* const code = Look(frame.code, codes);
    if (code == nullptr) return false;
    out.push_back({code->function, code->file, LineOf(frame, *code)});
  }
  return true;
}

// What the code object at `address` says, null if there is none.
const PythonProcess::Code* PythonProcess::Look(uint64_t address, Codes& codes) {
  const PythonLayout& at = python_.layout;
  uint8_t buffer[PythonLayout::kMostCodeBytes];
  const std::span<uint8_t> bytes(buffer, at.code_bytes);
  if (memory_.Read(address, bytes) != 0) return nullptr;
  if (python_.code_type != 0 &&
      FieldAt<uint64_t>(bytes, kObjectType) != python_.code_type)
    return nullptr;
  Code code;
  code.name_at = FieldAt<uint64_t>(bytes, at.name);
  code.file_at = FieldAt<uint64_t>(bytes, at.file);
  code.lines_at = FieldAt<uint64_t>(bytes, at.line_table);
  code.first_line = FieldAt<int32_t>(bytes, at.first_line);
  if (const auto found = codes.known.find(address);
      found != codes.known.end()) {
    const Code& old = found->second;
    if (old.name_at == code.name_at && old.file_at == code.file_at &&
        old.lines_at == code.lines_at && old.first_line == code.first_line &&
        IsStill(old))
      return &old;
  }
  if (memory_.Read(code.name_at, code.name_head) != 0 ||
      memory_.Read(code.file_at, code.file_head) != 0)
    return nullptr;
  auto function = Text(code.name_at, kMostNameChars);
  auto file = Text(code.file_at, kMostFileChars);
  if (!function || !file) return nullptr;
  code.function = std::move(*function);
  code.file = std::move(*file);
  const auto size = memory_.Word(code.lines_at + kObjectLength);
  if (size && *size <= kMostLineBytes) {
    code.lines.emplace(*size);
    if (memory_.Read(code.lines_at + kBytesData, *code.lines) != 0)
      code.lines.reset();
  }
  if (codes.known.size() >= Codes::kMost || codes.bytes > Codes::kMostBytes)
    codes = {};
  if (code.lines) codes.bytes += code.lines->size();
  return &codes.known.insert_or_assign(address, std::move(code)).first->second;
}

// Whether its names are those that were read. A str without a hash is known by
// its characters alone.
bool PythonProcess::IsStill(const Code& code) {
  const auto same = [&](uint64_t address, const TextHead& head,
                        const std::string& text, size_t max_chars) {
    TextHead now;
    if (memory_.Read(address, now) != 0) return false;
    // The count of references comes first and changes all the time; the type
    // and what lies behind it do not.
    if (!std::equal(head.begin() + kObjectType, head.end(),
                    now.begin() + kObjectType))
      return false;
    return FieldAt<int64_t>(now, kTextHash) != -1 ||
           Text(address, max_chars) == text;
  };
  return same(code.name_at, code.name_head, code.function, kMostNameChars) &&
         same(code.file_at, code.file_head, code.file, kMostFileChars);
}

int PythonProcess::LineOf(const RawFrame& frame, const Code& code) const {
  if (!code.lines) return 0;
  const PythonLayout& at = python_.layout;
  int64_t offset = 0;
  if (at.bytecode != 0) {
    offset =
        static_cast<int64_t>(frame.instruction - (frame.code + at.bytecode));
  } else {
    offset = static_cast<int32_t>(frame.instruction);
    // 3.10 counts instructions, not bytes.
    if (at.lines == LineFormat::kLineTable) offset *= 2;
  }
  return LineAt(at.lines, *code.lines, code.first_line, offset);
}

// A str, as printable UTF-8; nothing if there is none at `address`.
std::optional<std::string> PythonProcess::Text(uint64_t address,
                                               size_t max_chars) {
  uint8_t head[kTextHead];
  if (memory_.Read(address, head) != 0) return std::nullopt;
  const uint64_t length = FieldAt<uint64_t>(head, kObjectLength);
  const uint32_t state = FieldAt<uint32_t>(head, kTextState);
  const uint32_t width = state >> 2 & 7;
  const bool compact = (state >> 5 & 1) != 0;
  const bool ascii = (state >> 6 & 1) != 0;
  if (!compact || (width != 1 && width != 2 && width != 4) ||
      length > INT32_MAX)
    return std::nullopt;
  // One more than is shown, so that the cut is seen.
  std::vector<uint8_t> data(std::min<uint64_t>(length, max_chars + 1) * width);
  const PythonLayout& at = python_.layout;
  if (memory_.Read(address + (ascii ? at.ascii_data : at.other_data), data) !=
      0)
    return std::nullopt;
  std::string text;
  for (size_t i = 0; i < data.size(); i += width)
    AppendUtf8(width == 1   ? data[i]
               : width == 2 ? FieldAt<uint16_t>(data, i)
                            : FieldAt<uint32_t>(data, i),
               text);
  return Printable(text, max_chars);
}

}  // namespace sonde

#include "collect/stacks/python_layout.h"

#include <algorithm>
#include <cstring>

#include "collect/stacks/process_memory.h"

namespace sonde {
namespace {

// The numbers are from the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.2, 3.11.7
// and 3.12.1; they stay the same within 3.x.

// 3.8 to 3.10: frames are objects.
constexpr PythonLayout OfFrameObjects(int minor, LineFormat lines,
                                      uint32_t gil_holder, uint32_t instruction,
                                      uint32_t cframe) {
  return {.minor = minor,
          .lines = lines,
          .interpreters = 32,
          .threads = 8,
          .gil_holder = gil_holder,
          .gil_locked = gil_holder + 8,
          .frame = 24,
          .ident = 176,
          .cframe = cframe,
          .previous = 24,
          .code = 32,
          .instruction = instruction,
          .first_line = 40,
          .file = 104,
          .name = 112,
          .line_table = 120,
          .bytecode_object = 48,
          .plain_name = 112,
          .ascii_data = 48,
          .other_data = 72};
}

constexpr PythonLayout kLayouts[] = {
    OfFrameObjects(8, LineFormat::kLnotab, 1160, 104, 0),
    OfFrameObjects(9, LineFormat::kLnotab, 360, 104, 0),
    OfFrameObjects(10, LineFormat::kLineTable, 360, 96, 48),
    {.minor = 11,
     .interpreters = 40,
     .threads = 16,
     .gil_holder = 368,
     .gil_locked = 376,
     .frame = 56,
     .ident = 152,
     .native_id = 160,
     .stack_chunk = 296,
     .cframe = 56,
     .has_cframe = true,
     .cframe_frame = 8,
     .previous = 48,
     .code = 32,
     .instruction = 56,
     .owner = 69,
     .entry = 68,
     .first_line = 72,
     .file = 112,
     .name = 128,
     .line_table = 136,
     .bytecode = 184,
     .plain_name = 120,
     .ascii_data = 48,
     .other_data = 72},
    {.minor = 12,
     .interpreters = 40,
     .threads = 72,
     .gil = 384,
     .gil_holder = 8,
     .gil_locked = 16,
     .frame = 56,
     .ident = 136,
     .native_id = 144,
     .stack_chunk = 232,
     .cframe = 56,
     .has_cframe = true,
     .previous = 8,
     .instruction = 56,
     .owner = 70,
     .first_line = 68,
     .file = 112,
     .name = 128,
     .line_table = 136,
     .bytecode = 192,
     .plain_name = 120,
     .ascii_data = 40,
     .other_data = 56},
};

// The word behind the last field of each structure.
void SetSizes(PythonLayout& layout) {
  layout.thread_bytes =
      8 + std::max({layout.thread_next, layout.frame, layout.ident,
                    layout.native_id,
                    layout.stack_chunk == 0 ? 0 : layout.stack_chunk + 16});
  layout.frame_bytes = 8 + std::max({layout.previous, layout.code,
                                     layout.instruction, layout.owner});
  layout.code_bytes = 8 + std::max({layout.first_line, layout.file, layout.name,
                                    layout.line_table});
}

// Takes the words of a description one after the other.
class WordTaker {
 public:
  explicit WordTaker(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  void Skip(size_t words) { at_ += 8 * words; }
  // An offset; one that is too large spoils all.
  uint32_t Next() {
    if (at_ + 8 > bytes_.size()) good_ = false;
    const uint64_t value = good_ ? FieldAt<uint64_t>(bytes_, at_) : 0;
    at_ += 8;
    if (value > PythonLayout::kMostBytes) good_ = false;
    return good_ ? static_cast<uint32_t>(value) : 0;
  }
  bool good() const { return good_; }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  bool good_ = true;
};

constexpr char kCookie[] = "xdebugpy";

}  // namespace

std::optional<PythonLayout> TabledLayout(int minor) {
  for (PythonLayout layout : kLayouts)
    if (layout.minor == minor) {
      SetSizes(layout);
      return layout;
    }
  return std::nullopt;
}

std::optional<uint64_t> DescribedVersion(std::span<const uint8_t> bytes) {
  if (bytes.size() < kDescriptionBytes ||
      std::memcmp(bytes.data(), kCookie, 8) != 0)
    return std::nullopt;
  return FieldAt<uint64_t>(bytes, 8);
}

bool DescribedFreeThreaded(std::span<const uint8_t> bytes) {
  return DescribedVersion(bytes) && FieldAt<uint64_t>(bytes, 16) != 0;
}

std::optional<PythonLayout> DescribedLayout(std::span<const uint8_t> bytes) {
  const auto version = DescribedVersion(bytes);
  PythonLayout out;
  out.minor = version ? static_cast<int>(*version >> 16 & 0xff) : 0;
  if (!version || *version >> 24 != 3 || out.minor < kFirstDescribedMinor ||
      out.minor > kLastPythonMinor)
    return std::nullopt;
  // 3.14 has fields that 3.13 has not.
  const auto added = [&](size_t words) { return out.minor >= 14 ? words : 0; };
  WordTaker in(bytes);
  in.Skip(3 + 2);  // cookie, version, free_threaded; size, finalizing
  out.interpreters = in.Next();
  in.Skip(2);  // interpreter: size, id
  out.interpreter_next = in.Next();
  out.threads = in.Next();
  in.Skip(4 + added(1));  // gc, imports, sysdict, builtins; the main thread
  out.gil = in.Next();
  const uint32_t gil_begin = in.Next();
  in.Skip(1);  // enabled
  const uint32_t gil_locked = in.Next();
  const uint32_t gil_holder = in.Next();
  in.Skip(1 + added(2));  // two generations; thread: size
  const uint32_t thread_previous = in.Next();
  out.thread_next = in.Next();
  in.Skip(1);  // interpreter
  out.frame = in.Next();
  out.ident = in.Next();
  out.native_id = in.Next();
  out.stack_chunk = in.Next();
  in.Skip(1 + 1);  // status; frame: size
  out.previous = in.Next();
  out.code = in.Next();
  out.instruction = in.Next();
  in.Skip(1);  // localsplus
  out.owner = in.Next();
  in.Skip(1 + added(2));  // stackpointer, tlbc_index; code: size
  out.file = in.Next();
  out.plain_name = in.Next();
  out.name = in.Next();
  out.line_table = in.Next();
  out.first_line = in.Next();
  in.Skip(3);  // argcount, localsplusnames, localspluskinds
  out.bytecode = in.Next();
  out.ascii_data = 40;
  out.other_data = 56;
  out.gil_locked = gil_locked - gil_begin;
  out.gil_holder = gil_holder - gil_begin;
  SetSizes(out);
  // The first two say whether words were counted right.
  const bool sane = thread_previous == 0 && out.thread_next == 8 && in.good() &&
                    out.gil_locked < 64 && out.gil_holder < 64 &&
                    out.frame != 0 && out.native_id != 0 && out.owner != 0 &&
                    out.bytecode != 0 &&
                    out.thread_bytes <= PythonLayout::kMostThreadBytes &&
                    out.frame_bytes <= PythonLayout::kMostFrameBytes &&
                    out.code_bytes <= PythonLayout::kMostCodeBytes;
  if (!sane) return std::nullopt;
  return out;
}

}  // namespace sonde

#include "collect/stacks/python_code.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "base/time.h"

namespace sonde {
namespace {

constexpr size_t kMostLineBytes = 1 << 20;
constexpr uint64_t kMostInstructionBytes = 64 << 20;
constexpr size_t kMostNameChars = 200;
constexpr size_t kMostFileChars = 1024;
// PyObject: its type, and the length of a str or bytes and where bytes begin.
constexpr size_t kObjectType = 8, kObjectLength = 16, kBytesData = 32;
constexpr size_t kTextHash = 24, kTextState = 32;

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

// A str, as printable UTF-8; nothing if there is none at `address`.
std::optional<std::string> ReadStr(ProcessMemory& memory,
                                   const PythonLayout& at, uint64_t address,
                                   size_t max_chars) {
  PythonCode::TextHead head;
  if (memory.Read(address, head) != 0) return std::nullopt;
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
  if (memory.Read(address + (ascii ? at.ascii_data : at.other_data), data) != 0)
    return std::nullopt;
  std::string text;
  for (size_t i = 0; i < data.size(); i += width)
    AppendUtf8(width == 1   ? data[i]
               : width == 2 ? FieldAt<uint16_t>(data, i)
                            : FieldAt<uint32_t>(data, i),
               text);
  return Printable(text, max_chars);
}

// What a copy of a code object says of itself; nothing if it is none.
std::optional<PythonCode> FieldsOf(const FoundPython& python,
                                   std::span<const uint8_t> bytes) {
  const PythonLayout& at = python.layout;
  // An object that was freed has no references any more, and mostly a pointer
  // in the place of their number.
  const uint64_t references = FieldAt<uint64_t>(bytes, 0);
  if (static_cast<uint32_t>(references) == 0 ||
      (references >> 32 & 0xffff) != 0)
    return std::nullopt;
  if (python.code_type != 0 &&
      FieldAt<uint64_t>(bytes, kObjectType) != python.code_type)
    return std::nullopt;
  PythonCode code;
  code.name_at = FieldAt<uint64_t>(bytes, at.name);
  code.file_at = FieldAt<uint64_t>(bytes, at.file);
  code.lines_at = FieldAt<uint64_t>(bytes, at.line_table);
  code.first_line = FieldAt<int32_t>(bytes, at.first_line);
  return code;
}

bool SameFields(const PythonCode& a, const PythonCode& b) {
  return a.name_at == b.name_at && a.file_at == b.file_at &&
         a.lines_at == b.lines_at && a.first_line == b.first_line;
}

// Asks whether a str is still the one that was read. Frames of one file have
// one str for its name: each is asked once.
class Texts {
 public:
  Texts(ProcessMemory& memory, const PythonLayout& layout)
      : memory_(memory), layout_(layout) {}

  // The count of references comes first in the head and changes all the time;
  // the type and what lies behind it do not. A str without a hash is known by
  // its characters alone.
  bool Same(uint64_t address, const PythonCode::TextHead& head,
            std::span<const uint8_t> now, const std::string& text,
            size_t max_chars) {
    if (!std::equal(head.begin() + kObjectType, head.end(),
                    now.begin() + kObjectType, now.end()))
      return false;
    if (FieldAt<int64_t>(now, kTextHash) != -1) return true;
    const auto asked =
        std::find_if(asked_.begin(), asked_.end(),
                     [&](const auto& one) { return one.first == address; });
    if (asked != asked_.end()) return asked->second == text;
    asked_.emplace_back(address, ReadStr(memory_, layout_, address, max_chars));
    return asked_.back().second == text;
  }

 private:
  ProcessMemory& memory_;
  const PythonLayout& layout_;
  std::vector<std::pair<uint64_t, std::optional<std::string>>> asked_;
};

}  // namespace

int PythonCode::LineOf(const PythonLayout& at, uint64_t code_address,
                       uint64_t instruction) const {
  if (!lines) return 0;
  int64_t offset = 0;
  if (at.bytecode != 0) {
    offset = static_cast<int64_t>(instruction - (code_address + at.bytecode));
  } else {
    offset = static_cast<int32_t>(instruction);
    // 3.10 counts instructions, not bytes.
    if (at.lines == LineFormat::kLineTable) offset *= 2;
  }
  return LineAt(at.lines, *lines, first_line, offset);
}

const std::vector<const PythonCode*>& PythonCodes::Find(
    ProcessMemory& memory, const FoundPython& python,
    std::span<const uint64_t> addresses, int64_t since_ns) {
  if (FindBelieved(addresses, since_ns)) return found_;
  if (known_.size() >= kMost || bytes_ > kMostBytes) {
    known_.clear();
    by_instructions_.clear();
    bytes_ = 0;
  }
  found_.assign(addresses.size(), nullptr);
  if (!known_.empty()) FindKnown(memory, python, addresses);
  for (size_t i = 0; i < addresses.size(); ++i)
    if (found_[i] == nullptr) found_[i] = Read(memory, python, addresses[i]);
  return found_;
}

// Into found_, all or none.
bool PythonCodes::FindBelieved(std::span<const uint64_t> addresses,
                               int64_t since_ns) {
  found_.clear();
  for (const uint64_t address : addresses) {
    const PythonCode* const code = Known(address);
    if (code == nullptr || code->known_ns < since_ns) return false;
    found_.push_back(code);
  }
  return true;
}

// Into found_; null where the object has to be read.
void PythonCodes::FindKnown(ProcessMemory& memory, const FoundPython& python,
                            std::span<const uint64_t> addresses) {
  const size_t size = python.layout.code_bytes;
  constexpr size_t kHead = std::tuple_size_v<PythonCode::TextHead>;
  pieces_.clear();
  buffer_.resize(addresses.size() * (size + 2 * kHead));
  for (size_t i = 0; i < addresses.size(); ++i)
    pieces_.push_back(
        {addresses[i], std::span(buffer_).subspan(i * size, size)});
  if (const int error = memory.ReadPieces(pieces_); error == ESRCH) {
    for (size_t i = 0; i < addresses.size(); ++i)
      found_[i] = Known(addresses[i]);
    return;
  } else if (error != 0) {
    return;
  }
  for (size_t i = 0; i < addresses.size(); ++i) {
    const auto known = known_.find(addresses[i]);
    const auto now = FieldsOf(python, pieces_[i].out);
    if (known != known_.end() && now && SameFields(known->second, *now))
      found_[i] = &known->second;
  }
  pieces_.clear();
  std::span<uint8_t> room = std::span(buffer_).subspan(addresses.size() * size);
  for (const PythonCode* const code : found_)
    for (const uint64_t at : {code != nullptr ? code->name_at : 0,
                              code != nullptr ? code->file_at : 0}) {
      if (code != nullptr) pieces_.push_back({at, room.first(kHead)});
      room = room.subspan(kHead);
    }
  const bool read = memory.ReadPieces(pieces_) == 0;
  Texts texts(memory, python.layout);
  auto head = pieces_.begin();
  for (const PythonCode*& code : found_) {
    if (code == nullptr) continue;
    const bool same = read &&
                      texts.Same(code->name_at, code->name_head, head[0].out,
                                 code->function, kMostNameChars) &&
                      texts.Same(code->file_at, code->file_head, head[1].out,
                                 code->file, kMostFileChars);
    head += 2;
    if (!same) code = nullptr;
  }
  const int64_t now_ns = NowNs();
  for (size_t i = 0; i < addresses.size(); ++i)
    if (found_[i] != nullptr) known_.at(addresses[i]).known_ns = now_ns;
}

const PythonCode* PythonCodes::Read(ProcessMemory& memory,
                                    const FoundPython& python,
                                    uint64_t address) {
  uint8_t buffer[PythonLayout::kMostCodeBytes];
  const PythonLayout& at = python.layout;
  const std::span<uint8_t> bytes(buffer, at.code_bytes);
  if (memory.Read(address, bytes) != 0) return nullptr;
  std::optional<PythonCode> code = FieldsOf(python, bytes);
  if (!code || memory.Read(code->name_at, code->name_head) != 0 ||
      memory.Read(code->file_at, code->file_head) != 0)
    return nullptr;
  auto function = ReadStr(memory, at, code->name_at, kMostNameChars);
  auto file = ReadStr(memory, at, code->file_at, kMostFileChars);
  if (!function || !file) return nullptr;
  code->function = std::move(*function);
  code->file = std::move(*file);
  const auto size = memory.Word(code->lines_at + kObjectLength);
  if (size && *size <= kMostLineBytes) {
    code->lines.emplace(*size);
    if (memory.Read(code->lines_at + kBytesData, *code->lines) != 0)
      code->lines.reset();
  }
  if (code->lines) bytes_ += code->lines->size();
  // Both objects have their length at the same place, one in instructions of
  // two bytes, the other in bytes.
  const uint64_t holder =
      at.bytecode != 0 ? address : FieldAt<uint64_t>(bytes, at.bytecode_object);
  const uint64_t count = memory.Word(holder + kObjectLength).value_or(0);
  if (count <= kMostInstructionBytes) {
    code->instructions_at =
        holder + (at.bytecode != 0 ? at.bytecode : kBytesData);
    code->instructions_bytes = at.bytecode != 0 ? 2 * count : count;
  }
  code->name_hash =
      memory.Word(FieldAt<uint64_t>(bytes, at.plain_name) + kTextHash)
          .value_or(0);
  code->known_ns = NowNs();
  if (const auto old = known_.find(address); old != known_.end())
    by_instructions_.erase(old->second.instructions_at);
  if (code->instructions_bytes > 0)
    by_instructions_[code->instructions_at] = address;
  return &known_.insert_or_assign(address, std::move(*code)).first->second;
}

const PythonCode* PythonCodes::Known(uint64_t address) const {
  const auto at = known_.find(address);
  return at == known_.end() ? nullptr : &at->second;
}

PythonCodes::Found PythonCodes::WithInstruction(uint64_t place) const {
  auto at = by_instructions_.upper_bound(place);
  if (at == by_instructions_.begin()) return {};
  --at;
  const auto known = known_.find(at->second);
  if (known == known_.end() || known->second.instructions_at != at->first ||
      place - at->first >= known->second.instructions_bytes)
    return {};
  return {&known->second, at->second};
}

}  // namespace sonde

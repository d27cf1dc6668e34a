#include "collect/unwind/eh_frame.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

#include "collect/unwind/frame_program.h"
#include "collect/unwind/prologue.h"
#include "collect/unwind/table_bytes.h"

namespace sonde {
namespace {

constexpr uint8_t kOmitted = 0xff;
constexpr uint8_t kSortedEncoding = 0x3b;  // 32 bits, relative to the header
constexpr uint64_t kSortedEntryBytes = 8;

UnwindRow Only(UnwindRow::Kind kind) {
  UnwindRow row;
  row.kind = kind;
  return row;
}

// The list of .eh_frame_hdr: where functions begin, and their entries.
struct SortedList {
  uint64_t address = 0;
  uint64_t count = 0;
};

std::optional<SortedList> FindList(const CodeFile& file) {
  // Version, three encodings, two pointers.
  std::array<uint8_t, 4 + 8 + 8> head = {};
  const size_t size = std::min<uint64_t>(head.size(), file.frames_bytes());
  const uint64_t base = file.frames_address();
  const std::span<uint8_t> bytes = std::span(head).first(size);
  if (!file.Read(base, bytes)) return std::nullopt;
  TableBytes in(bytes, base);
  const uint8_t version = in.Take<uint8_t>();
  const uint8_t frame_encoding = in.Take<uint8_t>();
  const uint8_t count_encoding = in.Take<uint8_t>();
  const uint8_t list_encoding = in.Take<uint8_t>();
  if (version != 1 || list_encoding != kSortedEncoding ||
      count_encoding == kOmitted)
    return std::nullopt;
  if (frame_encoding != kOmitted) in.Pointer(frame_encoding, base);
  const uint64_t count = in.Pointer(count_encoding, base);
  const uint64_t room = base + file.frames_bytes() - in.address();
  if (!in.ok() || count > room / kSortedEntryBytes) return std::nullopt;
  return SortedList{in.address(), count};
}

// The entry of the function that begins last before or at `address`; 0 if all
// begin behind it. Nothing if the list cannot be read.
std::optional<uint64_t> SearchList(const CodeFile& file, const SortedList& list,
                                   uint64_t address) {
  uint64_t below = 0, count = list.count;
  uint64_t found = 0;
  while (count > 0) {
    const uint64_t middle = below + count / 2;
    int32_t entry[2];
    if (!file.Read(list.address + middle * kSortedEntryBytes,
                   {reinterpret_cast<uint8_t*>(entry), sizeof(entry)}))
      return std::nullopt;
    const uint64_t base = file.frames_address();
    if (base + static_cast<uint64_t>(int64_t{entry[0]}) <= address) {
      found = base + static_cast<uint64_t>(int64_t{entry[1]});
      count -= middle + 1 - below;
      below = middle + 1;
    } else {
      count = middle - below;
    }
  }
  return found;
}

// A function that does nothing but tell the kernel that a signal is handled.
// Some C libraries write no table for it. Its caller is the interrupted code,
// whose registers the kernel put on the stack: a struct ucontext.
std::optional<UnwindRow> SignalReturn(const CodeFile& file, uint64_t address) {
  constexpr uint8_t kLong[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
  constexpr uint8_t kShort[] = {0xb8, 15, 0, 0, 0, 0x0f, 0x05};
  uint8_t code[sizeof(kLong)] = {};
  if (!file.Read(address, code) ||
      (std::memcmp(code, kLong, sizeof(kLong)) != 0 &&
       std::memcmp(code, kShort, sizeof(kShort)) != 0))
    return std::nullopt;
  UnwindRow row;
  row.kind = UnwindRow::Kind::kTable;
  row.signal_frame = true;
  row.cfa = UnwindRow::Cfa::kMemory;
  row.cfa_register = kRsp;
  row.cfa_offset = 160;
  // In the order of kKept, offsets in the struct.
  constexpr int32_t kSaved[kKeptCount] = {128, 120, 72, 80, 88, 96, 168};
  for (size_t i = 0; i < kKeptCount; ++i)
    row.rules[i] = {UnwindRow::Rule::Kind::kAtRegister, kRsp, kSaved[i]};
  return row;
}

}  // namespace

// What follows the length of an entry, whole.
bool EhFrame::ReadEntry(const CodeFile& file, uint64_t address,
                        std::vector<uint8_t>& body) {
  uint32_t length = 0;
  if (!file.Read(address,
                 {reinterpret_cast<uint8_t*>(&length), sizeof(length)}) ||
      length < sizeof(uint32_t) || length > kMostEntryBytes)
    return false;
  body.resize(length);
  bytes_read_ += length;
  return file.Read(address + sizeof(length), body);
}

EhFrame::Search EhFrame::FindEntry(const CodeFile& file, uint64_t address,
                                   Entry& out) {
  if (file.frames_bytes() == 0) return Search::kNone;
  const auto list = FindList(file);
  if (!list) return Search::kBad;
  const auto entry = SearchList(file, *list, address);
  if (!entry) return Search::kBad;
  if (*entry == 0) return Search::kNone;
  if (!ReadEntry(file, *entry, function_)) return Search::kBad;
  uint32_t back = 0;
  std::memcpy(&back, function_.data(), sizeof(back));
  // From where this number stands.
  if (back == 0 || !ReadEntry(file, *entry + 4 - back, common_))
    return Search::kBad;
  uint32_t id = 0;
  std::memcpy(&id, common_.data(), sizeof(id));
  if (id != 0) return Search::kBad;
  const auto common =
      ParseCommonFrame(std::span(common_).subspan(4), *entry + 4 - back + 8);
  if (!common) return Search::kBad;
  const auto function =
      ParseFunctionFrame(*common, std::span(function_).subspan(4), *entry + 8);
  if (!function) return Search::kBad;
  if (address < function->begin || address - function->begin >= function->bytes)
    return Search::kNone;
  out = {*common, *function};
  return Search::kFound;
}

UnwindRow EhFrame::Find(const CodeFile& file, uint64_t address) {
  Entry entry;
  switch (FindEntry(file, address, entry)) {
    case Search::kFound:
      return RunFramePrograms(entry.common, entry.function, address);
    case Search::kBad:
      return Only(UnwindRow::Kind::kBadTable);
    case Search::kNone:
      break;
  }
  // A return address is one behind the instruction that is asked for.
  for (const uint64_t at : {address, address + 1})
    if (const auto row = SignalReturn(file, at)) return *row;
  if (const auto row = RowByPrologue(file, address, bytes_read_)) return *row;
  return Only(UnwindRow::Kind::kNoTable);
}

uint64_t EhFrame::FunctionBegin(const CodeFile& file, uint64_t address) {
  Entry entry;
  return FindEntry(file, address, entry) == Search::kFound
             ? entry.function.begin
             : 0;
}

}  // namespace sonde

#include "collect/unwind/prologue.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <span>

namespace sonde {
namespace {

constexpr uint64_t kMostBytes = 32 << 10;
constexpr uint64_t kPiece = 4096;
constexpr uint64_t kAlignment = 16;
constexpr uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
// Of the beginning of a function; a dozen instructions.
constexpr size_t kBeginBytes = 128;
constexpr int32_t kMostFrame = 1 << 20;
// Of an instruction's number for a register, as tables number it.
constexpr uint8_t kNumbers[] = {kRax, kRcx, kRdx, kRbx, kRsp, kRbp, kRsi, kRdi,
                                kR8,  kR9,  kR10, kR11, kR12, kR13, kR14, kR15};

// The last beginning before `address` or there; 0 if none was found.
uint64_t BeginBefore(const CodeFile& file, uint64_t address,
                     uint64_t& bytes_read) {
  std::array<uint8_t, kPiece> bytes;
  const uint64_t least = address > kMostBytes ? address - kMostBytes : 0;
  uint64_t end = address / kAlignment * kAlignment + kAlignment;
  while (end > least + kAlignment) {
    const uint64_t size =
        std::min(kPiece, (end - least) / kAlignment * kAlignment);
    const std::span<uint8_t> piece = std::span(bytes).first(size);
    bytes_read += size;
    if (!file.Read(end - size, piece)) return 0;
    for (uint64_t at = size; at >= kAlignment;) {
      at -= kAlignment;
      if (std::memcmp(&bytes[at], kEndbr64, sizeof(kEndbr64)) == 0)
        return end - size + at;
    }
    end -= size;
  }
  return 0;
}

// Instructions that put registers on the stack, one after the other.
class Beginning {
 public:
  explicit Beginning(std::span<const uint8_t> code) : code_(code) {}

  // Takes the next one into account; false if it is another, or cut.
  bool Take() {
    const size_t wide = At(0) == 0x48 || At(0) == 0x4c ? 1 : 0;
    const size_t high = At(0) == 0x41 ? 1 : 0;
    if (At(high) >= 0x50 && At(high) <= 0x57) {  // push
      cfa_offset_ += 8;
      Save(static_cast<uint8_t>(At(high) - 0x50 + 8 * high), cfa_offset_);
      return Skip(high + 1);
    }
    if (At(0) == 0x48 && At(1) == 0x83 && At(2) == 0xec)  // sub imm8, %rsp
      return Grow(static_cast<int8_t>(At(3)), 4);
    if (At(0) == 0x48 && At(1) == 0x81 && At(2) == 0xec)  // sub imm32, %rsp
      return Grow(Word(3), 7);
    if (wide == 1 && At(1) == 0x89 && (At(2) & 7) == 4 && At(3) == 0x24) {
      // mov register, displacement(%rsp)
      const int mode = At(2) >> 6;
      if (mode == 3) return false;
      const int32_t at = mode == 0   ? 0
                         : mode == 1 ? static_cast<int8_t>(At(4))
                                     : Word(4);
      if (at < 0 || at >= cfa_offset_) return false;
      Save(static_cast<uint8_t>((At(2) >> 3 & 7) + (At(0) == 0x4c ? 8 : 0)),
           cfa_offset_ - at);
      return Skip(mode == 0 ? 4 : mode == 1 ? 5 : 8);
    }
    return false;
  }

  // Where it is not understood any more.
  bool KeepsFrameInRbp() const {
    return At(0) == 0x48 && ((At(1) == 0x89 && At(2) == 0xe5) ||
                             (At(1) == 0x8b && At(2) == 0xec));
  }

  UnwindRow Row() const {
    UnwindRow row = row_;
    row.kind = UnwindRow::Kind::kPrologue;
    row.cfa = UnwindRow::Cfa::kRegister;
    row.cfa_register = kRsp;
    row.cfa_offset = cfa_offset_;
    row.rules[kKeptCount - 1] = {UnwindRow::Rule::Kind::kAtCfa, 0, -8};
    return row;
  }

 private:
  uint8_t At(size_t i) const { return i < code_.size() ? code_[i] : 0; }
  int32_t Word(size_t i) const {
    int32_t out = 0;
    if (i + sizeof(out) <= code_.size())
      std::memcpy(&out, &code_[i], sizeof(out));
    return out;
  }
  bool Skip(size_t bytes) {
    if (bytes > code_.size()) return false;
    code_ = code_.subspan(bytes);
    return true;
  }
  bool Grow(int32_t by, size_t length) {
    if (by <= 0 || by > kMostFrame - cfa_offset_) return false;
    cfa_offset_ += by;
    return Skip(length);
  }
  // The first time, the register is still the caller's.
  void Save(uint8_t encoded, int32_t below_cfa) {
    for (size_t i = 0; i < kKeptCount; ++i)
      if (kKept[i] == kNumbers[encoded] &&
          row_.rules[i].kind == UnwindRow::Rule::Kind::kSame)
        row_.rules[i] = {UnwindRow::Rule::Kind::kAtCfa, 0, -below_cfa};
  }

  std::span<const uint8_t> code_;
  UnwindRow row_;
  int32_t cfa_offset_ = 8;
};

}  // namespace

std::optional<UnwindRow> RowByPrologue(const CodeFile& file, uint64_t address,
                                       uint64_t& bytes_read) {
  const uint64_t begin = BeginBefore(file, address, bytes_read);
  if (begin == 0) return std::nullopt;
  // What stands behind the place was not done yet.
  const uint64_t from = begin + sizeof(kEndbr64);
  std::array<uint8_t, kBeginBytes> bytes = {};
  const uint64_t size =
      std::min<uint64_t>(bytes.size(), address > from ? address - from : 0);
  const std::span<uint8_t> code = std::span(bytes).first(size);
  if (size > 0 && !file.Read(from, code)) return std::nullopt;
  Beginning beginning(code);
  while (beginning.Take()) {
  }
  if (beginning.KeepsFrameInRbp()) return std::nullopt;
  return beginning.Row();
}

bool IsBehindCall(const CodeFile& file, uint64_t address) {
  std::array<uint8_t, 7> before = {};
  if (address < before.size() || !file.Read(address - before.size(), before))
    return false;
  const auto at = [&](size_t back) { return before[before.size() - back]; };
  if (at(5) == 0xe8) return true;
  // call by register or memory: ff /2, with what tells where that is.
  for (const size_t length : {2, 3, 4, 6, 7})
    if (at(length) == 0xff && (at(length - 1) >> 3 & 7) == 2) return true;
  return false;
}

}  // namespace sonde

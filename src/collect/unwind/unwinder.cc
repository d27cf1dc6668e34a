#include "collect/unwind/unwinder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "collect/unwind/prologue.h"

namespace sonde {
namespace {

using Rule = UnwindRow::Rule;

constexpr uint64_t kWord = sizeof(uint64_t);
constexpr size_t kRipRule = kKeptCount - 1;
static_assert(kKept[kRipRule] == kRip);
constexpr size_t kRbpRule = 1;
static_assert(kKept[kRbpRule] == kRbp);
// In which a link is looked for (FindLink).
constexpr uint64_t kLinkBytes = 16 << 10;

bool WordAt(const StackCopy& stack, uint64_t address, uint64_t& word) {
  if (address < stack.address) return false;
  const uint64_t offset = address - stack.address;
  if (stack.bytes.size() < kWord || offset > stack.bytes.size() - kWord)
    return false;
  std::memcpy(&word, stack.bytes.data() + offset, kWord);
  return true;
}

uint64_t Plus(uint64_t value, int32_t offset) {
  return value + static_cast<uint64_t>(int64_t{offset});
}

// Whether rbp points to the caller's rbp, and above it to the return address.
bool KeepsLinkInRbp(const UnwindRow& row) {
  constexpr Rule kSavedRbp = {Rule::Kind::kAtCfa, 0, -16};
  constexpr Rule kReturns = {Rule::Kind::kAtCfa, 0, -8};
  return row.cfa == UnwindRow::Cfa::kRegister && row.cfa_register == kRbp &&
         row.cfa_offset == 16 && row.rules[kRbpRule] == kSavedRbp &&
         row.rules[kRipRule] == kReturns;
}

}  // namespace

const char* NameOf(UnwindEnd end) {
  constexpr const char* kNames[kUnwindEnds] = {
      "complete",  "end of copy",      "no code", "no table",
      "bad table", "unknown register", "too deep"};
  return kNames[static_cast<size_t>(end)];
}

// One stack while it is unwound.
struct Unwinder::Walk {
  ProcessCode& code;
  const StackCopy& stack;
  Registers registers;
  NativeStack& out;
  bool exact_pc = true;  // of the frame to come: it is no return address
  bool guessed = false;
  size_t new_rows = 0;
  uint64_t bytes_before = 0;  // that were read from tables

  Step Stop(UnwindEnd end) {
    out.end = end;
    return Step::kStop;
  }
  // What a rule says the caller had. False: `why` is the end.
  bool Value(const Rule& rule, uint8_t number, uint64_t cfa, bool signal_frame,
             std::optional<uint64_t>& value, UnwindEnd& why) const;
  std::optional<uint64_t> Cfa(const UnwindRow& row, UnwindEnd& why) const;
  std::optional<uint64_t> FindLink(UnwindEnd& why) const;
  // Whether what lies below the CFA is where a call returns to.
  bool ReturnsBehindCall(const UnwindRow& row) const;
};

bool Unwinder::Walk::Value(const Rule& rule, uint8_t number, uint64_t cfa,
                           bool signal_frame, std::optional<uint64_t>& value,
                           UnwindEnd& why) const {
  const auto of = [&](uint8_t other, int32_t offset) {
    if (!registers.Knows(other)) return std::optional<uint64_t>();
    return std::optional(Plus(registers[other], offset));
  };
  std::optional<uint64_t> place;
  value.reset();
  why = UnwindEnd::kUnknownRegister;
  switch (rule.kind) {
    case Rule::Kind::kSame:
      value = of(number, 0);
      return true;
    case Rule::Kind::kCfa:
      value = Plus(cfa, rule.offset);
      return true;
    case Rule::Kind::kRegister:
      value = of(rule.number, rule.offset);
      return true;
    case Rule::Kind::kUndefined:
      return true;
    case Rule::Kind::kUnknown:
      why = UnwindEnd::kBadTable;
      return true;
    case Rule::Kind::kAtRegister:
      place = of(rule.number, rule.offset);
      if (!place) return true;
      break;
    case Rule::Kind::kAtCfa:
      place = Plus(cfa, rule.offset);
      // Compilers do not say of each register at which instruction of a
      // function's end it is back. Where it was saved is free by then.
      if (!signal_frame && *place < registers[kRsp]) {
        value = of(number, 0);
        return true;
      }
      break;
  }
  why = UnwindEnd::kEndOfCopy;
  uint64_t word = 0;
  if (!WordAt(stack, *place, word)) return false;
  value = word;
  return true;
}

std::optional<uint64_t> Unwinder::Walk::Cfa(const UnwindRow& row,
                                            UnwindEnd& why) const {
  why = UnwindEnd::kUnknownRegister;
  switch (row.cfa) {
    case UnwindRow::Cfa::kRegister:
      if (!registers.Knows(row.cfa_register)) return std::nullopt;
      return Plus(registers[row.cfa_register], row.cfa_offset);
    case UnwindRow::Cfa::kMemory: {
      if (!registers.Knows(row.cfa_register)) return std::nullopt;
      why = UnwindEnd::kEndOfCopy;
      uint64_t word = 0;
      if (!WordAt(stack, Plus(registers[row.cfa_register], row.cfa_offset),
                  word))
        return std::nullopt;
      return Plus(word, row.cfa_add);
    }
    case UnwindRow::Cfa::kPlt:
      return registers[kRsp] + kWord +
             ((registers[kRip] & 15) >= static_cast<uint64_t>(row.cfa_add)
                  ? kWord
                  : 0);
    case UnwindRow::Cfa::kUnknown:
      break;
  }
  why = UnwindEnd::kBadTable;
  return std::nullopt;
}

// Where a function that keeps its frame in rbp has its link, if rbp is not
// known: the lowest two words that look like one and lead to another. `why` is
// set if there is none.
std::optional<uint64_t> Unwinder::Walk::FindLink(UnwindEnd& why) const {
  const auto link_at = [&](uint64_t place, uint64_t& next) {
    uint64_t pc = 0;
    return WordAt(stack, place, next) && WordAt(stack, place + kWord, pc) &&
           next > place && next % kWord == 0 && pc != 0 && code.Holds(pc - 1);
  };
  const uint64_t end = stack.address + stack.bytes.size();
  const uint64_t from = (registers[kRsp] + kWord - 1) / kWord * kWord;
  why = UnwindEnd::kUnknownRegister;
  for (uint64_t at = from; at < from + kLinkBytes && at < end; at += kWord) {
    uint64_t next = 0, beyond = 0;
    if (!link_at(at, next)) continue;
    if (link_at(next, beyond)) return at;
    if (next >= end && next - end < kLinkBytes) why = UnwindEnd::kEndOfCopy;
  }
  return std::nullopt;
}

bool Unwinder::Walk::ReturnsBehindCall(const UnwindRow& row) const {
  UnwindEnd why;
  const auto cfa = Cfa(row, why);
  uint64_t pc = 0;
  if (!cfa || !WordAt(stack, *cfa - kWord, pc) || !code.Holds(pc - 1))
    return false;
  const auto place = code.Find(pc - 1);
  if (!place || place->file == nullptr) return false;
  code.files().KeepOpen(*place->file);
  return IsBehindCall(*place->file, place->address + 1);
}

Unwinder::Step Unwinder::ByTable(Walk& walk, const UnwindRow& row) {
  // The outermost function has no caller.
  if (row.rules[kRipRule].kind == Rule::Kind::kUndefined)
    return walk.Stop(UnwindEnd::kComplete);
  UnwindEnd why;
  const bool searched = KeepsLinkInRbp(row) && !walk.registers.Knows(kRbp);
  if (searched) {
    const auto link = walk.FindLink(why);
    if (!link) return walk.Stop(why);
    walk.registers.Set(kRbp, *link);
  }
  const auto cfa = walk.Cfa(row, why);
  if (!cfa) return walk.Stop(why);
  // A caller's frame lies above. Only a signal may have come on another stack.
  if (!row.signal_frame && *cfa <= walk.registers[kRsp])
    return walk.Stop(UnwindEnd::kBadTable);
  Registers caller;
  caller.Set(kRsp, *cfa);
  for (size_t i = 0; i < kKeptCount; ++i) {
    std::optional<uint64_t> value;
    const bool read =
        walk.Value(row.rules[i], kKept[i], *cfa, row.signal_frame, value, why);
    // One that is lost may never be asked for; where to return to is.
    if (i == kRipRule && (!read || !value)) return walk.Stop(why);
    if (value) caller.Set(kKept[i], *value);
  }
  if (caller[kRip] == 0) return walk.Stop(UnwindEnd::kComplete);
  walk.registers = caller;
  walk.exact_pc = row.signal_frame;
  walk.guessed = searched;
  return Step::kNext;
}

// By the chain that begins in rbp: each link is the caller's rbp and then the
// return address. Believed only where it leads upward and into code.
Unwinder::Step Unwinder::ByFramePointer(Walk& walk) {
  if (!walk.registers.Knows(kRbp))
    return walk.Stop(UnwindEnd::kUnknownRegister);
  const uint64_t rbp = walk.registers[kRbp], rsp = walk.registers[kRsp];
  // What starts a thread makes it 0 to say that there is nothing above.
  if (rbp == 0 && walk.out.frames.size() > 1)
    return walk.Stop(UnwindEnd::kComplete);
  if (rbp < rsp || rbp % kWord != 0) return walk.Stop(UnwindEnd::kNoTable);
  uint64_t link = 0, pc = 0;
  if (!WordAt(walk.stack, rbp, link) || !WordAt(walk.stack, rbp + kWord, pc))
    return walk.Stop(UnwindEnd::kEndOfCopy);
  if (pc == 0) return walk.Stop(UnwindEnd::kComplete);
  if (!walk.code.Find(pc - 1)) return walk.Stop(UnwindEnd::kNoTable);
  Registers caller;
  caller.Set(kRsp, rbp + 2 * kWord);
  caller.Set(kRip, pc);
  caller.Set(kRbp, link);
  walk.registers = caller;
  walk.exact_pc = false;
  walk.guessed = true;
  return Step::kNext;
}

// Null if the walk has had its share of work.
const UnwindRow* Unwinder::RowAt(Walk& walk, const ProcessCode::Place& place) {
  const uint64_t mixed =
      (place.address ^ uint64_t{place.file->number()} << 40) *
      0x9e3779b97f4a7c15;
  KeptRow& kept = rows_[mixed >> 50 & (kRows - 1)];
  static_assert(kRows == 1 << 14, "the upper 14 bits");
  if (kept.address == place.address && kept.file == place.file->number())
    return &kept.row;
  if (++walk.new_rows > kMostNewRows ||
      tables_.bytes_read() - walk.bytes_before > kMostTableBytes)
    return nullptr;
  ++lookups_;
  walk.code.files().KeepOpen(*place.file);
  kept.row = tables_.Find(*place.file, place.address);
  kept.address = place.address;
  kept.file = place.file->number();
  return &kept.row;
}

void Unwinder::Unwind(ProcessCode& code, const Registers& registers,
                      const StackCopy& stack, NativeStack& out) {
  out.frames.clear();
  out.end = UnwindEnd::kUnknownRegister;
  if (!registers.Knows(kRip) || !registers.Knows(kRsp)) return;
  Walk walk{code, stack, registers, out};
  walk.bytes_before = tables_.bytes_read();
  for (;;) {
    const uint64_t pc = walk.registers[kRip];
    // The instruction of a call is before the place that it returns to, which
    // may already belong to the next function.
    const uint64_t back = walk.exact_pc ? 0 : 1;
    const auto place = code.Find(pc - back);
    if (!place) {
      walk.Stop(UnwindEnd::kNoCode);
      return;
    }
    if (out.frames.size() == kMostFrames) {
      walk.Stop(UnwindEnd::kTooDeep);
      return;
    }
    out.frames.push_back(
        {place->file, place->address + back, pc, !walk.exact_pc, walk.guessed});
    const UnwindRow* const row =
        place->file == nullptr ? nullptr : RowAt(walk, *place);
    if (row == nullptr && place->file != nullptr) {
      walk.Stop(UnwindEnd::kTooDeep);
      return;
    }
    if (row != nullptr && row->kind == UnwindRow::Kind::kBadTable) {
      walk.Stop(UnwindEnd::kBadTable);
      return;
    }
    using Kind = UnwindRow::Kind;
    const bool by_prologue = row != nullptr && row->kind == Kind::kPrologue &&
                             walk.ReturnsBehindCall(*row);
    const Step step =
        by_prologue || (row != nullptr && row->kind == Kind::kTable)
            ? ByTable(walk, *row)
            : ByFramePointer(walk);
    if (step == Step::kStop) return;
    if (by_prologue) walk.guessed = true;
    out.frames.back().top = walk.registers[kRsp];
  }
}

}  // namespace sonde

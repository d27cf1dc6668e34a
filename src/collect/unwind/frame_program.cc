#include "collect/unwind/frame_program.h"

#include <algorithm>
#include <array>
#include <climits>
#include <string_view>

#include "collect/unwind/table_bytes.h"

namespace sonde {
namespace {

using Rule = UnwindRow::Rule;

constexpr size_t kMostAugmentation = 16;
constexpr uint8_t kNoPointer = 0xff;

// The operations, as DWARF numbers them. Of the first three the upper two bits
// are the operation and the lower six an operand.
enum Operation : uint8_t {
  kAdvance = 0x40,
  kOffset = 0x80,
  kRestore = 0xc0,
  kNop = 0x00,
  kSetPlace = 0x01,
  kAdvance1 = 0x02,
  kAdvance2 = 0x03,
  kAdvance4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kInRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefineCfa = 0x0c,
  kDefineCfaRegister = 0x0d,
  kDefineCfaOffset = 0x0e,
  kDefineCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSigned = 0x11,
  kDefineCfaSigned = 0x12,
  kDefineCfaOffsetSigned = 0x13,
  kValueOffset = 0x14,
  kValueOffsetSigned = 0x15,
  kValueExpression = 0x16,
  kArgumentsSize = 0x2e,
  kOffsetNegative = 0x2f,
};

// register + offset, or what lies there, + add.
struct Term {
  uint8_t number = 0;
  int32_t offset = 0;
  bool memory = false;
  int32_t add = 0;
};

bool Fits(int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }

constexpr uint8_t kOpDeref = 0x06, kOpPlusConstant = 0x23, kOpBreg0 = 0x70;

// The expressions that compilers and the C library write: of a stack that was
// aligned, of a frame that a signal left.
std::optional<Term> ParseTerm(std::span<const uint8_t> bytes) {
  TableBytes in(bytes, 0);
  const uint8_t first = in.Take<uint8_t>();
  if (first < kOpBreg0 || first >= kOpBreg0 + kRegisterCount)
    return std::nullopt;
  Term term;
  term.number = static_cast<uint8_t>(first - kOpBreg0);
  const int64_t offset = in.Signed();
  int64_t add = 0;
  if (!in.done()) {
    if (in.Take<uint8_t>() != kOpDeref) return std::nullopt;
    term.memory = true;
  }
  if (!in.done()) {
    if (in.Take<uint8_t>() != kOpPlusConstant) return std::nullopt;
    add = static_cast<int64_t>(in.Unsigned());
  }
  if (!in.ok() || !in.done() || !Fits(offset) || !Fits(add))
    return std::nullopt;
  term.offset = static_cast<int32_t>(offset);
  term.add = static_cast<int32_t>(add);
  return term;
}

// The one that linkers write for the entries of a procedure linkage table, of
// 16 bytes each: the entry pushes a word when it is `limit` bytes in.
std::optional<int32_t> ParsePlt(std::span<const uint8_t> bytes) {
  constexpr uint8_t kLit0 = 0x30;
  constexpr uint8_t kPlt[] = {0x77, 8,    0x80, 0,    0x3f, 0x1a,
                              0,    0x2a, 0x33, 0x24, 0x22};
  if (bytes.size() != std::size(kPlt)) return std::nullopt;
  for (size_t i = 0; i < bytes.size(); ++i)
    if (i != 6 && bytes[i] != kPlt[i]) return std::nullopt;
  if (bytes[6] < kLit0 || bytes[6] > kLit0 + 15) return std::nullopt;
  return bytes[6] - kLit0;
}

class Machine {
 public:
  Machine(const CommonFrame& common, uint64_t pc) : common_(common), pc_(pc) {
    row_.kind = UnwindRow::Kind::kTable;
    row_.signal_frame = common.signal_frame;
  }

  bool Run(std::span<const uint8_t> program, uint64_t place) {
    place_ = place;
    TableBytes in(program, 0);
    // A step that leads beyond the place changes no rule.
    while (!in.done() && place_ <= pc_)
      if (!Step(in) || !in.ok()) return false;
    return true;
  }
  void KeepInitial() { initial_ = row_.rules; }
  const UnwindRow& row() const { return row_; }

 private:
  void Advance(uint64_t steps) {
    uint64_t by = 0;
    if (__builtin_mul_overflow(steps, common_.code_step, &by) ||
        __builtin_add_overflow(place_, by, &place_))
      place_ = ~uint64_t{0};
  }

  static int KeptIndex(uint64_t number) {
    const auto* const at =
        std::find(std::begin(kKept), std::end(kKept), number);
    return at == std::end(kKept) ? -1
                                 : static_cast<int>(at - std::begin(kKept));
  }

  bool SetRule(uint64_t number, Rule rule) {
    if (const int at = KeptIndex(number); at >= 0)
      row_.rules[static_cast<size_t>(at)] = rule;
    return true;  // of another register: nobody asks
  }
  bool Restore(uint64_t number) {
    if (const int at = KeptIndex(number); at >= 0)
      row_.rules[static_cast<size_t>(at)] = initial_[static_cast<size_t>(at)];
    return true;
  }
  bool SetOffset(uint64_t number, Rule::Kind kind, int64_t steps) {
    int64_t offset = 0;
    if (__builtin_mul_overflow(steps, common_.data_step, &offset) ||
        !Fits(offset))
      return false;
    return SetRule(number, {kind, 0, static_cast<int32_t>(offset)});
  }

  bool SetCfaRegister(uint64_t number) {
    if (number >= kRegisterCount) return false;
    row_.cfa = UnwindRow::Cfa::kRegister;
    row_.cfa_register = static_cast<uint8_t>(number);
    return true;
  }
  bool SetCfaOffset(int64_t offset) {
    row_.cfa_offset = static_cast<int32_t>(offset);
    return Fits(offset);
  }
  bool SetCfaOffsetSteps(int64_t steps) {
    int64_t offset = 0;
    return !__builtin_mul_overflow(steps, common_.data_step, &offset) &&
           SetCfaOffset(offset);
  }
  bool SetCfaExpression(std::span<const uint8_t> bytes) {
    row_.cfa = UnwindRow::Cfa::kUnknown;
    if (const auto limit = ParsePlt(bytes)) {
      row_.cfa = UnwindRow::Cfa::kPlt;
      row_.cfa_add = *limit;
    } else if (const auto term = ParseTerm(bytes)) {
      row_.cfa =
          term->memory ? UnwindRow::Cfa::kMemory : UnwindRow::Cfa::kRegister;
      row_.cfa_register = term->number;
      row_.cfa_offset = term->offset;
      row_.cfa_add = term->add;
    }
    return true;
  }
  // `is_value`: the expression is the value, not where the value lies.
  bool SetExpression(uint64_t number, std::span<const uint8_t> bytes,
                     bool is_value) {
    const auto term = ParseTerm(bytes);
    Rule rule{Rule::Kind::kUnknown, 0, 0};
    if (term && term->add == 0 && (is_value || !term->memory))
      rule = {is_value && !term->memory ? Rule::Kind::kRegister
                                        : Rule::Kind::kAtRegister,
              term->number, term->offset};
    return SetRule(number, rule);
  }

  bool Remember() {
    if (aside_count_ == aside_.size()) return false;
    aside_[aside_count_++] = row_;
    return true;
  }
  bool Recall() {
    if (aside_count_ == 0) return false;
    row_ = aside_[--aside_count_];
    return true;
  }

  bool Step(TableBytes& in) {
    const uint8_t byte = in.Take<uint8_t>();
    const uint8_t low = byte & 0x3f;
    switch (byte & 0xc0) {
      case kAdvance:
        Advance(low);
        return true;
      case kOffset:
        return SetOffset(low, Rule::Kind::kAtCfa,
                         static_cast<int64_t>(in.Unsigned()));
      case kRestore:
        return Restore(low);
      default:
        return StepPlain(byte, in) || StepOfCfa(byte, in) ||
               StepOfRegister(byte, in);
    }
  }

  // Each of these three is false for what another one knows.
  bool StepPlain(uint8_t operation, TableBytes& in) {
    switch (operation) {
      case kNop:
        return true;
      case kSetPlace:
        place_ = std::max(place_, in.Pointer(common_.pointer_encoding & 0x0f));
        // Relative to itself, as nobody writes it, it is not understood.
        return (common_.pointer_encoding & 0xf0) == 0;
      case kAdvance1:
        Advance(in.Take<uint8_t>());
        return true;
      case kAdvance2:
        Advance(in.Take<uint16_t>());
        return true;
      case kAdvance4:
        Advance(in.Take<uint32_t>());
        return true;
      case kRememberState:
        return Remember();
      case kRestoreState:
        return Recall();
      case kArgumentsSize:
        in.Unsigned();
        return true;
      default:
        return false;
    }
  }

  bool StepOfCfa(uint8_t operation, TableBytes& in) {
    switch (operation) {
      case kDefineCfa:
        return SetCfaRegister(in.Unsigned()) &&
               SetCfaOffset(static_cast<int64_t>(in.Unsigned()));
      case kDefineCfaSigned:
        return SetCfaRegister(in.Unsigned()) && SetCfaOffsetSteps(in.Signed());
      case kDefineCfaRegister:
        return SetCfaRegister(in.Unsigned());
      case kDefineCfaOffset:
        return SetCfaOffset(static_cast<int64_t>(in.Unsigned()));
      case kDefineCfaOffsetSigned:
        return SetCfaOffsetSteps(in.Signed());
      case kDefineCfaExpression:
        return SetCfaExpression(in.TakeBytes(in.Unsigned()));
      default:
        return false;
    }
  }

  bool StepOfRegister(uint8_t operation, TableBytes& in) {
    if (!IsOfRegister(operation)) return false;
    const uint64_t number = in.Unsigned();
    switch (operation) {
      case kOffsetExtended:
        return SetOffset(number, Rule::Kind::kAtCfa,
                         static_cast<int64_t>(in.Unsigned()));
      case kOffsetExtendedSigned:
        return SetOffset(number, Rule::Kind::kAtCfa, in.Signed());
      case kOffsetNegative:
        return SetOffset(number, Rule::Kind::kAtCfa,
                         -static_cast<int64_t>(in.Unsigned() & INT64_MAX));
      case kValueOffset:
        return SetOffset(number, Rule::Kind::kCfa,
                         static_cast<int64_t>(in.Unsigned()));
      case kValueOffsetSigned:
        return SetOffset(number, Rule::Kind::kCfa, in.Signed());
      case kRestoreExtended:
        return Restore(number);
      case kUndefined:
        return SetRule(number, {Rule::Kind::kUndefined, 0, 0});
      case kSameValue:
        return SetRule(number, {Rule::Kind::kSame, 0, 0});
      case kInRegister: {
        const uint64_t other = in.Unsigned();
        return other < kRegisterCount &&
               SetRule(number,
                       {Rule::Kind::kRegister, static_cast<uint8_t>(other), 0});
      }
      default:
        return SetExpression(number, in.TakeBytes(in.Unsigned()),
                             operation == kValueExpression);
    }
  }

  static bool IsOfRegister(uint8_t operation) {
    constexpr uint8_t kOfRegister[] = {kOffsetExtended, kRestoreExtended,
                                       kUndefined,      kSameValue,
                                       kInRegister,     kExpression,
                                       kValueOffset,    kValueOffsetSigned,
                                       kOffsetNegative, kOffsetExtendedSigned,
                                       kValueExpression};
    return std::find(std::begin(kOfRegister), std::end(kOfRegister),
                     operation) != std::end(kOfRegister);
  }

  const CommonFrame& common_;
  const uint64_t pc_;
  uint64_t place_ = 0;
  UnwindRow row_;
  std::array<Rule, kKeptCount> initial_ = {};
  std::array<UnwindRow, kMostAsideStates> aside_;
  size_t aside_count_ = 0;
};

}  // namespace

std::optional<CommonFrame> ParseCommonFrame(std::span<const uint8_t> body,
                                            uint64_t address) {
  TableBytes in(body, address);
  CommonFrame out;
  const uint8_t version = in.Take<uint8_t>();
  if (version != 1 && version != 3) return std::nullopt;
  std::array<char, kMostAugmentation> letters = {};
  size_t count = 0;
  for (char c; (c = in.Take<char>()) != 0;) {
    if (count == letters.size()) return std::nullopt;
    letters[count++] = c;
  }
  out.code_step = in.Unsigned();
  out.data_step = in.Signed();
  const uint64_t returns_by = version == 1 ? in.Take<uint8_t>() : in.Unsigned();
  if (!in.ok() || returns_by != kRip || (count > 0 && letters[0] != 'z'))
    return std::nullopt;
  if (count > 0) {
    out.augmented = true;
    const uint64_t bytes = in.Unsigned();
    const uint64_t block_at = in.address();
    TableBytes block(in.TakeBytes(bytes), block_at);
    for (const char letter :
         std::string_view(letters.data(), count).substr(1)) {
      if (letter == 'R')
        out.pointer_encoding = block.Take<uint8_t>();
      else if (letter ==
               'P')  // a routine of the language's, and how it is told
        block.Pointer(block.Take<uint8_t>() & 0x0f);
      else if (letter == 'L')
        block.Take<uint8_t>();
      else if (letter == 'S')
        out.signal_frame = true;
      else
        break;  // what it stands for is in the block, and skipped with it
    }
    if (!block.ok() || !in.ok()) return std::nullopt;
  }
  if (out.pointer_encoding == kNoPointer) return std::nullopt;
  const uint64_t left = address + body.size() - in.address();
  out.program = in.TakeBytes(left);
  return out;
}

std::optional<FunctionFrame> ParseFunctionFrame(const CommonFrame& common,
                                                std::span<const uint8_t> body,
                                                uint64_t address) {
  TableBytes in(body, address);
  FunctionFrame out;
  out.begin = in.Pointer(common.pointer_encoding);
  out.bytes = in.Pointer(common.pointer_encoding & 0x0f);
  if (common.augmented) in.TakeBytes(in.Unsigned());
  if (!in.ok() || out.begin + out.bytes < out.begin) return std::nullopt;
  const uint64_t left = address + body.size() - in.address();
  out.program = in.TakeBytes(left);
  return out;
}

UnwindRow RunFramePrograms(const CommonFrame& common,
                           const FunctionFrame& function, uint64_t pc) {
  Machine machine(common, pc);
  // Nothing in the common part is of a place.
  bool ok = machine.Run(common.program, 0);
  machine.KeepInitial();
  ok = ok && machine.Run(function.program, function.begin);
  if (ok && machine.row().cfa != UnwindRow::Cfa::kUnknown) return machine.row();
  UnwindRow bad;
  bad.kind = UnwindRow::Kind::kBadTable;
  return bad;
}

}  // namespace sonde

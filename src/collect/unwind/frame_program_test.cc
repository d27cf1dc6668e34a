#include "collect/unwind/frame_program.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace sonde {
namespace {

using Bytes = std::vector<uint8_t>;
using Rule = UnwindRow::Rule;
using Kind = UnwindRow::Kind;

constexpr uint64_t kBegin = 0x1000;
// As compilers begin: CFA is rsp + 8, the return address lies at CFA - 8.
const Bytes kUsual = {0x0c, 7, 8, 0x80 | 16, 1};

UnwindRow RowOf(const Bytes& program, uint64_t pc = kBegin,
                const Bytes& common_program = kUsual) {
  CommonFrame common;
  common.data_step = -8;
  common.program = common_program;
  return RunFramePrograms(common, {kBegin, 0x100, program}, pc);
}

Rule RuleOf(const UnwindRow& row, Register number) {
  for (size_t i = 0; i < kKeptCount; ++i)
    if (kKept[i] == number) return row.rules[i];
  return {};
}

TEST(FrameProgram, TheCommonPartAloneIsAFunctionsEntry) {
  const UnwindRow row = RowOf({});
  EXPECT_EQ(row.kind, Kind::kTable);
  EXPECT_EQ(row.cfa, UnwindRow::Cfa::kRegister);
  EXPECT_EQ(row.cfa_register, kRsp);
  EXPECT_EQ(row.cfa_offset, 8);
  EXPECT_EQ(RuleOf(row, kRip), (Rule{Rule::Kind::kAtCfa, 0, -8}));
  EXPECT_EQ(RuleOf(row, kRbp), Rule{});
}

TEST(FrameProgram, ARuleHoldsFromItsPlaceOn) {
  // push %rbp; mov %rsp,%rbp
  const Bytes program = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6};
  EXPECT_EQ(RowOf(program, kBegin).cfa_offset, 8);
  EXPECT_EQ(RowOf(program, kBegin + 1).cfa_offset, 16);
  EXPECT_EQ(RuleOf(RowOf(program, kBegin), kRbp), Rule{});
  EXPECT_EQ(RuleOf(RowOf(program, kBegin + 1), kRbp),
            (Rule{Rule::Kind::kAtCfa, 0, -16}));
  EXPECT_EQ(RowOf(program, kBegin + 3).cfa_register, kRsp);
  EXPECT_EQ(RowOf(program, kBegin + 4).cfa_register, kRbp);
  EXPECT_EQ(RowOf(program, kBegin + 0xff).cfa_register, kRbp);
}

TEST(FrameProgram, EveryWayToAdvanceIsUnderstood) {
  for (const Bytes& advance :
       {Bytes{0x02, 4}, Bytes{0x03, 4, 0}, Bytes{0x04, 4, 0, 0, 0},
        Bytes{0x01, 0x04, 0x10, 0, 0, 0, 0, 0, 0}}) {
    Bytes program = advance;
    program.insert(program.end(), {0x0e, 64});
    EXPECT_EQ(RowOf(program, kBegin + 3).cfa_offset, 8);
    EXPECT_EQ(RowOf(program, kBegin + 4).cfa_offset, 64);
  }
}

TEST(FrameProgram, EveryRuleOfARegisterIsUnderstood) {
  const auto rbx = [](const Bytes& program) {
    const UnwindRow row = RowOf(program);
    EXPECT_EQ(row.kind, Kind::kTable);
    return RuleOf(row, kRbx);
  };
  const auto at = [](int32_t offset) {
    return Rule{Rule::Kind::kAtCfa, 0, offset};
  };
  EXPECT_EQ(rbx({0x83, 3}), at(-24));
  EXPECT_EQ(rbx({0x05, 3, 3}), at(-24));
  EXPECT_EQ(rbx({0x11, 3, 0x7f}), at(8)) << "-1 times the step of -8";
  EXPECT_EQ(rbx({0x2f, 3, 3}), at(24));
  EXPECT_EQ(rbx({0x14, 3, 2}), (Rule{Rule::Kind::kCfa, 0, -16}));
  EXPECT_EQ(rbx({0x15, 3, 0x7f}), (Rule{Rule::Kind::kCfa, 0, 8}));
  EXPECT_EQ(rbx({0x09, 3, 12}), (Rule{Rule::Kind::kRegister, 12, 0}));
  EXPECT_EQ(rbx({0x83, 3, 0xc3}), Rule{}) << "as the common part has it";
  EXPECT_EQ(rbx({0x83, 3, 0x06, 3}), Rule{});
  const UnwindRow restored =
      RowOf({0x83, 3, 0xc3}, kBegin, {0x0c, 7, 8, 0x83, 5});
  EXPECT_EQ(RuleOf(restored, kRbx), at(-40)) << "where it was saved already";
  EXPECT_EQ(rbx({0x83, 3, 0x08, 3}), Rule{});
  EXPECT_EQ(rbx({0x07, 3}).kind, Rule::Kind::kUndefined);
  // breg7 + 40: where the kernel saved it.
  EXPECT_EQ(rbx({0x10, 3, 2, 0x77, 40}),
            (Rule{Rule::Kind::kAtRegister, kRsp, 40}));
  EXPECT_EQ(rbx({0x16, 3, 2, 0x77, 40}),
            (Rule{Rule::Kind::kRegister, kRsp, 40}));
  EXPECT_EQ(rbx({0x16, 3, 3, 0x77, 40, 0x06}),
            (Rule{Rule::Kind::kAtRegister, kRsp, 40}));
  EXPECT_EQ(rbx({0x10, 3, 1, 0x96}).kind, Rule::Kind::kUnknown);
  EXPECT_EQ(rbx({0x2e, 16, 0x00}), Rule{}) << "says nothing of registers";
  EXPECT_EQ(rbx({0x81, 3}), Rule{}) << "of rdx, which nobody follows";
}

TEST(FrameProgram, EveryRuleOfTheCfaIsUnderstood) {
  const UnwindRow wide = RowOf({0x12, 6, 0x7e});
  EXPECT_EQ(wide.cfa_register, kRbp);
  EXPECT_EQ(wide.cfa_offset, 16);
  EXPECT_EQ(RowOf({0x13, 0x7d}).cfa_offset, 24);
  const UnwindRow plus = RowOf({0x0f, 2, 0x7d, 0x10});  // breg13 + 16
  EXPECT_EQ(plus.cfa, UnwindRow::Cfa::kRegister);
  EXPECT_EQ(plus.cfa_register, kR13);
  const UnwindRow memory = RowOf({0x0f, 3, 0x76, 0x78, 0x06});  // *(rbp - 8)
  EXPECT_EQ(memory.cfa, UnwindRow::Cfa::kMemory);
  EXPECT_EQ(memory.cfa_register, kRbp);
  EXPECT_EQ(memory.cfa_offset, -8);
  const UnwindRow more = RowOf({0x0f, 5, 0x77, 24, 0x06, 0x23, 8});
  EXPECT_EQ(more.cfa, UnwindRow::Cfa::kMemory);
  EXPECT_EQ(more.cfa_add, 8);
  const UnwindRow plt = RowOf(
      {0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22});
  EXPECT_EQ(plt.cfa, UnwindRow::Cfa::kPlt);
  EXPECT_EQ(plt.cfa_add, 11);
  EXPECT_EQ(RowOf({0x0f, 2, 0x96, 0x96}).kind, Kind::kBadTable);
  EXPECT_EQ(RowOf({0x0f, 3, 0x77, 24, 0x1f}).kind, Kind::kBadTable);
  EXPECT_EQ(RowOf({0x0f, 5, 0x77, 24, 0x06, 0x1e, 8}).kind, Kind::kBadTable);
}

TEST(FrameProgram, AStatePutAsideComesBackWithItsCfa) {
  const Bytes program = {0x0e, 32, 0x86, 2,    0x0a, 0x41,
                         0x0e, 8,  0xc6, 0x41, 0x0b};
  EXPECT_EQ(RowOf(program, kBegin + 1).cfa_offset, 8);
  EXPECT_EQ(RuleOf(RowOf(program, kBegin + 1), kRbp), Rule{});
  EXPECT_EQ(RowOf(program, kBegin + 2).cfa_offset, 32);
  EXPECT_EQ(RuleOf(RowOf(program, kBegin + 2), kRbp),
            (Rule{Rule::Kind::kAtCfa, 0, -16}));
}

TEST(FrameProgram, WhatMakesNoSenseIsABadTable) {
  const auto bad = [](const Bytes& program) {
    return RowOf(program).kind == Kind::kBadTable;
  };
  EXPECT_FALSE(bad({0x00}));
  EXPECT_TRUE(bad({0x0b})) << "nothing was put aside";
  EXPECT_FALSE(bad(Bytes(kMostAsideStates, 0x0a)));
  EXPECT_TRUE(bad(Bytes(kMostAsideStates + 1, 0x0a)));
  EXPECT_TRUE(bad({0x3f})) << "no such operation";
  EXPECT_TRUE(bad({0x0c, 17, 8})) << "no such register";
  EXPECT_TRUE(bad({0x09, 3, 17}));
  EXPECT_TRUE(bad({0x0e})) << "cut off";
  EXPECT_TRUE(bad({0x0f, 200, 1}));
  EXPECT_TRUE(bad(
      {0x10, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}));
  EXPECT_TRUE(bad({0x0e, 0xff, 0xff, 0xff, 0xff, 0x7f})) << "2^35 - 1";
  EXPECT_TRUE(bad({0x05, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}));
  EXPECT_EQ(RowOf({}, kBegin, {}).kind, Kind::kBadTable) << "no CFA at all";
}

TEST(FrameProgram, AnAdvanceBeyondAllAddressesEndsTheProgram) {
  CommonFrame common;
  common.code_step = ~uint64_t{0};
  common.data_step = -8;
  common.program = kUsual;
  const Bytes program = {0x7f, 0x0e, 99};
  EXPECT_EQ(RunFramePrograms(common, {kBegin, 16, program}, kBegin).cfa_offset,
            8);
}

// A CIE as gcc writes it, behind its id: version, "zR", steps, the register
// that returns, the block, the program.
Bytes Common(std::initializer_list<uint8_t> letters,
             std::initializer_list<uint8_t> block) {
  Bytes out = {1};
  out.insert(out.end(), letters);
  out.insert(out.end(), {0, 1, 0x78, 16});
  if (letters.size() > 0) out.push_back(static_cast<uint8_t>(block.size()));
  out.insert(out.end(), block);
  out.insert(out.end(), kUsual.begin(), kUsual.end());
  return out;
}

TEST(CommonFrame, TheUsualOnesAreRead) {
  const Bytes bytes = Common({'z', 'R'}, {0x1b});
  const auto plain = ParseCommonFrame(bytes, 0);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->code_step, 1u);
  EXPECT_EQ(plain->data_step, -8);
  EXPECT_EQ(plain->pointer_encoding, 0x1b);
  EXPECT_FALSE(plain->signal_frame);
  EXPECT_EQ(plain->program.size(), kUsual.size());
  // With a routine of C++, and of a signal.
  const Bytes full =
      Common({'z', 'P', 'L', 'R', 'S'}, {0x9b, 1, 2, 3, 4, 0x1b, 0x1b});
  const auto signal = ParseCommonFrame(full, 0);
  ASSERT_TRUE(signal);
  EXPECT_EQ(signal->pointer_encoding, 0x1b);
  EXPECT_TRUE(signal->signal_frame);
  EXPECT_EQ(signal->program.size(), kUsual.size());
  // What a later compiler adds is skipped.
  const Bytes later = Common({'z', 'R', '?'}, {0x1b, 9, 9, 9});
  EXPECT_TRUE(ParseCommonFrame(later, 0));
  EXPECT_EQ(ParseCommonFrame(later, 0)->program.size(), kUsual.size());
}

TEST(CommonFrame, EveryTruncationIsRefusedOrShorter) {
  const Bytes whole =
      Common({'z', 'P', 'L', 'R'}, {0x9b, 1, 2, 3, 4, 0x1b, 0x1b});
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto part = ParseCommonFrame(std::span(whole).first(size), 0);
    if (part) {
      EXPECT_LT(part->program.size(), kUsual.size());
    }
  }
}

TEST(CommonFrame, WhatIsNotUnderstoodIsRefused) {
  Bytes bytes = Common({'z', 'R'}, {0x1b});
  bytes[0] = 9;  // version
  EXPECT_FALSE(ParseCommonFrame(bytes, 0));
  EXPECT_FALSE(ParseCommonFrame(Common({'e', 'h'}, {}), 0));
  EXPECT_FALSE(ParseCommonFrame(Common({'z', 'R'}, {0xff}), 0));
  Bytes endless(100, 'z');
  endless[0] = 1;
  EXPECT_FALSE(ParseCommonFrame(endless, 0));
  Bytes arm = Common({'z', 'R'}, {0x1b});
  arm[6] = 30;  // returns by x30
  EXPECT_FALSE(ParseCommonFrame(arm, 0));
}

TEST(FunctionFrame, ItsPlaceIsRelativeToItself) {
  CommonFrame common;
  common.pointer_encoding = 0x1b;
  common.augmented = true;
  const Bytes bytes = {0xf0, 0xff, 0xff, 0xff, 0x20, 0, 0, 0, 1, 7, 0x41};
  const auto function = ParseFunctionFrame(common, bytes, 0x2000);
  ASSERT_TRUE(function);
  EXPECT_EQ(function->begin, 0x1ff0u);
  EXPECT_EQ(function->bytes, 0x20u);
  EXPECT_EQ(function->program.size(), 1u) << "the block is skipped";
  for (size_t size = 0; size + 1 < bytes.size(); ++size)
    EXPECT_FALSE(
        ParseFunctionFrame(common, std::span(bytes).first(size), 0x2000));
}

}  // namespace
}  // namespace sonde

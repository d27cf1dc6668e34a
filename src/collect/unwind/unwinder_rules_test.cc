// Stacks made by hand, through code of no file and through functions with rules
// made by hand. Those of real programs are in unwinder_test.cc.

#include <gtest/gtest.h>

#include "collect/unwind/unwinder.h"

#if defined(__x86_64__)

#include <elf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <initializer_list>
#include <vector>

#include "base/fd.h"

namespace sonde {
namespace {

// Code of no file in this process, whose stacks can only be guessed.
struct Made : testing::Test {
  Made() {
    memory = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    pc = reinterpret_cast<uint64_t>(memory) + 16;
    registers.Set(kRip, pc);
    registers.Set(kRsp, kStack);
    registers.Set(kRbp, kStack + 16);
  }
  ~Made() override { ::munmap(memory, 4096); }
  NativeStack Unwind(const std::vector<uint64_t>& words) {
    NativeStack out;
    unwinder.Unwind(
        code, registers,
        {kStack,
         {reinterpret_cast<const uint8_t*>(words.data()), words.size() * 8}},
        out);
    return out;
  }

  static constexpr uint64_t kStack = 0x10000;
  CodeFiles files;
  ProcessCode code{::getpid(), files};
  Unwinder unwinder;
  void* memory;
  uint64_t pc;
  Registers registers;
};

TEST_F(Made, FramePointersAreFollowedUpward) {
  const NativeStack stack =
      Unwind({9, 9, kStack + 32, pc + 1, 0, pc + 2, 9, 9});
  EXPECT_EQ(stack.end, UnwindEnd::kComplete) << NameOf(stack.end);
  ASSERT_EQ(stack.frames.size(), 3u);
  EXPECT_FALSE(stack.frames[0].guessed);
  EXPECT_TRUE(stack.frames[1].guessed);
  EXPECT_EQ(stack.frames[1].pc, pc + 1);
  EXPECT_EQ(stack.frames[2].pc, pc + 2);
  EXPECT_EQ(stack.frames[2].file, nullptr);
}

TEST_F(Made, FramePointersThatMakeNoSenseEndTheStack) {
  // Not into code; a circle; downward; not aligned.
  EXPECT_EQ(Unwind({9, 9, kStack + 32, 4711}).end, UnwindEnd::kNoTable);
  const NativeStack circle = Unwind({9, 9, kStack + 16, pc});
  EXPECT_EQ(circle.end, UnwindEnd::kNoTable);
  EXPECT_EQ(circle.frames.size(), 2u);
  EXPECT_EQ(Unwind({9, 9, kStack + 8, pc}).end, UnwindEnd::kNoTable);
  EXPECT_EQ(Unwind({9, 9, kStack + 33, pc, 0, 0, 0}).end, UnwindEnd::kNoTable);
  EXPECT_EQ(Unwind({9, 9, kStack + 32, pc}).end, UnwindEnd::kEndOfCopy);
  registers.Forget(kRbp);
  EXPECT_EQ(Unwind({9, 9, kStack + 32, pc}).end, UnwindEnd::kUnknownRegister);
}

TEST_F(Made, AStackOfTooManyFramesIsCut) {
  std::vector<uint64_t> words = {9, 9};
  for (size_t i = 0; i < Unwinder::kMostFrames + 10; ++i)
    words.insert(words.end(), {kStack + 16 * (i + 2), pc});
  const NativeStack stack = Unwind(words);
  EXPECT_EQ(stack.end, UnwindEnd::kTooDeep);
  EXPECT_EQ(stack.frames.size(), Unwinder::kMostFrames);
}

TEST_F(Made, APlaceInNoCodeHasNoFrames) {
  registers.Set(kRip, 8);
  const NativeStack stack = Unwind({1, 2, 3});
  EXPECT_EQ(stack.end, UnwindEnd::kNoCode);
  EXPECT_TRUE(stack.frames.empty());
  registers.Forget(kRip);
  EXPECT_EQ(Unwind({1, 2, 3}).end, UnwindEnd::kUnknownRegister);
}

// Functions in a file of our own, mapped: each rule of a row, executed.
struct Ruled : testing::Test {
  static constexpr uint64_t kStack = 0x10000;
  // A file with one function, at 0x800, whose program this is, behind the usual
  // beginning. It returns into itself.
  NativeStack Unwind(std::initializer_list<uint8_t> program,
                     std::vector<uint64_t> words, const char* letters = "zR",
                     uint32_t entry_bytes = 0x3c) {
    std::vector<uint8_t> bytes(0x1000);
    const auto put = [&](size_t at, const auto& value) {
      std::memcpy(&bytes[at], &value, sizeof(value));
    };
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_machine = EM_X86_64;
    header.e_phoff = sizeof(header);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 2;
    put(0, header);
    Elf64_Phdr load = {}, frames = {};
    load.p_type = PT_LOAD;
    load.p_flags = PF_R | PF_X;
    load.p_filesz = bytes.size();
    put(sizeof(header), load);
    frames.p_type = PT_GNU_EH_FRAME;
    frames.p_offset = frames.p_vaddr = 0x200;
    frames.p_filesz = 20;
    put(sizeof(header) + sizeof(load), frames);
    const int32_t list[] = {0x3b031b01, 0, 1, 0x800 - 0x200, 0x340 - 0x200};
    put(0x200, list);
    // The common part at 0x300, the function's at 0x340.
    put(0x300, uint32_t{0x3c});
    bytes[0x308] = 1;
    size_t at = 0x309;
    for (const char* c = letters; *c != 0; ++c) bytes[at++] = uint8_t(*c);
    ++at;
    for (const int byte : {1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1})
      bytes[at++] = static_cast<uint8_t>(byte);
    put(0x340, entry_bytes);
    put(0x344, uint32_t{0x44});
    put(0x348, int32_t{0x800 - 0x348});
    put(0x34c, uint32_t{0x100});
    at = 0x351;
    for (const uint8_t byte : program) bytes[at++] = byte;

    char path[] = "/tmp/sonde-ruled-XXXXXX";
    const Fd fd(::mkstemp(path));
    EXPECT_EQ(WriteAll(fd.get(), bytes.data(), bytes.size()), 0);
    memory = ::mmap(nullptr, bytes.size(), PROT_READ | PROT_EXEC, MAP_PRIVATE,
                    fd.get(), 0);
    EXPECT_NE(memory, MAP_FAILED);
    const uint64_t begin = reinterpret_cast<uint64_t>(memory);
    registers.Set(kRip, begin + 0x810);
    registers.Set(kRsp, kStack);
    // 1, 2, ... stand for places in the function, 0xf0 for its end.
    for (uint64_t& word : words)
      if (word > 0 && word < 0x100) word += begin + 0x810;
    NativeStack out;
    CodeFiles files;
    ProcessCode code(::getpid(), files);
    Unwinder unwinder;
    unwinder.Unwind(
        code, registers,
        {kStack,
         {reinterpret_cast<const uint8_t*>(words.data()), words.size() * 8}},
        out);
    for (NativeFrame& frame : out.frames) frame.pc -= begin + 0x810;
    ::unlink(path);
    ::munmap(memory, bytes.size());
    return out;
  }
  static std::vector<uint64_t> Places(const NativeStack& stack) {
    std::vector<uint64_t> out;
    for (const NativeFrame& frame : stack.frames) out.push_back(frame.pc);
    return out;
  }

  void* memory = nullptr;
  Registers registers;
};
using List = std::vector<uint64_t>;

TEST_F(Ruled, TheReturnAddressOfZeroIsTheEnd) {
  const NativeStack stack = Unwind({}, {1, 2, 3, 0});
  EXPECT_EQ(stack.end, UnwindEnd::kComplete) << NameOf(stack.end);
  EXPECT_EQ(Places(stack), (List{0, 1, 2, 3}));
}

TEST_F(Ruled, AnUndefinedReturnAddressIsTheEnd) {
  const NativeStack stack = Unwind({0x07, 16}, {1, 2, 3});
  EXPECT_EQ(stack.end, UnwindEnd::kComplete);
  EXPECT_EQ(Places(stack), (List{0}));
}

TEST_F(Ruled, ASavedRegisterBelowTheStackPointerIsBackAlready) {
  // Up to 0x811 the CFA is rsp + 8 and rbp is saved at CFA - 16, a slot that
  // was popped. From 0x812 on the CFA is rbp + 16.
  registers.Set(kRbp, kStack + 16);
  const NativeStack stack =
      Unwind({0x86, 2, 0x02, 0x12, 0x0c, 6, 16}, {3, 0, kStack + 32, 4, 0, 0});
  EXPECT_EQ(stack.end, UnwindEnd::kComplete) << NameOf(stack.end);
  EXPECT_EQ(Places(stack), (List{0, 3, 4}));
}

TEST_F(Ruled, ACallAtTheEndOfAFunctionIsPartOfIt) {
  // Of a function that does not return, as exit().
  const NativeStack stack = Unwind({}, {0xf0, 2, 0});
  EXPECT_EQ(stack.end, UnwindEnd::kComplete) << NameOf(stack.end);
  EXPECT_EQ(Places(stack), (List{0, 0xf0, 2}));
}

TEST_F(Ruled, TheCfaByRbpNeedsRbp) {
  // CFA = rbp + 16, rbp saved at CFA - 16.
  const auto program = {uint8_t{0x0c}, uint8_t{6}, uint8_t{16}, uint8_t{0x86},
                        uint8_t{2}};
  registers.Set(kRbp, kStack + 8);
  const NativeStack stack = Unwind(
      program, {9, kStack + 24, 1, kStack + 40, 2, kStack + 56, 0, 0, 0});
  EXPECT_EQ(stack.end, UnwindEnd::kComplete) << NameOf(stack.end);
  EXPECT_EQ(Places(stack), (List{0, 1, 2}));
  registers = {};
  EXPECT_EQ(Unwind(program, {9, 9, 1}).end, UnwindEnd::kUnknownRegister);
}

TEST_F(Ruled, ACfaThatLiesInMemoryIsReadThere) {
  // CFA = *(rsp + 8): the frames leap over a word.
  const NativeStack stack =
      Unwind({0x0f, 3, 0x77, 8, 0x06},
             {9, kStack + 24, 1, 9, kStack + 48, 2, 9, kStack + 72, 0});
  EXPECT_EQ(stack.end, UnwindEnd::kComplete) << NameOf(stack.end);
  EXPECT_EQ(Places(stack).at(1), 1u);
}

TEST_F(Ruled, AFrameThatDoesNotLeadUpwardIsABadTable) {
  EXPECT_EQ(Unwind({0x0e, 0}, {1, 2, 3}).end, UnwindEnd::kBadTable);
}

TEST_F(Ruled, TablesThatAreLotsOfWorkEndTheStack) {
  std::vector<uint64_t> words;
  for (uint64_t place = 1; place < 0xf0; ++place) words.push_back(place);
  words.push_back(0);
  // A program of mostly nothing, for each place again.
  EXPECT_EQ(Unwind({}, words, "zR", 0x4bc).end, UnwindEnd::kTooDeep);
  EXPECT_EQ(Unwind({}, words).end, UnwindEnd::kComplete);
}

TEST_F(Ruled, AReturnAddressInNoCodeEndsTheStack) {
  const NativeStack stack = Unwind({}, {1, 0x4711, 2});
  EXPECT_EQ(stack.end, UnwindEnd::kNoCode);
  EXPECT_EQ(Places(stack), (List{0, 1}));
}

TEST_F(Ruled, AfterASignalThePlaceIsExact) {
  const NativeStack stack = Unwind({}, {1, 2, 0}, "zRS");
  ASSERT_EQ(stack.frames.size(), 3u);
  EXPECT_FALSE(stack.frames[1].is_return_address);
  EXPECT_FALSE(stack.frames[2].is_return_address);
}

}  // namespace
}  // namespace sonde

#endif

#include "collect/unwind/prologue.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/fd.h"

namespace sonde {
namespace {

using Rule = UnwindRow::Rule;
using Bytes = std::vector<uint8_t>;

constexpr uint64_t kBegin = 0x800;
constexpr uint64_t kFileBytes = 0x10000;

// A file without tables, with these bytes at kBegin.
struct PrologueTest : testing::Test {
  const CodeFile& FileOf(const Bytes& code) {
    Bytes bytes(kFileBytes, 0x90);
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_machine = EM_X86_64;
    header.e_phoff = sizeof(header);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    Elf64_Phdr load = {};
    load.p_type = PT_LOAD;
    load.p_flags = PF_R | PF_X;
    load.p_filesz = bytes.size();
    std::memcpy(bytes.data(), &header, sizeof(header));
    std::memcpy(&bytes[sizeof(header)], &load, sizeof(load));
    std::copy(code.begin(), code.end(), &bytes[kBegin]);
    Fd fd(::memfd_create("elf", MFD_CLOEXEC));
    EXPECT_EQ(WriteAll(fd.get(), bytes.data(), bytes.size()), 0);
    return *files.Add(std::move(fd), "x");
  }
  std::optional<UnwindRow> RowAt(const Bytes& code, uint64_t address) {
    uint64_t bytes_read = 0;
    return RowByPrologue(FileOf(code), address, bytes_read);
  }

  CodeFiles files;
};

Rule AtCfa(int32_t offset) { return {Rule::Kind::kAtCfa, 0, offset}; }

TEST_F(PrologueTest, WhatTheBeginningPutsOnTheStackIsFound) {
  // endbr64; push %r12; sub $0x80,%rsp; mov %rbx,(%rsp); mov %r13,0x18(%rsp)
  const Bytes code = {0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x54, 0x48, 0x81,
                      0xec, 0x80, 0,    0,    0,    0x48, 0x89, 0x1c,
                      0x24, 0x4c, 0x89, 0x6c, 0x24, 0x18};
  const auto row = RowAt(code, kBegin + 0x100);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->kind, UnwindRow::Kind::kPrologue);
  EXPECT_EQ(row->cfa_register, kRsp);
  EXPECT_EQ(row->cfa_offset, 8 + 8 + 0x80);
  EXPECT_EQ(row->rules[0], AtCfa(-0x90)) << "rbx";
  EXPECT_EQ(row->rules[1], Rule()) << "rbp is as it was";
  EXPECT_EQ(row->rules[2], AtCfa(-16)) << "r12";
  EXPECT_EQ(row->rules[3], AtCfa(-0x90 + 0x18)) << "r13";
  EXPECT_EQ(row->rules[6], AtCfa(-8)) << "rip";
}

TEST_F(PrologueTest, WhatComesLaterHasNotBeenDone) {
  const Bytes code = {0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x54,
                      0x55, 0x48, 0x83, 0xec, 0x20};
  EXPECT_EQ(RowAt(code, kBegin)->cfa_offset, 8);
  EXPECT_EQ(RowAt(code, kBegin + 4)->cfa_offset, 8);
  EXPECT_EQ(RowAt(code, kBegin + 6)->cfa_offset, 16);
  EXPECT_EQ(RowAt(code, kBegin + 7)->cfa_offset, 24);
  EXPECT_EQ(RowAt(code, kBegin + 11)->cfa_offset, 24 + 0x20);
}

TEST_F(PrologueTest, TheLastBeginningCounts) {
  Bytes code(0x40, 0x90);
  for (const size_t at : {0x00, 0x20})
    std::copy_n(std::begin({0xf3, 0x0f, 0x1e, 0xfa}), 4, &code[at]);
  code[0x24] = 0x53;  // push %rbx
  EXPECT_EQ(RowAt(code, kBegin + 0x1f)->cfa_offset, 8);
  EXPECT_EQ(RowAt(code, kBegin + 0x30)->cfa_offset, 16);
}

TEST_F(PrologueTest, WhereNothingIsKnownThereIsNoRow) {
  EXPECT_FALSE(RowAt({0x53, 0x90}, kBegin + 1)) << "no beginning";
  EXPECT_FALSE(RowAt({0x90, 0xf3, 0x0f, 0x1e, 0xfa}, kBegin + 8))
      << "not at a multiple of 16";
  const Bytes code = {0xf3, 0x0f, 0x1e, 0xfa};
  EXPECT_TRUE(RowAt(code, kBegin + 0x7000));
  EXPECT_FALSE(RowAt(code, kBegin + 0x9000)) << "too far";
  EXPECT_FALSE(RowAt(code, kFileBytes + 0x100)) << "in no code";
  EXPECT_FALSE(RowAt(code, ~uint64_t{0}));
  // push %rbp; mov %rsp,%rbp: who keeps its frame there needs no guess.
  EXPECT_FALSE(
      RowAt({0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5}, kBegin + 0x20));
}

TEST_F(PrologueTest, ACallIsKnownByItsForms) {
  const auto behind = [&](const Bytes& code) {
    Bytes all(16, 0x90);
    all.insert(all.end(), code.begin(), code.end());
    return IsBehindCall(FileOf(all), kBegin + all.size());
  };
  EXPECT_TRUE(behind({0xe8, 1, 2, 3, 4}));
  EXPECT_TRUE(behind({0xff, 0xd0})) << "call *%rax";
  EXPECT_TRUE(behind({0x41, 0xff, 0xd2})) << "call *%r10";
  EXPECT_TRUE(behind({0xff, 0x50, 0x18})) << "call *0x18(%rax)";
  EXPECT_TRUE(behind({0xff, 0x15, 1, 2, 3, 4})) << "call *there(%rip)";
  EXPECT_FALSE(behind({0x90, 0x90}));
  EXPECT_FALSE(behind({0xff, 0xe0})) << "jmp *%rax";
  EXPECT_FALSE(IsBehindCall(FileOf({}), 3));
}

}  // namespace
}  // namespace sonde

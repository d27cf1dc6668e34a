#include "collect/unwind/eh_frame.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace sonde {
namespace {

using Kind = UnwindRow::Kind;

// A file whose two functions, of 16 bytes at 0x800 and 0x820, keep 16 and 32
// bytes on the stack. Addresses are offsets in the file.
struct TableElf {
  struct Common {
    uint32_t length = sizeof(Common) - 4;
    uint32_t id = 0;
    uint8_t version = 1;
    char letters[3] = "zR";
    uint8_t steps[3] = {1, 0x78, 16};
    uint8_t block[2] = {1, 0x1b};
    uint8_t program[7] = {0x0c, 7, 8, 0x90, 1, 0, 0};
  };
  struct Function {
    uint32_t length = sizeof(Function) - 4;
    uint32_t back = 0;
    int32_t begin = 0;
    uint32_t bytes = 16;
    uint8_t block = 0;
    uint8_t program[7] = {0x0e, 0, 0, 0, 0, 0, 0};
  };

  Elf64_Ehdr header = {};
  Elf64_Phdr load = {};
  Elf64_Phdr frames = {};
  // .eh_frame_hdr
  uint8_t head[4] = {1, 0x1b, 0x03, 0x3b};
  int32_t frame_pointer = 0;
  uint32_t count = 2;
  int32_t sorted[2][2] = {};
  Common common;
  Function functions[2];
  uint8_t code[0x800] = {};

  TableElf() {
    static_assert(sizeof(Common) == 24 && sizeof(Function) == 24);
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_machine = EM_X86_64;
    header.e_phoff = offsetof(TableElf, load);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 2;
    load.p_type = PT_LOAD;
    load.p_flags = PF_R | PF_X;
    load.p_filesz = sizeof(TableElf);
    frames.p_type = PT_GNU_EH_FRAME;
    frames.p_offset = frames.p_vaddr = offsetof(TableElf, head);
    frames.p_filesz = offsetof(TableElf, common) - offsetof(TableElf, head);
    for (int i = 0; i < 2; ++i) {
      const int32_t begin = 0x800 + 0x20 * i;
      const int32_t entry = At(&functions[i]);
      functions[i].back = static_cast<uint32_t>(entry + 4 - At(&common));
      functions[i].begin = begin - At(&functions[i].begin);
      functions[i].program[1] = static_cast<uint8_t>(16 * (i + 1));
      sorted[i][0] = begin - At(head);
      sorted[i][1] = entry - At(head);
    }
  }
  int32_t At(const void* field) const {
    return static_cast<int32_t>(static_cast<const char*>(field) -
                                reinterpret_cast<const char*>(this));
  }
  Fd Open(size_t size = sizeof(TableElf)) const {
    Fd fd(::memfd_create("elf", MFD_CLOEXEC));
    EXPECT_EQ(WriteAll(fd.get(), this, size), 0);
    return fd;
  }
  UnwindRow Find(uint64_t address) const {
    CodeFiles files;
    return EhFrame().Find(*files.Add(Open(), "x"), address);
  }
};

TEST(EhFrame, APlaceHasTheRowOfItsFunction) {
  const TableElf elf;
  EXPECT_EQ(elf.Find(0x800).cfa_offset, 16);
  EXPECT_EQ(elf.Find(0x80f).cfa_offset, 16);
  EXPECT_EQ(elf.Find(0x820).cfa_offset, 32);
  EXPECT_EQ(elf.Find(0x82f).cfa_offset, 32);
  EXPECT_EQ(elf.Find(0x82f).kind, Kind::kTable);
}

TEST(EhFrame, WhatLiesBetweenFunctionsHasNoTable) {
  const TableElf elf;
  EXPECT_EQ(elf.Find(0x7ff).kind, Kind::kNoTable);
  EXPECT_EQ(elf.Find(0x810).kind, Kind::kNoTable);
  EXPECT_EQ(elf.Find(0x81f).kind, Kind::kNoTable);
  EXPECT_EQ(elf.Find(0x830).kind, Kind::kNoTable);
  EXPECT_EQ(elf.Find(0).kind, Kind::kNoTable);
  EXPECT_EQ(elf.Find(~uint64_t{0}).kind, Kind::kNoTable);
  TableElf none;
  none.frames.p_type = PT_NULL;
  EXPECT_EQ(none.Find(0x800).kind, Kind::kNoTable);
}

TEST(EhFrame, AReturnFromASignalIsKnownWithoutATable) {
  TableElf elf;
  const uint8_t code[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
  std::memcpy(elf.code + (0x850 - elf.At(elf.code)), code, sizeof(code));
  // The place that a handler returns to, and the byte before it.
  for (const uint64_t at : {0x850u, 0x84fu}) {
    const UnwindRow row = elf.Find(at);
    EXPECT_EQ(row.kind, Kind::kTable);
    EXPECT_TRUE(row.signal_frame);
    EXPECT_EQ(row.cfa, UnwindRow::Cfa::kMemory);
    EXPECT_EQ(row.cfa_offset, 160);
  }
  EXPECT_EQ(elf.Find(0x84e).kind, Kind::kNoTable);
}

TEST(EhFrame, LyingFieldsAreABadTable) {
  const auto spoil = [](auto&& change) {
    TableElf elf;
    change(elf);
    return elf.Find(0x820).kind == Kind::kBadTable;
  };
  EXPECT_FALSE(spoil([](TableElf&) {}));
  EXPECT_TRUE(spoil([](TableElf& e) { e.head[0] = 2; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.head[1] = 0x5b; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.head[2] = 0xff; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.head[3] = 0x1b; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.count = 3; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.count = ~0u; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.frames.p_filesz -= 8; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.common.id = 1; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.frames.p_vaddr = 1 << 20; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.sorted[1][1] = 1 << 20; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.functions[1].length = 0; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.functions[1].length = ~0u; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.functions[1].length = 0x2000; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.functions[1].back = 0; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.functions[1].back = ~0u; }));
  // Its own common part: a circle.
  EXPECT_TRUE(spoil([](TableElf& e) { e.functions[1].back = 4; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.functions[1].block = 200; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.functions[1].program[0] = 0x3f; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.common.length = 0; }));
  EXPECT_TRUE(spoil([](TableElf& e) { e.common.block[0] = 200; }));
}

TEST(EhFrame, AFileCutShortUnderUsIsAFailure) {
  const TableElf elf;
  for (size_t size = 0; size < sizeof(TableElf); size += 7) {
    CodeFiles files;
    Fd fd = elf.Open();
    const Fd other(::dup(fd.get()));
    CodeFile* const file = files.Add(std::move(fd), "x");
    ASSERT_EQ(::ftruncate(other.get(), static_cast<off_t>(size)), 0);
    const UnwindRow row = EhFrame().Find(*file, 0x820);
    if (size < offsetof(TableElf, functions) + 2 * sizeof(TableElf::Function)) {
      EXPECT_EQ(row.kind, Kind::kBadTable) << size;
    }
  }
}

TEST(EhFrame, AnEntryThatIsTooLongIsABadTable) {
  TableElf elf;
  elf.functions[1].length = EhFrame::kMostEntryBytes + 1;
  elf.load.p_filesz = 1 << 20;
  Fd fd = elf.Open();
  ASSERT_EQ(::ftruncate(fd.get(), 1 << 20), 0);
  CodeFiles files;
  CodeFile* const file = files.Add(std::move(fd), "x");
  EXPECT_EQ(EhFrame().Find(*file, 0x820).kind, Kind::kBadTable);
  EXPECT_EQ(EhFrame().Find(*file, 0x800).kind, Kind::kTable);
}

}  // namespace
}  // namespace sonde

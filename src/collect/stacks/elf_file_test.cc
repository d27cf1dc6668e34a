#include "collect/stacks/elf_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

// A variable that is looked for in the file of this very program.
extern "C" {
extern int sonde_elf_test_variable;
int sonde_elf_test_variable = 17;
}

namespace sonde {
namespace {

Fd FileOf(std::string_view bytes) {
  Fd fd(::memfd_create("elf", MFD_CLOEXEC));
  EXPECT_EQ(WriteAll(fd.get(), bytes.data(), bytes.size()), 0);
  return fd;
}

// A file with one part to load, one variable and one section of data.
struct SmallElf {
  Elf64_Ehdr header = {};
  Elf64_Phdr load = {};
  Elf64_Sym symbols[3] = {};
  char strings[32] = "\0not_wanted_too\0wanted";
  char names[32] = "\0.symtab\0.strtab\0.data";
  Elf64_Shdr sections[5] = {};

  SmallElf() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_machine = EM_X86_64;
    header.e_phoff = offsetof(SmallElf, load);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    header.e_shoff = offsetof(SmallElf, sections);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 5;
    header.e_shstrndx = 4;
    load.p_type = PT_LOAD;
    load.p_offset = 0x1010;
    load.p_vaddr = 0x402010;
    // The first is not defined here, the second has another name.
    symbols[0] = {16, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, SHN_UNDEF, 1,
                  8};
    symbols[1] = {1, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 3, 2, 8};
    symbols[2] = {16, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 3, 0x403000, 8};
    sections[1].sh_name = 1;
    sections[1].sh_type = SHT_SYMTAB;
    sections[1].sh_offset = offsetof(SmallElf, symbols);
    sections[1].sh_size = sizeof(symbols);
    sections[1].sh_entsize = sizeof(Elf64_Sym);
    sections[1].sh_link = 2;
    sections[2].sh_name = 9;
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_offset = offsetof(SmallElf, strings);
    sections[2].sh_size = sizeof(strings);
    sections[3].sh_name = 17;
    sections[3].sh_type = SHT_PROGBITS;
    sections[3].sh_addr = 0x403000;
    sections[4].sh_type = SHT_STRTAB;
    sections[4].sh_offset = offsetof(SmallElf, names);
    sections[4].sh_size = sizeof(names);
  }
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(this), sizeof(*this)};
  }
  Result<ElfFile> Open() const { return ElfFile::Open(FileOf(bytes()), "x"); }
};

TEST(ElfFile, AVariableOfThisProgramIsFound) {
  auto elf = ElfFile::Open(Fd(::open("/proc/self/exe", O_RDONLY)), "exe");
  ASSERT_TRUE(elf.ok());
  const auto address = elf.value().VariableAddress("sonde_elf_test_variable");
  ASSERT_TRUE(address);
  // Page and place in it are the same wherever the program is loaded.
  EXPECT_EQ(
      (*address ^ reinterpret_cast<uint64_t>(&sonde_elf_test_variable)) & 4095,
      0u);
  EXPECT_FALSE(elf.value().VariableAddress("sonde_elf_test_variabl"));
  EXPECT_FALSE(elf.value().VariableAddress("onde_elf_test_variable"));
  EXPECT_TRUE(elf.value().SectionAddress(".data"));
  EXPECT_FALSE(elf.value().SectionAddress(".dat"));
}

TEST(ElfFile, OnlyWhatIsDefinedUnderThatNameIsFound) {
  const auto elf = SmallElf().Open();
  ASSERT_TRUE(elf.ok());
  EXPECT_EQ(elf.value().VariableAddress("wanted"), 0x403000u);
  EXPECT_EQ(elf.value().VariableAddress("not_wanted_too"), 2u);
  EXPECT_FALSE(elf.value().VariableAddress("want"));
  EXPECT_EQ(elf.value().SectionAddress(".data"), 0x403000u);
  EXPECT_EQ(elf.value().first_load().offset, 0x1000u);
  EXPECT_EQ(elf.value().first_load().address, 0x402000u);
  EXPECT_EQ(elf.value().machine(), EM_X86_64);
}

TEST(ElfFile, ANameAcrossTwoPiecesIsFound) {
  SmallElf small;
  // The name ends just behind the first piece of 64 KiB.
  std::string strings((64 << 10) - 3, 'x');
  const uint32_t place = static_cast<uint32_t>(strings.size());
  strings += std::string("wanted") + '\0';
  small.symbols[2].st_name = place;
  small.sections[2].sh_offset = sizeof(SmallElf);
  small.sections[2].sh_size = strings.size();
  const auto elf =
      ElfFile::Open(FileOf(std::string(small.bytes()) + strings), "x");
  ASSERT_TRUE(elf.ok());
  EXPECT_EQ(elf.value().VariableAddress("wanted"), 0x403000u);
}

TEST(ElfFile, WhatIsNoSuchFileIsRefused) {
  EXPECT_FALSE(ElfFile::Open(FileOf(""), "x").ok());
  EXPECT_FALSE(ElfFile::Open(FileOf("#!/bin/sh\n"), "x").ok());
  SmallElf small;
  small.header.e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_FALSE(small.Open().ok());
  small = SmallElf();
  small.load.p_type = PT_NOTE;
  EXPECT_FALSE(small.Open().ok());
}

TEST(ElfFile, EveryTruncationIsRefusedOrFindsNothing) {
  const SmallElf small;
  for (size_t size = 0; size < sizeof(SmallElf); ++size) {
    const auto elf = ElfFile::Open(FileOf(small.bytes().substr(0, size)), "x");
    if (!elf.ok()) continue;
    EXPECT_FALSE(elf.value().VariableAddress("wanted"));
    EXPECT_FALSE(elf.value().SectionAddress(".data"));
  }
}

TEST(ElfFile, LyingSizesFindNothing) {
  const auto spoil = [](auto&& change) {
    SmallElf small;
    change(small);
    const auto elf = small.Open();
    return !elf.ok() || !elf.value().VariableAddress("wanted");
  };
  constexpr uint64_t kHuge = ~uint64_t{0};
  EXPECT_FALSE(spoil([](SmallElf&) {}));
  EXPECT_TRUE(spoil([](SmallElf& s) { s.header.e_shnum = 0xffff; }));
  EXPECT_TRUE(spoil([](SmallElf& s) { s.header.e_phnum = 0xffff; }));
  EXPECT_TRUE(spoil([](SmallElf& s) { s.header.e_shentsize = 1; }));
  EXPECT_TRUE(spoil([](SmallElf& s) { s.header.e_shstrndx = 5; }));
  EXPECT_TRUE(spoil([](SmallElf& s) { s.header.e_shoff = kHuge - 8; }));
  EXPECT_TRUE(spoil([](SmallElf& s) { s.sections[1].sh_link = 5; }));
  EXPECT_TRUE(spoil([](SmallElf& s) { s.sections[1].sh_entsize = 0; }));
  EXPECT_TRUE(spoil([](SmallElf& s) { s.sections[1].sh_size = kHuge; }));
  EXPECT_TRUE(spoil([](SmallElf& s) { s.sections[1].sh_offset = kHuge; }));
  EXPECT_TRUE(spoil([](SmallElf& s) { s.sections[2].sh_size = kHuge; }));
  EXPECT_TRUE(spoil([](SmallElf& s) { s.sections[2].sh_offset = kHuge; }));
  EXPECT_TRUE(spoil([](SmallElf& s) { s.sections[2].sh_type = SHT_NOTE; }));
}

}  // namespace
}  // namespace sonde

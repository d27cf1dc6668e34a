#ifndef SONDE_COLLECT_STACKS_ELF_FILE_H_
#define SONDE_COLLECT_STACKS_ELF_FILE_H_

#include <elf.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// A 64-bit ELF file of this machine's byte order: a program or library of
// somebody else's, of which every byte may be hostile.
//
//  - Addresses are those in the file; the loader adds a constant to them.
//  - Tables are read in pieces of 64 KiB. A table that is longer than
//    kMostTableBytes, or lies outside the file, is as good as none: what a
//    caller looks for is then not found.
//  - A file that changes while the file is read gives other answers, no crash.
//
// Knows no debug information and no versions of symbols. One thread.
class ElfFile {
 public:
  static constexpr size_t kMostSections = 4096;
  static constexpr size_t kMostSegments = 512;
  static constexpr uint64_t kMostTableBytes = 128 << 20;
  static constexpr uint64_t kMostNoteBytes = 64 << 10;
  static constexpr size_t kMostBuildIdBytes = 64;

  // `name` is for errors. kCorrupt if the bytes are no such file.
  static Result<ElfFile> Open(Fd fd, const std::string& name);

  // For which processor: EM_X86_64.
  uint16_t machine() const { return machine_; }

  // Where the part that is loaded first lies, both rounded down to a page.
  struct Load {
    uint64_t offset = 0;
    uint64_t address = 0;
  };
  const Load& first_load() const { return first_load_; }

  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  // What the linker called this very file: hexadecimal digits, empty if it has
  // no such name.
  std::string BuildId() const;

  // Of a variable that the file defines, from .dynsym, else from .symtab.
  std::optional<uint64_t> VariableAddress(std::string_view name) const;
  // Of a function, likewise. 0 bytes: the file does not say how long it is.
  struct Function {
    uint64_t address = 0, bytes = 0;
  };
  std::optional<Function> FunctionAt(std::string_view name) const;
  // Those whose names begin with one of these, by address, from .symtab. None
  // of a file that is stripped, or has more than kMostNameBytes of names.
  static constexpr uint64_t kMostNameBytes = 16 << 20;
  std::vector<Function> FunctionsCalled(
      std::span<const std::string_view> begins) const;
  std::optional<uint64_t> SectionAddress(std::string_view name) const;

  int fd() const { return fd_.get(); }

 private:
  explicit ElfFile(Fd fd) : fd_(std::move(fd)) {}

  bool ReadAt(uint64_t offset, void* out, size_t size) const;
  bool ReadSegments(const Elf64_Ehdr& header);
  bool ReadSections(const Elf64_Ehdr& header);
  std::vector<uint64_t> PlacesOf(std::string_view name,
                                 const Elf64_Shdr& strings) const;
  // Calls `take` with each symbol of a table, until it returns false. False if
  // the table makes no sense.
  template <typename Take>
  bool ForEachSymbol(const Elf64_Shdr& symbols, Take take) const;
  std::optional<Elf64_Sym> FindIn(const Elf64_Shdr& symbols,
                                  std::string_view name, uint8_t type) const;
  std::optional<Elf64_Sym> Find(std::string_view name, uint8_t type) const;

  Fd fd_;
  uint16_t machine_ = 0;
  Load first_load_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
  uint32_t names_section_ = 0;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_STACKS_ELF_FILE_H_

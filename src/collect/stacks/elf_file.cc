#include "collect/stacks/elf_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace sonde {
namespace {

constexpr size_t kElfPiece = 64 << 10;
// A name is in a table of strings once, or a few times as the end of others.
constexpr size_t kMostPlaces = 64;
constexpr uint64_t kElfPageMask = ~uint64_t{4095};
constexpr unsigned char kOurByteOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes)
    fmt::format_to(std::back_inserter(text), "{:02x}",
                   static_cast<unsigned char>(byte));
  return text;
}

}  // namespace

Result<ElfFile> ElfFile::Open(Fd fd, const std::string& name) {
  ElfFile file(std::move(fd));
  Elf64_Ehdr header;
  if (!file.ReadAt(0, &header, sizeof(header)) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != kOurByteOrder)
    return Error{Error::Kind::kCorrupt, name + ": not a 64-bit ELF file"};
  file.machine_ = header.e_machine;
  if (!file.ReadSegments(header))
    return Error{Error::Kind::kCorrupt, name + ": nothing in it can be loaded"};
  // Without sections, as some packers leave a program, nothing is found.
  if (!file.ReadSections(header)) file.sections_.clear();
  return file;
}

bool ElfFile::ReadAt(uint64_t offset, void* out, size_t size) const {
  char* at = static_cast<char*>(out);
  while (size > 0) {
    if (offset > static_cast<uint64_t>(INT64_MAX) - size) return false;
    const ssize_t n = ::pread(fd_.get(), at, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    offset += static_cast<uint64_t>(n);
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool ElfFile::ReadSegments(const Elf64_Ehdr& header) {
  if (header.e_phentsize != sizeof(Elf64_Phdr) ||
      header.e_phnum > kMostSegments)
    return false;
  segments_.resize(header.e_phnum);
  if (!ReadAt(header.e_phoff, segments_.data(),
              segments_.size() * sizeof(Elf64_Phdr)))
    return false;
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD) continue;
    first_load_ = {segment.p_offset & kElfPageMask,
                   segment.p_vaddr & kElfPageMask};
    return true;
  }
  return false;
}

std::string ElfFile::BuildId() const {
  std::string notes;
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMostNoteBytes)
      continue;
    notes.resize(segment.p_filesz);
    if (!ReadAt(segment.p_offset, notes.data(), notes.size())) continue;
    // Each note is a head, its owner's name and its content, both padded.
    const uint64_t align = segment.p_align == 8 ? 8 : 4;
    uint64_t at = 0;
    while (notes.size() - at >= sizeof(Elf64_Nhdr)) {
      Elf64_Nhdr note;
      std::memcpy(&note, notes.data() + at, sizeof(note));
      const uint64_t name = at + sizeof(note);
      const uint64_t content =
          (name + note.n_namesz + align - 1) & ~(align - 1);
      const uint64_t end = content + note.n_descsz;
      if (end > notes.size()) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(notes.data() + name, "GNU", 4) == 0 &&
          note.n_descsz <= kMostBuildIdBytes)
        return Hex(std::string_view(notes).substr(content, note.n_descsz));
      at = std::min<uint64_t>((end + align - 1) & ~(align - 1), notes.size());
    }
  }
  return {};
}

bool ElfFile::ReadSections(const Elf64_Ehdr& header) {
  if (header.e_shentsize != sizeof(Elf64_Shdr) ||
      header.e_shnum > kMostSections || header.e_shstrndx >= header.e_shnum)
    return false;
  names_section_ = header.e_shstrndx;
  sections_.resize(header.e_shnum);
  return ReadAt(header.e_shoff, sections_.data(),
                sections_.size() * sizeof(Elf64_Shdr));
}

// Where `name` stands with its final NUL, as offsets into `strings`. The
// beginning of the name may lie inside a longer name, whose end it shares.
std::vector<uint64_t> ElfFile::PlacesOf(std::string_view name,
                                        const Elf64_Shdr& strings) const {
  std::vector<uint64_t> places;
  if (strings.sh_type != SHT_STRTAB || strings.sh_size > kMostTableBytes)
    return places;
  const std::string wanted = std::string(name) + '\0';
  std::string piece;
  // Pieces overlap by what may be the beginning of the name.
  for (uint64_t at = 0; at + wanted.size() <= strings.sh_size;) {
    piece.resize(std::min<uint64_t>(kElfPiece, strings.sh_size - at));
    uint64_t offset = 0;
    if (__builtin_add_overflow(strings.sh_offset, at, &offset) ||
        !ReadAt(offset, piece.data(), piece.size()))
      return places;
    for (size_t found = piece.find(wanted); found != std::string::npos;
         found = piece.find(wanted, found + 1)) {
      places.push_back(at + found);
      if (places.size() == kMostPlaces) return places;
    }
    at += piece.size() - (wanted.size() - 1);
  }
  return places;
}

template <typename Take>
bool ElfFile::ForEachSymbol(const Elf64_Shdr& symbols, Take take) const {
  if (symbols.sh_entsize != sizeof(Elf64_Sym) ||
      symbols.sh_size > kMostTableBytes || symbols.sh_link >= sections_.size())
    return false;
  std::vector<Elf64_Sym> piece;
  const uint64_t count = symbols.sh_size / sizeof(Elf64_Sym);
  for (uint64_t at = 0; at < count; at += piece.size()) {
    piece.resize(std::min<uint64_t>(kElfPiece / sizeof(Elf64_Sym), count - at));
    uint64_t offset = 0;
    if (__builtin_add_overflow(symbols.sh_offset, at * sizeof(Elf64_Sym),
                               &offset) ||
        !ReadAt(offset, piece.data(), piece.size() * sizeof(Elf64_Sym)))
      return false;
    for (const Elf64_Sym& symbol : piece)
      if (symbol.st_shndx != SHN_UNDEF && !take(symbol)) return true;
  }
  return true;
}

std::optional<Elf64_Sym> ElfFile::FindIn(const Elf64_Shdr& symbols,
                                         std::string_view name,
                                         uint8_t type) const {
  if (symbols.sh_link >= sections_.size()) return std::nullopt;
  const std::vector<uint64_t> places =
      PlacesOf(name, sections_[symbols.sh_link]);
  if (places.empty()) return std::nullopt;
  std::optional<Elf64_Sym> found;
  ForEachSymbol(symbols, [&](const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) == type &&
        std::find(places.begin(), places.end(), symbol.st_name) != places.end())
      found = symbol;
    return !found;
  });
  return found;
}

std::vector<ElfFile::Function> ElfFile::FunctionsCalled(
    std::span<const std::string_view> begins) const {
  std::vector<Function> out;
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections_.size())
      continue;
    const Elf64_Shdr& strings = sections_[section.sh_link];
    if (strings.sh_type != SHT_STRTAB || strings.sh_size > kMostNameBytes)
      break;
    std::string names(strings.sh_size, '\0');
    if (!ReadAt(strings.sh_offset, names.data(), names.size())) break;
    ForEachSymbol(section, [&](const Elf64_Sym& symbol) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
          symbol.st_name >= names.size())
        return true;
      const std::string_view name =
          std::string_view(names).substr(symbol.st_name);
      if (std::any_of(begins.begin(), begins.end(), [&](std::string_view one) {
            return name.starts_with(one);
          }))
        out.push_back({symbol.st_value, symbol.st_size});
      return out.size() < kMostPlaces;
    });
    break;
  }
  std::sort(out.begin(), out.end(), [](const Function& a, const Function& b) {
    return a.address < b.address;
  });
  return out;
}

std::optional<Elf64_Sym> ElfFile::Find(std::string_view name,
                                       uint8_t type) const {
  for (const uint32_t table : {SHT_DYNSYM, SHT_SYMTAB})
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != table) continue;
      // A file has one table of a kind; more are not looked at.
      if (const auto found = FindIn(section, name, type)) return found;
      break;
    }
  return std::nullopt;
}

std::optional<uint64_t> ElfFile::VariableAddress(std::string_view name) const {
  const auto found = Find(name, STT_OBJECT);
  if (!found) return std::nullopt;
  return found->st_value;
}

std::optional<ElfFile::Function> ElfFile::FunctionAt(
    std::string_view name) const {
  const auto found = Find(name, STT_FUNC);
  if (!found) return std::nullopt;
  return Function{found->st_value, found->st_size};
}

std::optional<uint64_t> ElfFile::SectionAddress(std::string_view name) const {
  const std::string wanted = std::string(name) + '\0';
  std::string got(wanted.size(), '\0');
  for (const Elf64_Shdr& section : sections_) {
    uint64_t offset = 0;
    if (section.sh_addr != 0 &&
        !__builtin_add_overflow(sections_[names_section_].sh_offset,
                                section.sh_name, &offset) &&
        ReadAt(offset, got.data(), got.size()) && got == wanted)
      return section.sh_addr;
  }
  return std::nullopt;
}

}  // namespace sonde

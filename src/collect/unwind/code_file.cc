#include "collect/unwind/code_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "base/time.h"
#include "collect/stacks/mapped_file.h"
#include "collect/stacks/process_memory.h"

namespace sonde {
namespace {

constexpr size_t kMostPathChars = 4096;
// A hostile process can show as many different images as it likes.
constexpr size_t kMostVdsos = 16;

bool Holds(uint64_t begin, uint64_t bytes, uint64_t at) {
  return at >= begin && at - begin < bytes;
}

std::string_view WithoutDeleted(std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return path;
}

}  // namespace

void CodeFile::Describe(Fd fd) {
  auto opened = ElfFile::Open(Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)), path_);
  if (!opened.ok() || opened.value().machine() != EM_X86_64) return;
  const ElfFile& elf = opened.value();
  build_id_ = elf.BuildId();
  for (const Elf64_Phdr& segment : elf.segments()) {
    if (segment.p_offset + segment.p_filesz < segment.p_offset ||
        segment.p_vaddr + segment.p_filesz < segment.p_vaddr)
      continue;
    if (segment.p_type == PT_LOAD)
      parts_.push_back({segment.p_offset, segment.p_vaddr, segment.p_filesz,
                        (segment.p_flags & PF_X) != 0});
    if (segment.p_type == PT_GNU_EH_FRAME) {
      frames_address_ = segment.p_vaddr;
      frames_bytes_ = segment.p_filesz;
    }
  }
  fd_ = std::move(fd);
}

uint64_t CodeFile::AddressOf(const Mapping& mapping, uint64_t pc) const {
  const uint64_t offset = pc - mapping.begin + mapping.offset;
  // A page at the border of two parts is mapped for each of them.
  for (const bool executable : {true, false})
    for (const Part& part : parts_)
      if (part.executable == executable &&
          Holds(part.offset, part.bytes, offset))
        return part.address + (offset - part.offset);
  return offset;
}

bool CodeFile::Read(uint64_t address, std::span<uint8_t> out) const {
  used_ = ++*clock_;
  for (const Part& part : parts_)
    if (Holds(part.address, part.bytes, address))
      return part.bytes - (address - part.address) >= out.size() &&
             pages_->Read(number_, fd_.get(),
                          part.offset + (address - part.address), out);
  return false;
}

CodeFile* CodeFiles::New(std::string path) {
  if (files_.size() == kMostFiles) return nullptr;
  auto file = std::make_unique<CodeFile>();
  file->number_ = static_cast<uint32_t>(files_.size());
  file->path_ = std::move(path);
  file->pages_ = &pages_;
  file->clock_ = &clock_;
  file->used_ = ++clock_;
  files_.push_back(std::move(file));
  return files_.back().get();
}

// Closes the one that was not read for longest.
void CodeFiles::MakeRoom() {
  size_t open = 0;
  CodeFile* oldest = nullptr;
  for (const auto& file : files_) {
    if (!file->fd_.valid()) continue;
    ++open;
    // An image of the kernel's cannot be opened again.
    if (file->identity_.inode != 0 &&
        (oldest == nullptr || file->used_ < oldest->used_))
      oldest = file.get();
  }
  if (open >= most_open_ && oldest != nullptr) oldest->fd_.Reset();
}

CodeFile* CodeFiles::Add(Fd fd, const std::string& path) {
  MakeRoom();
  CodeFile* const file = New(path);
  if (file != nullptr) file->Describe(std::move(fd));
  return file;
}

CodeFile* CodeFiles::Of(pid_t pid, const Mapping& mapping) {
  if (mapping.path == "[vdso]") return OfVdso(pid, mapping);
  if (!mapping.path.starts_with('/')) return nullptr;
  const std::string path =
      Printable(WithoutDeleted(mapping.path), kMostPathChars);
  Fd fd = OpenMapped(pid, mapping);
  struct stat st = {};
  if (!fd.valid() || ::fstat(fd.get(), &st) != 0) {
    CodeFile*& known = by_name_[{path, mapping.inode}];
    if (known == nullptr) known = New(path);
    return known;
  }
  const CodeFile::Identity identity = {
      st.st_dev, st.st_ino, static_cast<uint64_t>(st.st_size),
      st.st_mtim.tv_sec * kNsPerSec + st.st_mtim.tv_nsec};
  if (const auto known = by_identity_.find(identity);
      known != by_identity_.end()) {
    // Perhaps the way there of the process that showed it first is gone.
    if (!known->second->fd_.valid() && known->second->frames_bytes_ > 0) {
      MakeRoom();
      known->second->fd_ = std::move(fd);
    }
    return known->second;
  }
  CodeFile* const file = Add(std::move(fd), path);
  if (file == nullptr) return nullptr;
  file->identity_ = identity;
  file->seen_at_ = fmt::format("/proc/{}/root{}", pid, mapping.path);
  by_identity_[identity] = file;
  return file;
}

// It has no file: the kernel puts it there.
CodeFile* CodeFiles::OfVdso(pid_t pid, const Mapping& mapping) {
  const uint64_t size = mapping.end - mapping.begin;
  if (size > kMostVdsoBytes) return nullptr;
  std::string bytes(size, '\0');
  ProcessMemory memory(pid);
  if (memory.Read(mapping.begin,
                  {reinterpret_cast<uint8_t*>(bytes.data()), size}) != 0)
    return nullptr;
  if (const auto known = by_bytes_.find(bytes); known != by_bytes_.end())
    return known->second;
  if (by_bytes_.size() == kMostVdsos) return nullptr;
  Fd fd(::memfd_create("sonde-vdso", MFD_CLOEXEC));
  if (!fd.valid() || WriteAll(fd.get(), bytes.data(), size) != 0)
    return nullptr;
  CodeFile* const file = Add(std::move(fd), "[vdso]");
  if (file != nullptr) by_bytes_[bytes] = file;
  return file;
}

void CodeFiles::KeepOpen(CodeFile& file) {
  if (file.fd_.valid() || file.frames_bytes_ == 0) return;
  for (const std::string& way : {file.seen_at_, file.path_}) {
    Fd fd = OpenRegular(AT_FDCWD, way.c_str(), O_RDONLY);
    struct stat st = {};
    if (!fd.valid() || ::fstat(fd.get(), &st) != 0) continue;
    const CodeFile::Identity identity = {
        st.st_dev, st.st_ino, static_cast<uint64_t>(st.st_size),
        st.st_mtim.tv_sec * kNsPerSec + st.st_mtim.tv_nsec};
    if (identity != file.identity_) continue;
    MakeRoom();
    file.fd_ = std::move(fd);
    return;
  }
}

}  // namespace sonde

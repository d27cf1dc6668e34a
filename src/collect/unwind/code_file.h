#ifndef SONDE_COLLECT_UNWIND_CODE_FILE_H_
#define SONDE_COLLECT_UNWIND_CODE_FILE_H_

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "collect/proc/process_files.h"
#include "collect/stacks/elf_file.h"
#include "collect/unwind/page_cache.h"

namespace sonde {

// A file that code runs from, as processes have it mapped: a program, a
// library, the kernel's [vdso]. One for each file, however many processes map
// it; its bytes are hostile.
//
// What could not be opened, or is no ELF file of an x86-64, has a path and
// nothing else: its addresses are offsets in the file.
class CodeFile {
 public:
  // Counted from 0 in the order in which files were first seen.
  uint32_t number() const { return number_; }
  // As the process names it, without the word that it was deleted.
  const std::string& path() const { return path_; }
  const std::string& build_id() const { return build_id_; }
  // To read it; -1 if it is not open (any more).
  int fd() const { return fd_.get(); }

  // The address, in the terms of the file, of what `mapping` shows at `pc`.
  uint64_t AddressOf(const Mapping& mapping, uint64_t pc) const;
  // False if the file has no such bytes, or was cut short.
  bool Read(uint64_t address, std::span<uint8_t> out) const;

  // Where .eh_frame_hdr lies. 0 bytes: there is none.
  uint64_t frames_address() const { return frames_address_; }
  uint64_t frames_bytes() const { return frames_bytes_; }

 private:
  friend class CodeFiles;
  // A file by what it is, not by its name.
  struct Identity {
    uint64_t device = 0, inode = 0, bytes = 0;
    int64_t changed_ns = 0;

    auto operator<=>(const Identity&) const = default;
  };
  // What of the file is loaded where.
  struct Part {
    uint64_t offset = 0, address = 0, bytes = 0;
    bool executable = false;
  };

  void Describe(Fd fd);

  uint32_t number_ = 0;
  std::string path_;
  std::string build_id_;
  std::string seen_at_;  // how the process that showed it reaches it
  Identity identity_;
  std::vector<Part> parts_;
  uint64_t frames_address_ = 0;
  uint64_t frames_bytes_ = 0;
  Fd fd_;
  PageCache* pages_ = nullptr;
  mutable uint64_t used_ = 0;
  uint64_t* clock_ = nullptr;
};

// All files that code was seen to run from, for all processes. Files are kept
// to the end, so that they can be named then; of them kMostOpen are open, those
// that were read last. Beyond kMostFiles, code has no file. One thread.
class CodeFiles {
 public:
  static constexpr size_t kMostOpen = 512;
  static constexpr size_t kMostFiles = 16384;
  static constexpr size_t kMostVdsoBytes = 64 << 10;

  explicit CodeFiles(size_t most_open = kMostOpen) : most_open_(most_open) {}
  CodeFiles(const CodeFiles&) = delete;
  CodeFiles& operator=(const CodeFiles&) = delete;

  // The file that a process has mapped there. Null if the mapping is of no
  // file, or there are too many.
  CodeFile* Of(pid_t pid, const Mapping& mapping);
  // For tests: a file that no process has mapped.
  CodeFile* Add(Fd fd, const std::string& path);

  // Opens the file again if it had to be closed and still is the same.
  void KeepOpen(CodeFile& file);

  const std::vector<std::unique_ptr<CodeFile>>& all() const { return files_; }

 private:
  CodeFile* OfVdso(pid_t pid, const Mapping& mapping);
  CodeFile* New(std::string path);
  void MakeRoom();

  const size_t most_open_;
  PageCache pages_;
  uint64_t clock_ = 0;
  std::vector<std::unique_ptr<CodeFile>> files_;
  std::map<CodeFile::Identity, CodeFile*> by_identity_;
  std::map<std::pair<std::string, uint64_t>, CodeFile*> by_name_;
  std::map<std::string, CodeFile*> by_bytes_;  // of the kernel's images
};

}  // namespace sonde

#endif  // SONDE_COLLECT_UNWIND_CODE_FILE_H_

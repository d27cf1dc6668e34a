// Any bytes as what an unwinder meets: the tables of a file, and registers and
// a stack that lead through them. The first byte says how much of the rest is
// the file; the file's head is always a good one.

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "collect/unwind/unwinder.h"

namespace sonde {
namespace {

constexpr size_t kFileBytes = 8192;

// The input, loaded as it is at address 0, begins with .eh_frame_hdr behind
// these.
struct Head {
  Elf64_Ehdr header = {};
  Elf64_Phdr load = {};
  Elf64_Phdr frames = {};

  Head() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_machine = EM_X86_64;
    header.e_phoff = offsetof(Head, load);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 2;
    load.p_type = PT_LOAD;
    load.p_flags = PF_R | PF_X;
    load.p_filesz = kFileBytes;
    frames.p_type = PT_GNU_EH_FRAME;
    frames.p_offset = frames.p_vaddr = sizeof(Head);
    frames.p_filesz = 256;
  }
};

// One file for all inputs, mapped as code.
struct Mapped {
  Mapped() : fd(::memfd_create("unwind", MFD_CLOEXEC)) {
    CHECK(fd.valid() && ::ftruncate(fd.get(), kFileBytes) == 0);
    memory = ::mmap(nullptr, kFileBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE,
                    fd.get(), 0);
    CHECK(memory != MAP_FAILED);
  }
  Fd fd;
  void* memory;
};

void Unwind(std::span<const uint8_t> table, std::span<const uint8_t> moment) {
  static const Mapped mapped;
  std::string bytes(kFileBytes, '\0');
  const Head head;
  std::memcpy(bytes.data(), &head, sizeof(head));
  std::copy_n(table.begin(), std::min(table.size(), kFileBytes - sizeof(head)),
              bytes.begin() + sizeof(head));
  CHECK(::pwrite(mapped.fd.get(), bytes.data(), kFileBytes, 0) ==
        ssize_t{kFileBytes});
  CodeFiles files;
  CodeFile* const file = files.Add(Fd(::dup(mapped.fd.get())), "x");
  EhFrame tables;
  for (uint64_t at = 0; at < kFileBytes; at += 256) tables.Find(*file, at);

  // Words that begin with these bytes are places in the code and the stack.
  constexpr uint64_t kCode = 0xaa, kStack = 0xbb, kBottom = 0x100000;
  std::vector<uint64_t> words(moment.size() / 8);
  if (words.size() < kRegisterCount) return;
  std::memcpy(words.data(), moment.data(), words.size() * 8);
  const uint64_t begin = reinterpret_cast<uint64_t>(mapped.memory);
  for (uint64_t& word : words)
    if (word >> 56 == kCode)
      word = begin + word % kFileBytes;
    else if (word >> 56 == kStack)
      word = kBottom + word % (words.size() * 8);
  Registers registers;
  for (uint8_t i = 0; i < kRegisterCount; ++i)
    if (words[i] % 16 != 1) registers.Set(i, words[i]);
  registers.Set(kRsp, kBottom);
  registers.Set(kRip, begin + words[kRip] % kFileBytes);
  ProcessCode code(::getpid(), files);
  Unwinder unwinder;
  NativeStack out;
  const std::span<const uint64_t> stack =
      std::span(words).subspan(kRegisterCount);
  unwinder.Unwind(
      code, registers,
      {kBottom,
       {reinterpret_cast<const uint8_t*>(stack.data()), stack.size() * 8}},
      out);
  CHECK(!out.frames.empty() && out.frames.size() <= Unwinder::kMostFrames);
  CHECK(unwinder.lookups() <= Unwinder::kMostNewRows);
}

}  // namespace
}  // namespace sonde

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::span<const uint8_t> rest(data + 1, size - 1);
  const size_t table = rest.size() * data[0] / 256;
  sonde::Unwind(rest.first(table), rest.subspan(table));
  return 0;
}

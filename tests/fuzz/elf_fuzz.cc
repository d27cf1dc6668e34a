// Any bytes, read as an ELF file.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "collect/stacks/elf_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sonde;
  Fd fd(::memfd_create("elf", MFD_CLOEXEC));
  CHECK(fd.valid() && WriteAll(fd.get(), data, size) == 0);
  const auto elf = ElfFile::Open(std::move(fd), "x");
  if (!elf.ok()) return 0;
  CHECK(elf.value().first_load().offset % 4096 == 0);
  elf.value().VariableAddress("wanted");
  elf.value().SectionAddress(".data");
  return 0;
}

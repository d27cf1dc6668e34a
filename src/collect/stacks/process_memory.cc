#include "collect/stacks/process_memory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "collect/proc/container.h"
#include "collect/proc/proc_file.h"

namespace sonde {

int ProcessMemory::Read(uint64_t address, std::span<uint8_t> out) {
  const uint64_t cost = out.size() + kCallBytes;
  if (cost > left_) return EOVERFLOW;
  left_ -= cost;
  if (out.empty()) return 0;
  const iovec to = {out.data(), out.size()};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address over there
  const iovec from = {reinterpret_cast<void*>(address), out.size()};
  const ssize_t n = ::process_vm_readv(pid_, &to, 1, &from, 1, 0);
  if (n < 0) return errno;
  return static_cast<size_t>(n) == out.size() ? 0 : EFAULT;
}

std::optional<uint64_t> ProcessMemory::Word(uint64_t address) {
  uint8_t bytes[8];
  if (Read(address, bytes) != 0) return std::nullopt;
  return FieldAt<uint64_t>(bytes, 0);
}

Error MemoryDenied(pid_t pid) {
  Error error{Error::Kind::kDenied,
              fmt::format("process {}: its memory may not be read", pid)};
  const std::string scope = ReadText("/proc/sys/kernel/yama/ptrace_scope");
  struct stat st = {};
  const bool ours = ::stat(fmt::format("/proc/{}", pid).c_str(), &st) == 0 &&
                    st.st_uid == ::geteuid();
  if (scope.starts_with('3'))
    error.hint =
        "kernel.yama.ptrace_scope is 3, which forbids it to everybody until "
        "the machine is started again";
  else if (!ours && ::geteuid() != 0)
    error.hint = "it is another user's: run sonde as that user, or as root";
  else if (InContainer())
    error.hint =
        "start the container with --cap-add SYS_PTRACE, or run sonde on the "
        "host";
  else if (ours && (scope.starts_with('1') || scope.starts_with('2')))
    error.hint =
        "`sudo sysctl kernel.yama.ptrace_scope=0`, or run sonde as root";
  else
    error.hint = "run sonde as root";
  return error;
}

}  // namespace sonde

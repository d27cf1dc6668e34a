#include "collect/stacks/process_memory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "collect/proc/container.h"
#include "collect/proc/proc_file.h"

namespace sonde {

bool ProcessMemory::Pay(size_t bytes) {
  const uint64_t cost = bytes + kCallBytes;
  if (cost > left_) return false;
  left_ -= cost;
  return true;
}

int ProcessMemory::Read(uint64_t address, std::span<uint8_t> out) {
  const Piece piece = {address, out};
  return ReadPieces({&piece, 1});
}

int ProcessMemory::ReadPieces(std::span<const Piece> pieces) {
  constexpr size_t kAtOnce = 64;  // a call takes 1024
  iovec to[kAtOnce], from[kAtOnce];
  while (!pieces.empty()) {
    const size_t count = std::min(pieces.size(), kAtOnce);
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
      const Piece& piece = pieces[i];
      to[i] = {piece.out.data(), piece.out.size()};
      // NOLINTNEXTLINE(performance-no-int-to-ptr): an address over there
      from[i] = {reinterpret_cast<void*>(piece.address), piece.out.size()};
      bytes += piece.out.size();
    }
    if (!Pay(bytes)) return EOVERFLOW;
    const ssize_t n =
        bytes == 0 ? 0 : ::process_vm_readv(pid_, to, count, from, count, 0);
    if (n < 0) return errno;
    if (static_cast<size_t>(n) != bytes) return EFAULT;
    pieces = pieces.subspan(count);
  }
  return 0;
}

size_t ProcessMemory::ReadUpTo(uint64_t address, std::span<uint8_t> out) {
  constexpr size_t kPage = 4096, kAtOnce = 128;
  size_t done = 0;
  // The kernel stops before the first piece that it cannot read whole.
  while (done < out.size()) {
    iovec from[kAtOnce];
    size_t count = 0, bytes = 0;
    for (; count < kAtOnce && done + bytes < out.size(); ++count) {
      const uint64_t at = address + done + bytes;
      const size_t piece =
          std::min<size_t>(kPage - at % kPage, out.size() - done - bytes);
      // NOLINTNEXTLINE(performance-no-int-to-ptr): an address over there
      from[count] = {reinterpret_cast<void*>(at), piece};
      bytes += piece;
    }
    if (!Pay(bytes)) return done;
    const iovec to = {out.data() + done, bytes};
    const ssize_t n = ::process_vm_readv(pid_, &to, 1, from, count, 0);
    if (n <= 0) return done;
    done += static_cast<size_t>(n);
    if (static_cast<size_t>(n) < bytes) return done;
  }
  return done;
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

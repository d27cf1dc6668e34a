#ifndef SONDE_COLLECT_STACKS_PROCESS_MEMORY_H_
#define SONDE_COLLECT_STACKS_PROCESS_MEMORY_H_

#include <sys/types.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/result.h"

namespace sonde {

// Reads the memory of another process, which runs on meanwhile: no ptrace, no
// signal, nothing is changed there. What is read may be half old and half new.
//
//  - A reading is whole or fails; no address does harm.
//  - Work is limited: after about as many bytes as StartOver() allows, a call
//    counted as kCallBytes, readings fail until the next StartOver(). A process
//    that makes its lists endless costs a second or two, not for ever.
//
// One thread. Does not keep the process, whose pid may be used again.
class ProcessMemory {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  static constexpr uint64_t kCallBytes = 1024;

  explicit ProcessMemory(pid_t pid) : pid_(pid) {}

  pid_t pid() const { return pid_; }
  void StartOver(uint64_t most_bytes = kMostBytes) { left_ = most_bytes; }

  // 0, or the errno.
  int Read(uint64_t address, std::span<uint8_t> out);
  std::optional<uint64_t> Word(uint64_t address);
  // As many of the bytes as there are, up to the first page that cannot be
  // read. How many that was.
  size_t ReadUpTo(uint64_t address, std::span<uint8_t> out);

  // Several places at once, in few calls. Whole, or the errno.
  struct Piece {
    uint64_t address = 0;
    std::span<uint8_t> out;
  };
  int ReadPieces(std::span<const Piece> pieces);

 private:
  bool Pay(size_t bytes);

  pid_t pid_;
  uint64_t left_ = kMostBytes;
};

// A field of a structure that was copied to `bytes`. The caller has seen that
// the field lies inside.
template <typename T>
T FieldAt(std::span<const uint8_t> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.subspan(offset, sizeof(T)).data(), sizeof(T));
  return value;
}

// Why the memory of this process may not be read, and the cure.
Error MemoryDenied(pid_t pid);

}  // namespace sonde

#endif  // SONDE_COLLECT_STACKS_PROCESS_MEMORY_H_

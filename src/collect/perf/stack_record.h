#ifndef SONDE_COLLECT_PERF_STACK_RECORD_H_
#define SONDE_COLLECT_PERF_STACK_RECORD_H_

#include <linux/perf_event.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sonde {

// How an event samples stacks: each thread of a tree, so many times in a second
// of its CPU time. `registers` is perf_event_attr::sample_regs_user. Time in
// the kernel is left out unless `with_kernel`, which wants rights. Of a stack,
// `copy_bytes` are copied, fewer where it ends. If `wakes`, each sample wakes
// who waits for the event's descriptor.
perf_event_attr StackAttr(double hz, uint64_t registers, bool with_kernel,
                          uint32_t copy_bytes, bool wakes = false);

// What a sample takes in a ring.
constexpr size_t StackRecordBytes(uint32_t copy_bytes) {
  return copy_bytes + 256;
}

// A sample of such an event. Views lie in the record.
struct StackRecord {
  static constexpr size_t kRegisters = 17;

  uint32_t pid = 0, tid = 0;
  int64_t time_ns = 0;  // of the machine's clock
  // In the kernel's order. Nothing if the thread has no 64-bit registers.
  std::optional<std::array<uint64_t, kRegisters>> registers;
  std::span<const uint8_t> stack;  // from the stack pointer upward
  // The thread was in the kernel; registers and stack are those of the program
  // all the same.
  bool in_kernel = false;
};

// Nothing if the record is no such sample, or makes no sense. A BPF program may
// write to the same ring, by events with TID, TIME and RAW: where such a record
// has the first four bytes of the program, a sample of a stack has zeros.
// `lost` grows by what the kernel says it had to leave out.
std::optional<StackRecord> ParseStackRecord(std::string_view record,
                                            uint64_t& lost);

}  // namespace sonde

#endif  // SONDE_COLLECT_PERF_STACK_RECORD_H_

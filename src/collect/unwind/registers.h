#ifndef SONDE_COLLECT_UNWIND_REGISTERS_H_
#define SONDE_COLLECT_UNWIND_REGISTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sonde {

// The registers of an x86-64, numbered as tables of frames number them.
enum Register : uint8_t {
  kRax = 0,
  kRdx = 1,
  kRcx = 2,
  kRbx = 3,
  kRsi = 4,
  kRdi = 5,
  kRbp = 6,
  kRsp = 7,
  kR8 = 8,
  kR9 = 9,
  kR10 = 10,
  kR11 = 11,
  kR12 = 12,
  kR13 = 13,
  kR14 = 14,
  kR15 = 15,
  kRip = 16,
};
inline constexpr size_t kRegisterCount = 17;

// What is known of a thread's registers at one moment. Of a thread that waits
// in the kernel this may be two: where it is, and where its stack is.
class Registers {
 public:
  bool Knows(uint8_t number) const { return known_ >> number & 1; }
  // 0 if it is not known.
  uint64_t operator[](uint8_t number) const { return values_[number]; }
  void Set(uint8_t number, uint64_t value) {
    values_[number] = value;
    known_ |= 1u << number;
  }
  void Forget(uint8_t number) {
    values_[number] = 0;
    known_ &= ~(1u << number);
  }

 private:
  std::array<uint64_t, kRegisterCount> values_ = {};
  uint32_t known_ = 0;
};

// perf_event_attr::sample_regs_user for all of them.
inline constexpr uint64_t kPerfRegisters = 0xff01ff;

// The values of a sample that asked for kPerfRegisters, in the kernel's order:
// ax bx cx dx si di bp sp ip, r8 to r15.
inline Registers RegistersOfPerf(
    std::span<const uint64_t, kRegisterCount> values) {
  constexpr Register kOrder[kRegisterCount] = {
      kRax, kRbx, kRcx, kRdx, kRsi, kRdi, kRbp, kRsp, kRip,
      kR8,  kR9,  kR10, kR11, kR12, kR13, kR14, kR15};
  Registers out;
  for (size_t i = 0; i < kRegisterCount; ++i) out.Set(kOrder[i], values[i]);
  return out;
}

}  // namespace sonde

#endif  // SONDE_COLLECT_UNWIND_REGISTERS_H_

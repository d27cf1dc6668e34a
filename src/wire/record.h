// Records as plain data: what libsonde.so writes into a ring and the collector
// reads out of it. The numbers are in include/sonde/abi.h, because programs
// carry them for ever; docs/wire.md has a section for each kind.

#ifndef SONDE_WIRE_RECORD_H_
#define SONDE_WIRE_RECORD_H_

#include <sonde/abi.h>

#include <cstddef>
#include <cstdint>

namespace sonde {

// The first two words of every record.
struct RecordHead {
  uint64_t time;
  uint32_t id;
  uint8_t kind;
  uint8_t words;
  uint16_t depth;
};
static_assert(sizeof(RecordHead) == 16);

constexpr size_t RecordBytes(size_t words) {
  return sizeof(RecordHead) + 8 * words;
}

constexpr uint64_t RecordWord(uint32_t id, uint8_t kind, uint8_t words,
                              uint16_t depth) {
  return id | uint64_t{kind} << 32 | uint64_t{words} << 40 |
         uint64_t{depth} << 48;
}

// The first word of an argument.
constexpr uint64_t ArgWord(uint32_t key, uint8_t type, uint8_t words,
                           uint16_t bytes) {
  return key | uint64_t{type} << 32 | uint64_t{words} << 40 |
         uint64_t{bytes} << 48;
}

// Why records were lost: the id of a SONDE_KIND_LOST record.
enum class LostWhy : uint32_t {
  kFull = 1,    // no block was free
  kNested = 2,  // a signal handler recorded while its thread was recording
};

// Which clock the time of a record is of; the collector chooses it.
enum class WireClock : uint32_t {
  kTicks = 1,      // TSC on x86-64, the virtual counter on arm64
  kMonotonic = 2,  // CLOCK_MONOTONIC, in nanoseconds
};

}  // namespace sonde

#endif  // SONDE_WIRE_RECORD_H_

#include "collect/perf/stack_record.h"

#include <time.h>

#include <cstring>

namespace sonde {
namespace {

// Takes fields off the front of a record.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  bool Take(T& out) {
    if (bytes_.size() < sizeof(T)) return false;
    std::memcpy(&out, bytes_.data(), sizeof(T));
    bytes_.remove_prefix(sizeof(T));
    return true;
  }
  bool Take(size_t size, std::string_view& out) {
    if (bytes_.size() < size) return false;
    out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }

 private:
  std::string_view bytes_;
};

}  // namespace

perf_event_attr StackAttr(double hz, uint64_t registers, bool with_kernel,
                          uint32_t copy_bytes, bool wakes) {
  perf_event_attr attr = {};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  // A fixed period, so that each sample stands for the same time.
  attr.sample_period = static_cast<uint64_t>(1e9 / hz);
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                     PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attr.sample_regs_user = registers;
  attr.sample_stack_user = copy_bytes;
  attr.exclude_kernel = with_kernel ? 0 : 1;
  attr.exclude_hv = 1;
  attr.exclude_callchain_kernel = 1;
  attr.inherit = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = wakes ? 0 : 1;
  if (wakes)
    attr.wakeup_events = 1;
  else
    attr.wakeup_watermark = 1 << 30;  // nobody is woken
  return attr;
}

std::optional<StackRecord> ParseStackRecord(std::string_view record,
                                            uint64_t& lost) {
  Fields in(record);
  perf_event_header header;
  if (!in.Take(header)) return std::nullopt;
  if (header.type == PERF_RECORD_LOST) {
    uint64_t id = 0, count = 0;
    if (in.Take(id) && in.Take(count)) lost += count;
    return std::nullopt;
  }
  if (header.type != PERF_RECORD_SAMPLE) return std::nullopt;
  StackRecord out;
  out.in_kernel =
      (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
  uint64_t time = 0, abi = 0, copied = 0, used = 0;
  if (!in.Take(out.pid) || !in.Take(out.tid) || !in.Take(time) ||
      !in.Take(abi) || time > INT64_MAX || abi > PERF_SAMPLE_REGS_ABI_64)
    return std::nullopt;
  out.time_ns = static_cast<int64_t>(time);
  if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
    std::array<uint64_t, StackRecord::kRegisters> registers;
    if (!in.Take(registers)) return std::nullopt;
    if (abi == PERF_SAMPLE_REGS_ABI_64) out.registers = registers;
  }
  std::string_view bytes;
  if (!in.Take(copied) || !in.Take(copied, bytes)) return std::nullopt;
  // Behind it: how much of that is the stack's.
  if (copied > 0 && !in.Take(used)) return std::nullopt;
  if (used > copied) return std::nullopt;
  out.stack = {reinterpret_cast<const uint8_t*>(bytes.data()), used};
  return out;
}

}  // namespace sonde

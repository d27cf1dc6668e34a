// Any bytes as a record of a ring of stack samples.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "collect/perf/stack_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view record(reinterpret_cast<const char*>(data), size);
  uint64_t lost = 0;
  const auto got = sonde::ParseStackRecord(record, lost);
  if (!got) return 0;
  CHECK(got->time_ns >= 0);
  CHECK(got->stack.size() <= size);
  uint64_t sum = 0;
  for (const uint8_t byte : got->stack) sum += byte;
  CHECK(sum <= 255 * size);
  return 0;
}

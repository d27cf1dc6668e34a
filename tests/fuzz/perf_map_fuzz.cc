// Any bytes as the map of a runtime that compiles.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "collect/symbols/perf_map.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const sonde::PerfMap map(
      std::string(reinterpret_cast<const char*>(data), size));
  CHECK(map.size() <= size / 5 + 1);
  for (uint64_t pc = 0; pc < 64; ++pc) map.At(pc * pc * pc);
  map.At(~uint64_t{0});
  return 0;
}

#include "store/work.h"

#include <fmt/format.h>

#include "base/text.h"

namespace sonde {

Status CheckWork(const Store& store) {
  // In events, of which about sixty million are read in a second; a value or a
  // tick takes as long as eight.
  constexpr uint64_t kValueWork = 8, kAlways = 100'000'000, kPerByte = 12;
  uint64_t work = 0;
  for (const FrameRef& f : store.event_chunks()) work += f.events.count;
  for (const FrameRef& f : store.counter_chunks())
    work += kValueWork * (uint64_t{f.counters.values} + f.counters.ticks);
  const auto bytes = static_cast<uint64_t>(store.reader().file_size());
  if (work <= kAlways + kPerByte * bytes) return Ok();
  return Error{
      Error::Kind::kUnsupported,
      fmt::format("{}: says {} events and values in {}, too many to judge",
                  store.path(), store.event_count(),
                  FormatBytes(static_cast<double>(bytes)))};
}

}  // namespace sonde

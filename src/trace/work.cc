#include "trace/work.h"

#include <fmt/format.h>

#include "base/text.h"

namespace sonde {

Status CheckWork(const TraceReader& trace, const WorkCosts& costs) {
  constexpr uint64_t kAlwaysNs = 1'600'000'000;
  uint64_t work_ns = 0, count = 0;
  for (const FrameRef& f : trace.frames()) {
    const uint64_t values = f.kind == FrameKind::kCounters
                                ? uint64_t{f.counters.values} + f.counters.ticks
                                : 0;
    const uint64_t events = f.kind == FrameKind::kEvents ? f.events.count : 0;
    const uint64_t samples =
        f.kind == FrameKind::kSamples ? f.samples.count : 0;
    count += events + samples + values;
    work_ns +=
        costs.event * events + costs.sample * samples + costs.value * values;
  }
  const auto bytes = static_cast<uint64_t>(trace.all_bytes());
  if (work_ns <= kAlwaysNs + costs.allowed_a_byte * bytes) return Ok();
  return Error{
      Error::Kind::kUnsupported,
      fmt::format("{}: says {} events, samples and values in {}, too many for "
                  "its size",
                  Printable(trace.name()), count,
                  FormatBytes(static_cast<double>(bytes))),
      "sonde did not write it so; `sonde query` reads parts of it"};
}

}  // namespace sonde

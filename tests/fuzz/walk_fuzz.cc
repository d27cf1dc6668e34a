// Any bytes as a record of the walker of frames.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "collect/bpf/frame_walker.h"
#include "collect/perf/stack_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view record(reinterpret_cast<const char*>(data), size);
  sonde::FrameWalker::Walk walk;
  if (!sonde::FrameWalker::Parse(record, walk)) return 0;
  CHECK(walk.tid >= 0 && walk.time_ns >= 0);
  CHECK(walk.frames.size() <= sonde::FrameWalker::kMostFrames);
  for (const sonde::RawPythonFrame& frame : walk.frames)
    CHECK(frame.code % 8 == 0);
  uint64_t lost = 0;
  CHECK(!sonde::ParseStackRecord(record, lost));
  return 0;
}

// Any bytes as what a reader of Python's stacks meets: line tables, the
// description that an interpreter gives of itself, and the interpreter's
// memory. The first byte chooses.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "collect/stacks/python_lines.h"
#include "collect/stacks/python_process.h"

namespace sonde {
namespace {

// Words that begin with this byte are addresses in the input itself, so that
// lists lead somewhere.
constexpr uint64_t kHere = 0xaa;

void WalkMemory(int minor, std::span<const uint8_t> bytes) {
  std::vector<uint64_t> memory(2048);
  std::memcpy(memory.data(), bytes.data(),
              std::min(bytes.size(), size_t{8192}));
  const uint64_t begin = reinterpret_cast<uint64_t>(memory.data());
  for (uint64_t& word : memory)
    if (word >> 56 == kHere) word = begin + (word & 0x1fff);
  FoundPython python;
  python.runtime = begin;
  python.layout = *TabledLayout(minor);
  PythonProcess process(ProcessMemory(::getpid()), python);
  const auto stacks = process.ReadStacks();
  if (!stacks.ok()) return;
  CHECK(stacks.value().threads.size() <= PythonProcess::kMostThreads);
  size_t frames = 0;
  for (const PythonThread& thread : stacks.value().threads) {
    CHECK(thread.frames.size() <= PythonProcess::kMostDepth);
    frames += thread.frames.size();
    for (const PythonFrame& frame : thread.frames) CHECK(frame.line >= 0);
  }
  CHECK(frames <= PythonProcess::kMostFrames);
}

}  // namespace
}  // namespace sonde

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sonde;
  if (size < 3) return 0;
  const std::span<const uint8_t> rest(data + 3, size - 3);
  switch (data[0] % 5) {
    case 0:
    case 1:
    case 2: {
      const int64_t offset = data[1] * 16;
      const int line =
          LineAt(static_cast<LineFormat>(data[0] % 5), rest, data[2], offset);
      CHECK(line >= 0);
      break;
    }
    case 3: {
      std::vector<uint8_t> bytes(kDescriptionBytes);
      std::memcpy(bytes.data(), rest.data(),
                  std::min(rest.size(), bytes.size()));
      if (const auto layout = DescribedLayout(bytes))
        CHECK(layout->thread_bytes <= PythonLayout::kMostThreadBytes &&
              layout->frame_bytes <= PythonLayout::kMostFrameBytes &&
              layout->code_bytes <= PythonLayout::kMostCodeBytes &&
              layout->owner < layout->frame_bytes);
      break;
    }
    default:
      WalkMemory(kFirstPythonMinor + data[1] % 5, rest);
      break;
  }
  return 0;
}

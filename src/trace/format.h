// The numbers of the .sonde file. docs/trace-format.md is the specification;
// this header and that page change together.

#ifndef SONDE_TRACE_FORMAT_H_
#define SONDE_TRACE_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace sonde {

inline constexpr uint32_t kFormatVersion = 0;

// 0x89 and the line ends catch transfers that were not binary.
inline constexpr unsigned char kFileMagic[8] = {0x89, 'S', 'O',  'N',
                                                'D',  'E', '\r', '\n'};
inline constexpr size_t kFileHeaderSize = 64;

inline constexpr unsigned char kFrameMagic[4] = {0xf5, 'S', 'n', 'd'};
inline constexpr size_t kFrameHeaderSize = 24;

// What a frame holds. A reader skips the kinds it does not know.
enum class FrameKind : uint8_t {
  kStrings = 1,
  kTracks = 2,
  kProcesses = 3,
  kThreads = 4,
  kSeries = 5,
  kStacks = 6,
  kArgs = 7,
  kEvents = 8,
  kCounters = 9,
  kClocks = 10,
  kLosses = 11,
  kMeta = 12,
  kTotals = 13,
  kIndex = 14,
  kEnd = 15,
  kDevices = 16,
  kModules = 17,
  kSymbols = 18,
  kNotCollected = 19,
  kSamples = 20,
  kSampleSums = 21,
};

enum FrameFlag : uint16_t {
  kPayloadZstd = 1,  // u32 raw length, then one zstd frame
};

// Columns of an event chunk. kFirstSummary and above are not one value per
// event and can be skipped.
enum class EventColumn : uint8_t {
  kEnd = 0,
  kDur = 1,
  kName = 2,
  kDepth = 3,
  kKind = 4,
  kFlags = 5,
  kCategory = 6,
  kArgs = 7,
  kStack = 8,
  kFlowIn = 9,
  kFlowOut = 10,
  kClass = 11,
  kSource = 12,
  kLod = 16,         // a node for every 16 events of a depth
  kLodCoarse = 17,   // a node for every 1024 events of a depth
  kAggregates = 18,  // a row for every name
};
inline constexpr uint8_t kValueColumns = 13;

enum class CounterColumn : uint8_t {
  kTime = 0,
  kChanged = 1,  // how many values each tick brings
  kGone = 2,     // how many series end at each tick
  kIds = 3,
  kValues = 4,
  kAggregates = 18,
};

enum class SampleColumn : uint8_t {
  kTime = 0,
  kThread = 1,
  kStack = 2,
  kWeight = 3,
  kFlags = 4,
};

enum class ColumnCoding : uint8_t { kPlain = 0, kZstd = 1, kConstant = 2 };

inline constexpr uint32_t kMaxChunkEvents = 16 * 1024;
inline constexpr uint32_t kMaxChunkValues = 64 * 1024;
inline constexpr uint32_t kLodEvents = 16;
inline constexpr uint32_t kLodCoarseEvents = 1024;

// What a reader believes at most. Above it, a frame is damaged.
inline constexpr uint32_t kMaxPayload = 64u << 20;
inline constexpr uint32_t kMaxRawPayload = 64u << 20;
inline constexpr size_t kMaxFrames = 1u << 20;
// Of a counter chunk. A writer cuts at kMaxChunkValues, but the first tick
// names every series that lives.
inline constexpr uint32_t kMaxTickValues = 1u << 20;
inline constexpr uint32_t kMaxString = 1u << 20;
inline constexpr uint32_t kMaxArgs = 1u << 20;  // of one set
// Times of events and ticks lie within +-kMaxTimeNs (126 years), so that the
// difference of any two of them is an int64_t.
inline constexpr int64_t kMaxTimeNs = 4'000'000'000'000'000'000;

}  // namespace sonde

#endif  // SONDE_TRACE_FORMAT_H_

#ifndef SONDE_TRACE_SAMPLE_CHUNK_H_
#define SONDE_TRACE_SAMPLE_CHUNK_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/columns.h"
#include "trace/model.h"

namespace sonde {

// What a chunk of samples says of itself before its columns. Also kept in the
// index. One chunk has the samples of all threads: a thread of its own would
// have too few.
struct SampleChunkInfo {
  uint32_t count = 0;
  uint64_t first_ordinal = 0;  // samples before this chunk, ever
  int64_t begin_ns = 0;        // earliest
  int64_t end_ns = 0;          // latest

  void Encode(ByteWriter& out) const;
  bool Decode(ByteReader& in);
};

// The payload of a kSamples frame, of at least one and at most kMaxChunkEvents
// samples, in the order given. Fills in `info` but for first_ordinal.
std::string EncodeSampleChunk(std::span<const Sample> samples,
                              CompressionMemory& memory, SampleChunkInfo& info);

// False if the bytes are damaged; then `out` means nothing.
bool DecodeSampleChunk(std::string_view payload, std::vector<Sample>& out);

}  // namespace sonde

#endif  // SONDE_TRACE_SAMPLE_CHUNK_H_

#ifndef SONDE_TRACE_FRAME_H_
#define SONDE_TRACE_FRAME_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/format.h"

namespace sonde {

using SessionId = std::array<uint8_t, 16>;

// The first 64 bytes of a file.
struct FileHeader {
  uint32_t version = kFormatVersion;
  SessionId session = {};
  int64_t realtime_ns = 0;   // when the file was made, for labels only
  int64_t monotonic_ns = 0;  // the same moment on the trace's clock
  bool journal = false;      // the side file of an unfinished trace

  std::string Encode() const;
  // Nothing if the bytes are not a header of ours or are damaged.
  static std::optional<FileHeader> Decode(std::string_view bytes);
};

// The 24 bytes in front of each payload.
struct FrameHeader {
  FrameKind kind = FrameKind::kEnd;
  uint8_t version = 0;
  uint16_t flags = 0;
  uint32_t length = 0;    // of the payload
  uint32_t sequence = 0;  // grows by one from frame to frame of a session
  uint32_t checksum = 0;  // of the payload as stored

  // Nothing if these are not the first bytes of a frame.
  static std::optional<FrameHeader> Decode(std::string_view bytes);
};

// Low 32 bits of XXH3-64.
uint32_t Checksum(std::string_view bytes);

// A whole frame, header and payload. Payloads of 512 bytes and more are
// compressed if `compress` and if that saves an eighth.
std::string EncodeFrame(FrameKind kind, uint32_t sequence,
                        std::string_view payload, bool compress);

// The payload as it was before EncodeFrame. `stored` are the bytes behind the
// header.
Result<std::string> DecodePayload(const FrameHeader& header,
                                  std::string_view stored);

// zstd, level 1, into `out` (replaced). DecompressTo fails unless the result
// has exactly `raw_size` bytes.
void CompressTo(std::string_view raw, std::string& out);
bool DecompressTo(std::string_view stored, size_t raw_size, std::string& out);

}  // namespace sonde

#endif  // SONDE_TRACE_FRAME_H_

// A frame is
//
//     magic[4] kind:u8 version:u8 flags:u16 length:u32 sequence:u32
//     checksum:u32 header_checksum:u32 payload[length]
//
// little-endian. `checksum` covers the payload as stored, `header_checksum` the
// 20 bytes before it, so that a reader who searches for the next frame in a
// damaged file can trust a length before it has read the payload.

#include "trace/frame.h"

#include <xxhash.h>
#include <zstd.h>

#include <cstring>
#include <memory>

#include "trace/bytes.h"

namespace sonde {
namespace {

constexpr size_t kSummedHeaderBytes = 20;
constexpr size_t kMinCompressed = 512;

template <typename T>
T Load(std::string_view bytes, size_t at) {
  T v;
  std::memcpy(&v, bytes.data() + at, sizeof(T));
  return v;
}

// zstd contexts cost more to make than to use; each thread keeps one.
ZSTD_CCtx* Compressor() {
  thread_local std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(
      ZSTD_createCCtx(), &ZSTD_freeCCtx);
  return context.get();
}
ZSTD_DCtx* Decompressor() {
  thread_local std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(
      ZSTD_createDCtx(), &ZSTD_freeDCtx);
  return context.get();
}

}  // namespace

uint32_t Checksum(std::string_view bytes) {
  return static_cast<uint32_t>(XXH3_64bits(bytes.data(), bytes.size()));
}

std::string FileHeader::Encode() const {
  ByteWriter out;
  out.Raw(kFileMagic, sizeof(kFileMagic));
  out.U32(version);
  out.U32(kFileHeaderSize);
  out.Raw(session.data(), session.size());
  out.U64(static_cast<uint64_t>(realtime_ns));
  out.U64(static_cast<uint64_t>(monotonic_ns));
  out.U32(journal ? 1 : 0);
  out.U64(0);
  out.U32(Checksum(out.bytes()));
  CHECK(out.bytes().size() == kFileHeaderSize);
  return out.Take();
}

std::optional<FileHeader> FileHeader::Decode(std::string_view bytes) {
  if (bytes.size() < kFileHeaderSize ||
      std::memcmp(bytes.data(), kFileMagic, sizeof(kFileMagic)) != 0 ||
      Checksum(bytes.substr(0, kFileHeaderSize - 4)) !=
          Load<uint32_t>(bytes, kFileHeaderSize - 4)) {
    return std::nullopt;
  }
  FileHeader header;
  header.version = Load<uint32_t>(bytes, 8);
  std::memcpy(header.session.data(), bytes.data() + 16, 16);
  header.realtime_ns = Load<int64_t>(bytes, 32);
  header.monotonic_ns = Load<int64_t>(bytes, 40);
  header.journal = (Load<uint32_t>(bytes, 48) & 1) != 0;
  return header;
}

std::optional<FrameHeader> FrameHeader::Decode(std::string_view bytes) {
  if (bytes.size() < kFrameHeaderSize ||
      std::memcmp(bytes.data(), kFrameMagic, sizeof(kFrameMagic)) != 0 ||
      Checksum(bytes.substr(0, kSummedHeaderBytes)) !=
          Load<uint32_t>(bytes, kSummedHeaderBytes)) {
    return std::nullopt;
  }
  FrameHeader header;
  header.kind = static_cast<FrameKind>(bytes[4]);
  header.version = static_cast<uint8_t>(bytes[5]);
  header.flags = Load<uint16_t>(bytes, 6);
  header.length = Load<uint32_t>(bytes, 8);
  header.sequence = Load<uint32_t>(bytes, 12);
  header.checksum = Load<uint32_t>(bytes, 16);
  if (header.length > kMaxPayload) return std::nullopt;
  return header;
}

void CompressTo(std::string_view raw, std::string& out) {
  out.resize(ZSTD_compressBound(raw.size()));
  const size_t size = ZSTD_compressCCtx(Compressor(), out.data(), out.size(),
                                        raw.data(), raw.size(), 1);
  CHECK(!ZSTD_isError(size));
  out.resize(size);
}

bool DecompressTo(std::string_view stored, size_t raw_size, std::string& out) {
  out.resize(raw_size);
  return ZSTD_decompressDCtx(Decompressor(), out.data(), raw_size,
                             stored.data(), stored.size()) == raw_size;
}

std::string EncodeFrame(FrameKind kind, uint32_t sequence,
                        std::string_view payload, bool compress) {
  uint16_t flags = 0;
  std::string packed;
  if (compress && payload.size() >= kMinCompressed) {
    CompressTo(payload, packed);
    if (packed.size() + 4 < payload.size() - payload.size() / 8) {
      flags |= kPayloadZstd;
      const uint32_t raw_size = static_cast<uint32_t>(payload.size());
      packed.insert(0, reinterpret_cast<const char*>(&raw_size), 4);
      payload = packed;
    }
  }
  CHECK(payload.size() <= kMaxPayload);

  ByteWriter out;
  out.Raw(kFrameMagic, sizeof(kFrameMagic));
  const uint8_t kind_and_version[2] = {static_cast<uint8_t>(kind), 0};
  out.Raw(kind_and_version, 2);
  out.Raw(&flags, 2);
  out.U32(static_cast<uint32_t>(payload.size()));
  out.U32(sequence);
  out.U32(Checksum(payload));
  out.U32(Checksum(out.bytes()));
  out.Raw(payload.data(), payload.size());
  return out.Take();
}

Result<std::string> DecodePayload(const FrameHeader& header,
                                  std::string_view stored) {
  const auto damaged = [] {
    return Error{Error::Kind::kCorrupt, "damaged frame"};
  };
  if (stored.size() != header.length || Checksum(stored) != header.checksum)
    return damaged();
  if (!(header.flags & kPayloadZstd)) return std::string(stored);
  if (stored.size() < 4) return damaged();
  const uint32_t raw_size = Load<uint32_t>(stored, 0);
  std::string raw;
  if (raw_size > kMaxRawPayload ||
      !DecompressTo(stored.substr(4), raw_size, raw))
    return damaged();
  return raw;
}

}  // namespace sonde

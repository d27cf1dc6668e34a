// Mutates what is inside the frames of a trace and does the checksums and
// lengths anew: bytes that are changed at random never get behind them.

#ifndef SONDE_TESTS_FUZZ_MUTATE_FRAMES_H_
#define SONDE_TESTS_FUZZ_MUTATE_FRAMES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "trace/bytes.h"
#include "trace/frame.h"

// libFuzzer's own.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace sonde {

// The frames of a file, taken apart.
struct LooseFrame {
  FrameKind kind;
  uint32_t sequence;
  bool packed;
  std::string payload;
};

inline std::vector<LooseFrame> TakeApart(std::string_view file) {
  std::vector<LooseFrame> out;
  size_t at = kFileHeaderSize;
  while (at < file.size()) {
    const auto header = FrameHeader::Decode(file.substr(at));
    if (!header || header->length > file.size() - at - kFrameHeaderSize) break;
    auto payload = DecodePayload(
        *header, file.substr(at + kFrameHeaderSize, header->length));
    // What unpacks to much is slow to mutate, and lies already.
    if (payload.ok() && payload.value().size() < (1 << 20))
      out.push_back({header->kind, header->sequence,
                     (header->flags & kPayloadZstd) != 0, payload.Take()});
    at += kFrameHeaderSize + header->length;
  }
  return out;
}

inline std::string PutTogether(std::string_view file_header,
                               const std::vector<LooseFrame>& frames) {
  std::string out(file_header);
  for (const LooseFrame& f : frames)
    out += EncodeFrame(f.kind, f.sequence, f.payload, f.packed);
  return out;
}

// Puts one of the numbers that are hard on a reader in place of a byte.
inline void PutHardNumber(std::string& payload, std::minstd_rand& random) {
  static constexpr uint64_t kHard[] = {
      0,          1,          127,        128,       16384,
      16385,      1u << 20,   1u << 24,   1u << 26,  (1u << 26) - 2,
      UINT32_MAX, 1ull << 32, 1ull << 62, INT64_MAX, UINT64_MAX};
  ByteWriter number;
  number.Varint(kHard[random() % std::size(kHard)]);
  const size_t at = payload.empty() ? 0 : random() % payload.size();
  payload.replace(at, random() % 2, number.bytes());
}

inline void MutateOne(std::vector<LooseFrame>& frames,
                      std::minstd_rand& random) {
  const size_t at = random() % frames.size();
  LooseFrame& frame = frames[at];
  switch (random() % 8) {
    case 0:
      frames.insert(frames.begin() + static_cast<ptrdiff_t>(at), frame);
      break;
    case 1:
      frames.erase(frames.begin() + static_cast<ptrdiff_t>(at));
      break;
    case 2:
      frame.kind = static_cast<FrameKind>(random() % 23);
      break;
    case 3:
      PutHardNumber(frame.payload, random);
      break;
    case 4: {
      // The same rows again and again: what zstd packs best.
      const std::string once = frame.payload;
      while (!once.empty() && frame.payload.size() < (64 << 10))
        frame.payload += once;
      frame.packed = true;
      break;
    }
    default: {
      std::string room = frame.payload;
      const size_t size = room.size();
      room.resize(size + 64);
      room.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(room.data()),
                                   size, room.size()));
      frame.payload = std::move(room);
      break;
    }
  }
}

// For LLVMFuzzerCustomMutator: `data` is `skip` bytes for the target and then a
// file. Falls back to libFuzzer's mutation where that file has no frames.
inline size_t MutateFrames(uint8_t* data, size_t size, size_t max_size,
                           size_t skip, unsigned int seed) {
  std::minstd_rand random(seed);
  if (size < skip + kFileHeaderSize || random() % 8 == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  const std::string_view file(reinterpret_cast<const char*>(data) + skip,
                              size - skip);
  std::vector<LooseFrame> frames = TakeApart(file);
  for (int rounds = 1 + static_cast<int>(random() % 3);
       rounds > 0 && !frames.empty(); --rounds)
    MutateOne(frames, random);
  if (frames.empty()) return LLVMFuzzerMutate(data, size, max_size);
  const std::string out = PutTogether(file.substr(0, kFileHeaderSize), frames);
  if (out.size() > max_size - skip)
    return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data + skip, out.data(), out.size());
  return skip + out.size();
}

}  // namespace sonde

#endif  // SONDE_TESTS_FUZZ_MUTATE_FRAMES_H_

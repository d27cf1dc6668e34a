// Any bytes as the ring file of a target. The first bytes make a header that
// the reader accepts, so that the fuzzer gets behind it; then the input is laid
// over the directory, the feet of blocks and their data. Between two passes
// some of it changes, as a target could change it.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/check.h"
#include "collect/ring/ring_reader.h"

namespace sonde {
namespace {

constexpr uint32_t kChunksHere = 3;
constexpr size_t kBlocks = kFirstBlockChunk * kChunkBytes;

// Counts what it is given and looks at every word.
struct Sink : RingSink {
  void Records(const RingThread&, std::span<const uint64_t> words) override {
    CHECK(!words.empty());
    while (!words.empty()) {
      CHECK(words.size() >= 2);
      const size_t size = 2 + (words[1] >> 40 & 0xff);
      CHECK(size <= words.size());
      words = words.subspan(size);
    }
  }
  void Lost(const RingThread&, const RingLoss&) override {}
  void Ended(const RingThread&) override {}
};

void Put(int fd, size_t offset, const void* bytes, size_t size) {
  CHECK(::pwrite(fd, bytes, size, off_t(offset)) == ssize_t(size));
}

// Pieces of the input: 2 bytes of place, 1 of length, the bytes.
void Lay(int fd, std::string_view input) {
  while (input.size() > 3) {
    const size_t place = uint8_t(input[0]) | size_t(uint8_t(input[1])) << 8;
    const size_t size = std::min<size_t>(uint8_t(input[2]), input.size() - 3);
    const std::string_view bytes = input.substr(3, size);
    input.remove_prefix(3 + size);
    size_t at = 0;
    switch (place & 3) {
      case 0:  // the header, but for its first 16 bytes
        at = 16 + (place >> 2) % (sizeof(RingHeader) - 16);
        break;
      case 1:  // the directory of our chunks
        at = kDirectoryOffset + kFirstBlockChunk * kSlotsPerChunk * 2 +
             (place >> 2) % (kChunksHere * kSlotsPerChunk * 2);
        break;
      case 2:  // a foot
        at = kBlocks +
             ((place >> 2) % (kChunksHere * kSlotsPerChunk) + 1) * kSlotBytes -
             sizeof(BlockFoot);
        break;
      default:
        at = kBlocks + (place >> 2) % (kChunksHere * kSlotsPerChunk) * 64;
        break;
    }
    Put(fd, at, bytes.data(), bytes.size());
  }
}

void MakeGood(int fd) {
  CHECK(::ftruncate(fd, 0) == 0);
  CHECK(::ftruncate(fd, off_t(kBlocks + kChunksHere * kChunkBytes)) == 0);
  RingHeader header = {};
  header.magic = kRingMagic;
  header.version = kRingVersion;
  header.chunks = kFirstBlockChunk + kChunksHere;
  header.use[kFirstBlockChunk] = uint8_t(ChunkUse::kSmall);
  header.use[kFirstBlockChunk + 1] = uint8_t(ChunkUse::kBig);
  header.use[kFirstBlockChunk + 2] = uint8_t(ChunkUse::kBig);
  Put(fd, 0, &header, sizeof(header));
  // A small block of thread 1 and a big one of the overflow, both open.
  const uint16_t generation = 1;
  BlockFoot foot = {};
  foot.generation = generation;
  foot.state = uint16_t(BlockState::kOpen);
  foot.thread = 1;
  foot.left = BlockRoom(false) - 64;
  Put(fd, kBlocks + BlockRoom(false), &foot, sizeof(foot));
  foot.thread = 0;
  foot.left = BlockRoom(true) - 64;
  Put(fd, kBlocks + kChunkBytes + BlockRoom(true), &foot, sizeof(foot));
  const size_t directory =
      kDirectoryOffset + kFirstBlockChunk * kSlotsPerChunk * 2;
  Put(fd, directory, &generation, 2);
  Put(fd, directory + kSlotsPerChunk * 2, &generation, 2);
}

}  // namespace
}  // namespace sonde

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sonde;
  static const int fd = ::memfd_create("ring", MFD_CLOEXEC);
  MakeGood(fd);
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t half = size / 2;
  Lay(fd, input.substr(0, half));
  RingReader reader(fd);
  Sink sink;
  if (!reader.Open()) return 0;
  reader.Read(sink);
  Lay(fd, input.substr(half));
  reader.Read(sink);
  reader.Name(uint32_t(size * 4096));
  for (uint32_t id = kNamesOffset / 8; id < kNamesOffset / 8 + 8; ++id)
    reader.Name(id);
  reader.Finish(sink);
  for (const DrainedBlock& block : reader.TakeDrained())
    CHECK(block.slot < kSlots);
  return 0;
}

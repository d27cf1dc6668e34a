#include "export/gzip.h"

#include <array>

namespace sonde {
namespace {

constexpr std::array<uint32_t, 256> ChecksumTable() {
  std::array<uint32_t, 256> out = {};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0xedb88320 : 0);
    out[i] = c;
  }
  return out;
}
constexpr std::array<uint32_t, 256> kChecksums = ChecksumTable();

// Least significant byte first.
std::string LittleEndian(uint32_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i)
    out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

}  // namespace

StoredGzip::StoredGzip(Output& out) : out_(out) {
  // Deflate, no flags, no time, no hint, any system.
  out_.Text(std::string_view("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10));
}

void StoredGzip::Write(std::string_view bytes) {
  for (const char c : bytes)
    checksum_ = kChecksums[(checksum_ ^ static_cast<unsigned char>(c)) & 0xff] ^
                (checksum_ >> 8);
  size_ += static_cast<uint32_t>(bytes.size());
  while (block_.size() + bytes.size() > kBlockBytes) {
    const size_t piece = kBlockBytes - block_.size();
    block_ += bytes.substr(0, piece);
    bytes.remove_prefix(piece);
    PutBlock(false);
  }
  block_ += bytes;
}

void StoredGzip::End() {
  PutBlock(true);
  out_.Text(LittleEndian(~checksum_, 4) + LittleEndian(size_, 4));
}

void StoredGzip::PutBlock(bool last) {
  const auto size = static_cast<uint32_t>(block_.size());
  out_.Text(LittleEndian(last ? 1 : 0, 1) + LittleEndian(size, 2) +
            LittleEndian(~size, 2));
  out_.Text(block_);
  block_.clear();
}

}  // namespace sonde

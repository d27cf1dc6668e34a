// Integers to bytes and back: little-endian words, LEB128 varints, zigzag.
// ByteReader is for hostile bytes: it never reads outside its span, and after
// the first failure every read gives 0 and ok() is false.

#ifndef SONDE_TRACE_BYTES_H_
#define SONDE_TRACE_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace sonde {

inline constexpr size_t kMaxVarint = 10;

inline uint64_t ZigZag(int64_t v) {
  return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63);
}
inline int64_t UnZigZag(uint64_t v) {
  return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
}

// Writes at most kMaxVarint bytes at `out`; returns the byte behind them.
inline uint8_t* PutVarint(uint8_t* out, uint64_t v) {
  while (v >= 0x80) {
    *out++ = static_cast<uint8_t>(v | 0x80);
    v >>= 7;
  }
  *out++ = static_cast<uint8_t>(v);
  return out;
}

// Reads a varint of [at, end). Returns the byte behind it, or nullptr if it is
// cut off or longer than ten bytes.
inline const uint8_t* GetVarint(const uint8_t* at, const uint8_t* end,
                                uint64_t* v) {
  if (at != end && *at < 0x80) [[likely]] {
    *v = *at;
    return at + 1;
  }
  uint64_t result = 0;
  for (int shift = 0; shift < 70 && at != end; shift += 7) {
    const uint64_t byte = *at++;
    result |= (byte & 0x7f) << (shift & 63);
    if (byte < 0x80) {
      *v = result;
      return at;
    }
  }
  return nullptr;
}

// The same bytes as PutVarint, without a branch that depends on the value's
// length (values under 2^28): deltas of real events mix two- and three-byte
// lengths at random, and the mispredictions cost more than the work. Needs
// kMaxVarint bytes of room.
inline uint8_t* PutVarintFast(uint8_t* out, uint64_t v) {
  if (v >= (1u << 28)) [[unlikely]]
    return PutVarint(out, v);
  const uint32_t x = static_cast<uint32_t>(v);
  const uint32_t bits = 32 - static_cast<uint32_t>(__builtin_clz(x | 1));
  const uint32_t size = (bits * 37 + 219) >> 8;  // ceil(bits / 7), bits <= 28
  uint32_t word = (x & 0x7f) | (x & 0x3f80) << 1 | (x & 0x1fc000) << 2 |
                  (x & 0xfe00000) << 3;
  word |= 0x808080u & ((1u << (8 * (size - 1))) - 1);
  std::memcpy(out, &word, 4);
  return out + size;
}

// The same as GetVarint, for at least eight readable bytes at `at`.
inline const uint8_t* GetVarintFast(const uint8_t* at, const uint8_t* end,
                                    uint64_t* v) {
  uint64_t word;
  std::memcpy(&word, at, 8);
  const uint64_t stops = ~word & 0x8080808080808080u;
  if (stops == 0) [[unlikely]]
    return GetVarint(at, end, v);
  const int bits = __builtin_ctzll(stops) + 1;  // 8 for each byte of it
  word &= ~uint64_t{0} >> (64 - bits);
  word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
  word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
  word = (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
  *v = word;
  return at + bits / 8;
}

// Grows a string by encoded values.
class ByteWriter {
 public:
  void U32(uint32_t v) { Raw(&v, sizeof(v)); }
  void U64(uint64_t v) { Raw(&v, sizeof(v)); }
  void Varint(uint64_t v) {
    uint8_t buffer[kMaxVarint];
    Raw(buffer, static_cast<size_t>(PutVarint(buffer, v) - buffer));
  }
  void Signed(int64_t v) { Varint(ZigZag(v)); }
  void Double(double v) { Raw(&v, sizeof(v)); }
  void Text(std::string_view v) {
    Varint(v.size());
    out_.append(v);
  }
  void Raw(const void* data, size_t size) {
    out_.append(static_cast<const char*>(data), size);
  }

  const std::string& bytes() const { return out_; }
  std::string Take() { return std::move(out_); }
  void Clear() { out_.clear(); }

 private:
  std::string out_;
};

// Takes values from bytes it does not own and does not trust. A value that is
// not whole, or too large, is a failure; look at ok() before using any.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes)
      : at_(reinterpret_cast<const uint8_t*>(bytes.data())),
        end_(at_ + bytes.size()) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return at_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }

  uint32_t U32() { return Word<uint32_t>(); }
  uint64_t U64() { return Word<uint64_t>(); }
  double Double() { return Word<double>(); }
  uint64_t Varint() {
    uint64_t v = 0;
    const uint8_t* behind = ok_ ? GetVarint(at_, end_, &v) : nullptr;
    if (!behind) return Fail();
    at_ = behind;
    return v;
  }
  uint32_t Varint32() {
    const uint64_t v = Varint();
    if (v > UINT32_MAX) return static_cast<uint32_t>(Fail());
    return static_cast<uint32_t>(v);
  }
  int64_t Signed() { return UnZigZag(Varint()); }
  std::string_view Text(size_t limit) {
    const uint64_t size = Varint();
    if (size > limit) Fail();
    return Raw(static_cast<size_t>(size));
  }
  std::string_view Raw(size_t size) {
    if (!ok_ || size > left()) {
      Fail();
      return {};
    }
    const char* data = reinterpret_cast<const char*>(at_);
    at_ += size;
    return {data, size};
  }

 private:
  template <typename T>
  T Word() {
    T v{};
    const std::string_view raw = Raw(sizeof(T));
    if (ok_) std::memcpy(&v, raw.data(), sizeof(T));
    return v;
  }
  uint64_t Fail() {
    ok_ = false;
    at_ = end_;
    return 0;
  }

  const uint8_t* at_;
  const uint8_t* end_;
  bool ok_ = true;
};

}  // namespace sonde

#endif  // SONDE_TRACE_BYTES_H_

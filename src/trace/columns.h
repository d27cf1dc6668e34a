// A chunk's payload is a few plain fields and then columns:
//
//     columns := count:varint (id:u8 coding:u8 raw:varint stored:varint)*count
//                bytes[stored]*count
//
// A column whose values are all equal is stored as that one value, a column
// that is all zero is left out.

#ifndef SONDE_TRACE_COLUMNS_H_
#define SONDE_TRACE_COLUMNS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/bytes.h"
#include "trace/format.h"

namespace sonde {

// Remembers per column whether compressing paid the last time it was tried, so
// that columns of noise (timestamps) do not pay for zstd on every chunk. One
// for each stream of chunks.
class CompressionMemory {
 public:
  bool WorthTrying(uint8_t id) {
    if (skip_[id] == 0) return true;
    --skip_[id];
    return false;
  }
  void Failed(uint8_t id) { skip_[id] = 31; }

 private:
  std::array<uint8_t, 32> skip_ = {};
};

// Collects the columns of one chunk. Add in any order, then AppendTo().
class ColumnWriter {
 public:
  explicit ColumnWriter(CompressionMemory& memory) : memory_(memory) {}

  // Room for about this many bytes of columns.
  void Reserve(size_t size_bytes) { data_.reserve(size_bytes); }
  void Add(uint8_t id, std::string_view raw);
  // Every one of the chunk's values is `value`.
  void AddConstant(uint8_t id, uint64_t value);
  void AppendTo(ByteWriter& payload) const;

 private:
  struct Column {
    uint8_t id;
    ColumnCoding coding;
    uint32_t raw;
    uint32_t stored;
  };
  CompressionMemory& memory_;
  std::vector<Column> columns_;
  std::string data_;
  std::string scratch_;
};

// The columns of one chunk's payload. Views into the payload: keep it alive.
class ColumnReader {
 public:
  // `reader` stands behind the plain fields. False if the directory lies.
  bool Parse(ByteReader& reader);

  bool Has(uint8_t id) const { return Find(id) != nullptr; }

  // Raw bytes of a column, decompressed into `scratch` if need be; `constant`
  // is set if the column is one varint for all. Empty if absent. False if
  // damaged, or if there are more than `max_raw`.
  bool Get(uint8_t id, size_t max_raw, std::string& scratch,
           std::string_view* raw, bool* constant) const;

  // One value for each of `count` events, into `out` (resized); zeros if the
  // column is absent. False if damaged.
  template <typename T>
  bool Values(uint8_t id, size_t count, std::string& scratch,
              std::vector<T>& out) const;

 private:
  struct Column {
    uint8_t id;
    ColumnCoding coding;
    uint32_t raw;
    std::string_view stored;
  };
  const Column* Find(uint8_t id) const;
  std::vector<Column> columns_;
};

// Varints of `values`, mapped by `map`. A view into `scratch`, which only
// grows: clearing it for every column costs as much as encoding one.
template <typename T, typename Map>
std::string_view ToVarints(const T* values, size_t count, std::string& scratch,
                           Map map) {
  const size_t room = count * kMaxVarint + 8;
  if (scratch.size() < room) scratch.resize(room);
  uint8_t* const begin = reinterpret_cast<uint8_t*>(scratch.data());
  uint8_t* to = begin;
  for (size_t i = 0; i < count; ++i) to = PutVarintFast(to, map(values[i]));
  return std::string_view(scratch).substr(0, static_cast<size_t>(to - begin));
}

template <typename T>
bool ColumnReader::Values(uint8_t id, size_t count, std::string& scratch,
                          std::vector<T>& out) const {
  out.resize(count);
  std::string_view raw;
  bool constant = false;
  if (!Get(id, count * kMaxVarint, scratch, &raw, &constant)) return false;
  if (raw.empty()) {
    std::fill(out.begin(), out.end(), T{});
    return true;
  }
  const uint8_t* at = reinterpret_cast<const uint8_t*>(raw.data());
  const uint8_t* const end = at + raw.size();
  uint64_t v = 0;
  if (constant) {
    if (GetVarint(at, end, &v) != end) return false;
    std::fill(out.begin(), out.end(), static_cast<T>(v));
    return true;
  }
  if (raw.size() == count) {
    // A byte for each value, as names and depths mostly have: a plain copy is
    // ten times faster than the loop below.
    uint8_t all = 0;
    for (size_t k = 0; k < count; ++k) all |= at[k];
    if (all >= 0x80) return false;
    T* const to = out.data();
    for (size_t k = 0; k < count; ++k) to[k] = static_cast<T>(at[k]);
    return true;
  }
  size_t i = 0;
  // The fast decoder looks at eight bytes at once.
  for (; i < count && end - at >= 8; ++i) {
    at = GetVarintFast(at, end, &v);
    if (!at) return false;
    out[i] = static_cast<T>(v);
  }
  for (; i < count; ++i) {
    at = GetVarint(at, end, &v);
    if (!at) return false;
    out[i] = static_cast<T>(v);
  }
  return at == end;
}

}  // namespace sonde

#endif  // SONDE_TRACE_COLUMNS_H_

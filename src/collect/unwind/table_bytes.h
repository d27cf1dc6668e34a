#ifndef SONDE_COLLECT_UNWIND_TABLE_BYTES_H_
#define SONDE_COLLECT_UNWIND_TABLE_BYTES_H_

#include <cstdint>
#include <cstring>
#include <span>

namespace sonde {

// Takes numbers off the front of a piece of a table. The bytes are hostile:
// what goes beyond the end is 0 and makes ok() false for good. Knows the
// address that the first byte has in its file, for pointers that are relative
// to themselves.
class TableBytes {
 public:
  TableBytes(std::span<const uint8_t> bytes, uint64_t address)
      : bytes_(bytes), address_(address) {}

  bool ok() const { return ok_; }
  bool done() const { return bytes_.empty(); }
  uint64_t address() const { return address_; }

  template <typename T>
  T Take() {
    T value = {};
    const std::span<const uint8_t> from = TakeBytes(sizeof(T));
    if (!from.empty()) std::memcpy(&value, from.data(), sizeof(T));
    return value;
  }

  // Empty if there are not so many.
  std::span<const uint8_t> TakeBytes(uint64_t count) {
    if (count > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    const std::span<const uint8_t> out = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    address_ += count;
    return out;
  }

  // Numbers of seven bits a byte, the lowest first (LEB128). What does not fit
  // into 64 bits is cut off.
  uint64_t Unsigned() { return Sevens(false); }
  int64_t Signed() { return static_cast<int64_t>(Sevens(true)); }

  // A pointer as one of DWARF's encodings has it; `data` is what pointers
  // relative to data are relative to. Not ok if the encoding is none of those
  // that files use.
  uint64_t Pointer(uint8_t encoding, uint64_t data = 0) {
    const uint64_t here = address_;
    uint64_t value = 0;
    switch (encoding & 0x0f) {
      case 0x00:
      case 0x04:
      case 0x0c:
        value = Take<uint64_t>();
        break;
      case 0x01:
        value = Unsigned();
        break;
      case 0x02:
        value = Take<uint16_t>();
        break;
      case 0x03:
        value = Take<uint32_t>();
        break;
      case 0x09:
        value = static_cast<uint64_t>(Signed());
        break;
      case 0x0a:
        value = static_cast<uint64_t>(int64_t{Take<int16_t>()});
        break;
      case 0x0b:
        value = static_cast<uint64_t>(int64_t{Take<int32_t>()});
        break;
      default:
        ok_ = false;
    }
    switch (encoding & 0xf0) {
      case 0x00:
        return value;
      case 0x10:
        return value + here;
      case 0x30:
        return value + data;
      default:
        ok_ = false;
        return 0;
    }
  }

 private:
  uint64_t Sevens(bool with_sign) {
    uint64_t value = 0;
    unsigned shift = 0;
    for (;;) {
      const uint8_t byte = Take<uint8_t>();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      if (shift < 64) shift += 7;
      if ((byte & 0x80) != 0) continue;
      if (with_sign && shift < 64 && (byte & 0x40) != 0)
        value |= ~uint64_t{0} << shift;
      return value;
    }
  }

  std::span<const uint8_t> bytes_;
  uint64_t address_;
  bool ok_ = true;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_UNWIND_TABLE_BYTES_H_

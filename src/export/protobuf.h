#ifndef SONDE_EXPORT_PROTOBUF_H_
#define SONDE_EXPORT_PROTOBUF_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace sonde {

// The bytes of one protobuf message, field by field
// (protobuf.dev/programming-guides/encoding). Numbers that are 0 are left out,
// as proto3 has it.
class ProtoMessage {
 public:
  void Clear() { bytes_.clear(); }
  const std::string& bytes() const { return bytes_; }

  // A number without a field: for Bytes() of packed ones.
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  void Number(uint32_t field, uint64_t value) {
    if (value == 0) return;
    Varint(uint64_t{field} << 3);
    Varint(value);
  }
  void Bytes(uint32_t field, std::string_view value) {
    Varint(uint64_t{field} << 3 | 2);
    Varint(value.size());
    bytes_ += value;
  }

 private:
  std::string bytes_;
};

}  // namespace sonde

#endif  // SONDE_EXPORT_PROTOBUF_H_

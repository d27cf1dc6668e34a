#ifndef SONDE_EXPORT_GZIP_H_
#define SONDE_EXPORT_GZIP_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "export/output.h"

namespace sonde {

// A file as gzip reads it (RFC 1952), for formats that must be one. The bytes
// are stored, not packed: that needs no library, and what goes through here is
// small. Errors are those of the Output, which must live longer. One thread.
class StoredGzip {
 public:
  explicit StoredGzip(Output& out);

  void Write(std::string_view bytes);
  // Writes what is left and the checksum. Nothing may be written after it.
  void End();

 private:
  static constexpr size_t kBlockBytes = 65535;  // the most there can be

  void PutBlock(bool last);

  Output& out_;
  std::string block_;
  uint32_t checksum_ = 0xffffffff;
  uint32_t size_ = 0;
};

}  // namespace sonde

#endif  // SONDE_EXPORT_GZIP_H_

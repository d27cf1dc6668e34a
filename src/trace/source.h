#ifndef SONDE_TRACE_SOURCE_H_
#define SONDE_TRACE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// Bytes at rest: a file or memory. Read with pread, never mapped: a file that
// somebody truncates while we read it gives a short read, not a SIGBUS, and one
// reused buffer is cheaper here than first-touched pages.
class Source {
 public:
  static Result<std::shared_ptr<Source>> OpenFile(const std::string& path);
  static std::shared_ptr<Source> OfBytes(std::shared_ptr<std::string> bytes);

  int64_t size() const { return size_; }

  // Up to `size` bytes from `offset` into `out` (replaced); fewer at the end.
  void Read(int64_t offset, size_t size, std::string& out) const;

 private:
  Fd fd_;
  std::shared_ptr<std::string> bytes_;
  int64_t size_ = 0;
};

}  // namespace sonde

#endif  // SONDE_TRACE_SOURCE_H_

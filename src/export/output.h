#ifndef SONDE_EXPORT_OUTPUT_H_
#define SONDE_EXPORT_OUTPUT_H_

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "export/exporter.h"

namespace sonde {

// A name beside `path` for the file while it grows.
std::string PartialName(const std::string& path);

// An error if something is at `path` and must not be replaced.
Status CheckReplace(const std::string& path, bool force);

// The same for a `format` that writes a directory: an error if a file is there.
Status CheckDirectory(const std::string& path, bool force,
                      const std::string& format);

// Moves a finished `partial` to `path`; `force` as in CheckReplace.
Status MoveInPlace(const std::string& partial, const std::string& path,
                   bool force);

// One output file, written through one buffer.
//
//  - The file grows under another name and gets its own in Commit(); without
//    Commit() the file is removed. A pipe, a device or "-" is written to
//    directly.
//  - Errors stick: after the first, writing does nothing and Commit() tells.
//
// One thread.
class Output {
 public:
  static constexpr size_t kBufferBytes = 1 << 20;

  static Result<std::unique_ptr<Output>> Create(const std::string& path,
                                                const ExportOptions& options);
  ~Output();
  Output(const Output&) = delete;

  // Cannot be taken back: what is written is seen at once.
  bool streaming() const { return partial_.empty(); }

  // At least `bytes` (<= kBufferBytes) to write into; Advance() to the end of
  // what was written.
  char* Room(size_t bytes) {
    if (kBufferBytes - used_ < bytes) Flush();
    return buffer_.get() + used_;
  }
  void Advance(const char* end) {
    used_ = static_cast<size_t>(end - buffer_.get());
  }
  void Text(std::string_view text) {
    if (text.size() > kBufferBytes) return TextLong(text);
    char* at = Room(text.size());
    std::memcpy(at, text.data(), text.size());
    Advance(at + text.size());
  }

  bool failed() const { return failed_; }
  uint64_t bytes() const { return written_ + used_; }
  // Everything is in the file, and the file under its name.
  Status Commit();

 private:
  Output(Fd fd, std::string path, std::string partial,
         const ExportOptions& options);
  void Flush();
  void TextLong(std::string_view text);

  Fd fd_;
  std::string path_;
  std::string partial_;  // empty if streaming
  bool force_;
  const std::atomic<bool>* cancelled_;
  std::unique_ptr<char[]> buffer_;
  size_t used_ = 0;
  uint64_t written_ = 0;
  bool failed_ = false;
  Error error_{Error::Kind::kIo, ""};
};

}  // namespace sonde

#endif  // SONDE_EXPORT_OUTPUT_H_

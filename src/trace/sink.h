#ifndef SONDE_TRACE_SINK_H_
#define SONDE_TRACE_SINK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// Where a writer puts its bytes: a file, or memory. Not thread-safe.
class Sink {
 public:
  virtual ~Sink() = default;

  // Appends all of `bytes`. After an error the sink holds what was appended
  // before, perhaps with a torn tail.
  virtual Status Append(std::string_view bytes) = 0;
  virtual int64_t size() const = 0;

  // Only used by compaction.
  virtual Status WriteAt(int64_t offset, std::string_view bytes) = 0;
  virtual Result<std::string> ReadAt(int64_t offset, size_t size) = 0;
  virtual Status Truncate(int64_t size) = 0;

  // From now on the reserve may be used: room for the last frames of a trace
  // whose disk is full. Sinks without a reserve do nothing.
  virtual void OpenReserve() {}
  virtual int64_t reserve() const { return 0; }
};

// A new file of mode 0600, never a symlink's target, locked (flock) as long as
// it is written. Keeps up to 1 MiB of disk
// allocated behind its end, so that a full disk leaves room to finish.
class FileSink : public Sink {
 public:
  // Fails if `path` exists, unless `replace`.
  static Result<std::unique_ptr<FileSink>> Create(const std::string& path,
                                                  bool replace,
                                                  int64_t reserve_bytes,
                                                  int64_t ahead_bytes = 0);
  ~FileSink() override;

  Status Append(std::string_view bytes) override;
  int64_t size() const override { return size_; }
  Status WriteAt(int64_t offset, std::string_view bytes) override;
  Result<std::string> ReadAt(int64_t offset, size_t size) override;
  Status Truncate(int64_t size) override;
  void OpenReserve() override { reserve_open_ = true; }
  int64_t reserve() const override { return reserve_; }

 private:
  FileSink(std::string path, Fd fd, int64_t reserve_bytes)
      : path_(std::move(path)), fd_(std::move(fd)), reserve_(reserve_bytes) {}

  std::string path_;
  Fd fd_;
  int64_t size_ = 0;
  int64_t reserve_;        // wanted behind the end; 0: none
  int64_t ahead_ = 0;      // allocated beyond the reserve, to save system calls
  int64_t allocated_ = 0;  // bytes of disk that are ours for sure
  bool reserve_open_ = false;
};

// Bytes in memory: what text traces and imports are turned into.
class MemorySink : public Sink {
 public:
  explicit MemorySink(std::shared_ptr<std::string> bytes)
      : bytes_(std::move(bytes)) {}

  Status Append(std::string_view bytes) override;
  int64_t size() const override { return static_cast<int64_t>(bytes_->size()); }
  Status WriteAt(int64_t offset, std::string_view bytes) override;
  Result<std::string> ReadAt(int64_t offset, size_t size) override;
  Status Truncate(int64_t size) override;

 private:
  std::shared_ptr<std::string> bytes_;
};

}  // namespace sonde

#endif  // SONDE_TRACE_SINK_H_

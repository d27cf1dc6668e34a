#ifndef SONDE_TRACE_READER_H_
#define SONDE_TRACE_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/frame.h"
#include "trace/index.h"
#include "trace/model.h"
#include "trace/source.h"

namespace sonde {

// A part of the file that could not be read and was skipped.
struct Damage {
  bool journal = false;
  int64_t offset = 0;
  int64_t bytes = 0;
  std::string what;
};

// The same for somebody who reads the trace.
Loss LossOf(const Damage& damage);

// A frame that can be read: an index entry, and which file it is in.
struct FrameRef : IndexEntry {
  bool journal = false;
};

// Finds the frames of a trace, whatever state the file is in.
//
//  - A finished trace is opened by its index; nothing else is read. Up to
//    kVerifyBytes every checksum is verified all the same.
//  - A trace without an end (killed, full, cut off) is walked from the front,
//    and the journal beside it is taken in.
//  - Damaged parts are skipped and listed with their byte range; from
//    kMaxDamages on, all further parts are listed as one.
//  - A file of more than kMaxFrames frames is refused.
//  - Events are listed once, also if they stand in file and journal.
//
// Every byte is taken for hostile. Read() may be called from several threads.
class TraceReader {
 public:
  static constexpr int64_t kVerifyBytes = 16 << 20;
  static constexpr size_t kMaxDamages = 10'000;
  static constexpr char kCut[] = "cut";  // reason of a loss

  static Result<TraceReader> Open(const std::string& path);
  static Result<TraceReader> OpenBytes(std::shared_ptr<std::string> bytes,
                                       const std::string& name);

  // True if these are the first bytes of a file of ours.
  static bool LooksLikeTrace(std::string_view first_bytes);

  const std::string& name() const { return name_; }  // as it was opened
  const FileHeader& header() const { return header_; }
  // The recording was closed, not cut off.
  bool finished() const { return finished_; }
  int64_t file_size() const { return file_->size(); }
  // With its journal.
  int64_t all_bytes() const {
    return file_->size() + (journal_ ? journal_->size() : 0);
  }

  // In the order they were written.
  const std::vector<FrameRef>& frames() const { return frames_; }
  const std::vector<Damage>& damages() const { return damages_; }
  // A trace without an end has its newest part in the journal. If the journal
  // is not beside the file, cannot be read or belongs to another recording,
  // that part is lost: this says so, and how it may come back. Where the file
  // itself shows that it was cut, `cut()`, there never was more of it.
  const std::optional<Loss>& lost_end() const { return lost_end_; }
  bool cut() const { return lost_end_ && lost_end_->reason == kCut; }

  // The payload of a frame, uncompressed, into `out`. False if the frame is
  // damaged.
  bool Read(const FrameRef& frame, std::string& out) const;

 private:
  Status OpenSources(std::shared_ptr<Source> file,
                     std::shared_ptr<Source> journal, const std::string& name);
  bool OpenByIndex();
  void Scan(const Source& source, bool journal);
  bool TakeFrame(const Source& source, bool journal, int64_t offset,
                 int64_t* size);
  void Merge();
  void AddDamage(Damage damage);
  Status TooManyFrames() const;

  std::string name_;
  std::shared_ptr<Source> file_, journal_;
  FileHeader header_;
  bool finished_ = false;
  std::vector<FrameRef> frames_;
  std::vector<Damage> damages_;
  bool torn_ = false;   // the file ends in a frame, or behind its index
  bool ended_ = false;  // there is an end mark, be it not at the end
  std::optional<Loss> lost_end_;
};

}  // namespace sonde

#endif  // SONDE_TRACE_READER_H_

#ifndef SONDE_COLLECT_RING_TARGET_RING_H_
#define SONDE_COLLECT_RING_TARGET_RING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "collect/ring/annotations.h"
#include "collect/ring/ring_reader.h"
#include "collect/ring/tick_clock.h"
#include "collect/tree/process_tree.h"

namespace sonde {

// One ring file: whose it is, and its records on their way into the trace.
//
// The process is found by the pid it wrote and by what it has mapped. Until it
// and a thread are known to the tree, their records wait, for a few passes.
class TargetRing : RingSink {
 public:
  TargetRing(Fd ring, Fd tails, std::string stem, TraceWriter& out,
             ProcessTree& tree, const TickClock* clock);

  // Whether it can be read yet.
  bool Open() { return reader_.Open(); }
  // It is the file of this process, as the caller knows.
  void BelongTo(uint32_t process) {
    process_ = process;
    Begin();
  }
  // Reads what is new, if its process has run since. Returns how many bytes.
  size_t Read(int64_t now_ns);
  // Writes what was read into the trace. The clock has reached all of it.
  // `horizon`: when the pass began, on the records' clock.
  void EndPass(uint64_t horizon) { Convert(false, horizon); }
  // Its program does not record from here on.
  void Paused(int64_t at_ns) {
    if (begun()) annotations_->Paused(at_ns);
    changed_ = true;
  }
  // What must be known to go on from here. Behind a pass.
  void Archive(StateArchive& archive);
  // Whether it may have changed since the last call.
  bool TakeChanged() { return std::exchange(changed_, false); }
  // What was read is safe.
  void Publish();
  // Nothing more will come, of a process or an image that ended at `at_ns`, or,
  // if that is kNoTime, with its last record.
  void Finish(int64_t at_ns);

  // It is no ring of this version.
  bool bad() const { return reader_.bad(); }
  // False until it is known whose it is.
  bool begun() const { return annotations_ != nullptr; }
  // Number in the trace, 0: nobody knows.
  uint32_t process() const { return process_; }
  // When its image began to record, and when it did last.
  int64_t start_ns() const { return start_ns_; }
  int64_t last_ns() const;
  // What its process calls itself, and the file of the one that forked it.
  pid_t own_pid() const { return static_cast<pid_t>(reader_.header().pid); }
  uint64_t key() const { return reader_.header().key; }
  uint64_t made_time() const { return reader_.header().time; }
  int64_t MadeNs() const { return ToNs(made_time()); }
  uint64_t parent_key() const { return reader_.header().parent_key; }
  const std::string& stem() const { return stem_; }
  uint64_t records() const { return reader_.records(); }

 private:
  // Records of a thread as they were read: in words_ from `first` on.
  struct Piece {
    RingThread thread;
    size_t first = 0, count = 0;
    int passes = 0;      // that it has waited
    bool ended = false;  // the thread, instead of records
  };

  // A thread that has said that it ends.
  struct Ending {
    uint32_t key = 0;     // the ring's number
    uint32_t thread = 0;  // ours
    pid_t tid = 0;
  };

  void Records(const RingThread& thread,
               std::span<const uint64_t> words) override;
  void Lost(const RingThread& thread, const RingLoss& loss) override;
  void Ended(const RingThread& thread) override;
  bool FindProcess(int64_t now_ns);
  bool Maps(pid_t pid) const;
  void Begin();
  bool Ran();
  void LookForFilter(int64_t now_ns);
  void LookForCut();
  int64_t ToNs(uint64_t time) const;
  void Convert(bool last, uint64_t horizon);
  void Keep(const Piece& piece);
  void EndThreads();

  Fd ring_, tails_;
  const std::string stem_;
  TraceWriter& out_;
  ProcessTree& tree_;
  const TickClock* const clock_;
  RingReader reader_;
  TailsWriter publisher_;
  std::unique_ptr<Annotations> annotations_;
  uint32_t process_ = 0;
  int64_t start_ns_ = kNoTime;
  int64_t size_ = 0;  // of the file, when it was last looked at
  int64_t found_ns_ = 0;
  clockid_t cpu_clock_ = 0;
  bool has_cpu_clock_ = false;
  bool changed_ = true;
  int64_t cpu_ns_ = -1;
  pid_t pid_ = 0;  // as we see it; 0: not alive
  int64_t next_look_ns_ = 0;
  std::vector<DrainedBlock> drained_;
  std::vector<Piece> pieces_, kept_;
  std::vector<uint64_t> words_, kept_words_;
  std::unordered_map<uint32_t, uint32_t> threads_;  // ring's number -> ours
  std::vector<Ending> ending_;
  Loss full_, damaged_;
  std::optional<size_t> full_handle_, damaged_handle_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_RING_TARGET_RING_H_

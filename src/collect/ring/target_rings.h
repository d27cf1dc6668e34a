#ifndef SONDE_COLLECT_RING_TARGET_RINGS_H_
#define SONDE_COLLECT_RING_TARGET_RINGS_H_

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "collect/ring/rings_state.h"
#include "collect/ring/tick_clock.h"
#include "collect/tree/process_tree.h"
#include "trace/writer.h"

namespace sonde {

class RecordedTree;
class TargetRing;

extern const SourceInfo kAnnotationsSource;

// What the programs of a session say about themselves: every ring file in its
// directory, read from outside and written into the trace.
//
//  - A record is read at most a tenth of a second after it was made, sooner
//    when there are many. Its room in the ring is given back by Publish(), when
//    the trace has it safe.
//  - A process that did not run since the last pass costs one clock read.
//  - The files belong to the targets: whatever is in them costs their own
//    records and nothing else.
//  - If this process is killed, another can go on where the last Save() was:
//    Reopen() gets every record that is in the files.
//
// One thread. Does not own directory, writer and tree.
class TargetRings : public Gatherer {
 public:
  // Makes the control file in the directory `dir`, by which targets know that
  // they are recorded, and by which clock.
  static Result<std::unique_ptr<TargetRings>> Create(int dir, TraceWriter& out,
                                                     ProcessTree& tree);
  // Tells the programs of the session in `dir` to record no more.
  static void StopRecording(int dir, bool ticks);
  // Goes on with the rings of a session whose collector died, from `state`,
  // into a copy of its trace that was cut to it. They only need a Stop().
  static std::unique_ptr<TargetRings> Reopen(int dir, const RingsState& state,
                                             TraceWriter& out,
                                             RecordedTree& tree);
  ~TargetRings() override;

  // When the next Poll() should be.
  int64_t next_ns() const { return next_ns_; }
  // Takes in everything the targets have written.
  void Poll(int64_t now_ns) override;
  // The trace is flushed: keeps what is to be known to go on from here.
  void Save();
  // What was read is safe: the targets may write over it.
  void Publish();
  // Bytes read since the last Publish().
  size_t unpublished() const { return unpublished_; }

  // Targets stop or go on, each at its next record.
  void Pause(bool paused) override;

  // The recording ends: takes in the rest and closes what is open.
  void Stop(int64_t now_ns) override;

  uint64_t records() const;
  // Rings that could not be opened, and those whose saved state was damaged.
  size_t refused() const;
  // Those in whose place is no file.
  size_t replaced() const { return refused_.size() - refused(); }
  uint64_t damaged() const { return bad_; }
  std::vector<NotCollected> not_collected() const override;

 private:
  // What was last saved of a ring.
  struct SavedRing {
    std::string bytes;
    std::vector<uint32_t> tracks, groups;
  };

  TargetRings(int dir, Fd control, bool ticks, TraceWriter& out,
              ProcessTree& tree);

  bool DirectoryChanged();
  void FindRings();
  void End(size_t at, int64_t at_ns);
  void WriteControl();
  void Restore(const RingsState& state);
  void FindOwners(RecordedTree& tree);

  const int dir_;
  Fd control_;
  const bool ticks_are_time_;
  TraceWriter& out_;
  ProcessTree& tree_;
  TickClock clock_;
  bool recording_ = true;
  int64_t next_ns_ = 0;
  size_t unpublished_ = 0;
  uint64_t ended_records_ = 0;
  timespec seen_change_ = {};
  bool look_again_ = false;
  std::vector<std::unique_ptr<TargetRing>> rings_;
  // Names that are no rings, or not ours to read.
  struct Refused {
    int tries = 0;
    bool too_many = false;  // files were open
  };
  std::map<std::string, Refused> refused_;
  std::set<std::string> known_;  // names of rings_
  // Those done with, until what they held is safe.
  std::set<std::string> ended_;
  RingsStateFile state_file_;
  std::map<std::string, SavedRing> saved_;
  bool save_again_ = true;
  uint64_t bad_ = 0;  // of another version
};

}  // namespace sonde

#endif  // SONDE_COLLECT_RING_TARGET_RINGS_H_

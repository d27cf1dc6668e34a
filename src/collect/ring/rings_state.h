#ifndef SONDE_COLLECT_RING_RINGS_STATE_H_
#define SONDE_COLLECT_RING_RINGS_STATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collect/ring/state_archive.h"
#include "collect/ring/tick_clock.h"

namespace sonde {

// What somebody must know to go on with the rings of a session whose collector
// died: how far each was read, what was open, and how much of the trace came of
// it. Events and ticks of the rings that are in the trace beyond these counts
// are made again, from the same records: they were not given back yet.
struct RingsState {
  std::string boot;  // of the machine: ticks mean nothing in another
  bool ticks = false;
  std::vector<TickClock::Pair> clock;
  StateLimits have;                          // what the trace had
  std::map<uint32_t, uint64_t> events;       // by track of the rings below
  std::map<uint32_t, uint64_t> counts;       // ticks, by group
  std::map<std::string, std::string> rings;  // by the name of the file
  // Rings that are done with; their files may still be there.
  std::vector<std::string> ended;
  uint64_t ended_records = 0;  // that came of those, ever

  std::string Encode();
  // Nothing if the bytes are not a whole state.
  static std::optional<RingsState> Decode(std::string_view bytes);

 private:
  void Archive(StateArchive& archive);
};

// The state in a session's directory. It is kept twice, so that a death in the
// middle of a write leaves the one before.
class RingsStateFile {
 public:
  explicit RingsStateFile(int dir) : dir_(dir) {}

  // If it cannot be written nothing is left of it: an old state is a wrong one.
  void Save(RingsState& state);
  static std::optional<RingsState> Load(int dir);

 private:
  int dir_;
  uint64_t sequence_ = 0;
};

// Different after each start of the machine.
std::string BootId();

}  // namespace sonde

#endif  // SONDE_COLLECT_RING_RINGS_STATE_H_

// The seam between a recording and its gatherers: what is known of a gatherer
// before it is made, and what the recording asks of a gatherer.

#ifndef SONDE_COLLECT_GATHERER_H_
#define SONDE_COLLECT_GATHERER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/model.h"

namespace sonde {

struct SampledRun;

// Whether a source works here and now. If the source does not work, `why` is
// the reason and `cure` the one command or setting that enables it.
struct SourceState {
  bool works = false;
  std::string why;
  std::string cure;
  std::string detail;  // if it works: what is read, e.g. "2 cores"

  static SourceState Works(std::string detail) {
    return {true, "", "", std::move(detail)};
  }
  static SourceState Fails(std::string why, std::string cure) {
    return {false, std::move(why), std::move(cure), ""};
  }
};

// One thing that sonde can collect. `name` is the word for this source wherever
// a user reads of it: in `sonde doctor`, in a report and in docs/cli/doctor.md.
struct SourceInfo {
  const char* name;
  const char* gathers;
  SourceState (*check)();
};

// A source of which a recording has nothing, or not all.
inline NotCollected Missing(const SourceInfo& info, std::string why,
                            std::string cure = "") {
  return {info.name, std::move(why), std::move(cure)};
}
// In the words of the source's check.
inline NotCollected MissingNow(const SourceInfo& info) {
  SourceState state = info.check();
  // What could not be read may be there by now.
  if (state.works) state.why = "could not be read";
  return Missing(info, std::move(state.why), std::move(state.cure));
}

// Collects something while a recording runs. All calls come from one thread.
class Gatherer {
 public:
  virtual ~Gatherer() = default;

  // A tick: reads what is due and writes it to the trace. Never called while
  // the recording is paused.
  virtual void Poll(int64_t now_ns) = 0;
  // A gatherer that looks more often than there are ticks: when next, and to
  // look. Never called while the recording is paused.
  virtual int64_t next_look_ns() const { return INT64_MAX; }
  virtual void Look(int64_t now_ns) { (void)now_ns; }
  // Descriptors that become readable when a look is due before that. Other ones
  // after a tick, maybe.
  virtual std::vector<int> look_fds() const { return {}; }
  virtual void Pause(bool paused) { (void)paused; }
  // The recording ends: what is read seldom is read once more, unless the
  // recording is paused. There is no Poll() afterwards.
  virtual void Stop(int64_t now_ns) { (void)now_ns; }
  // Ends the processes that the gatherer has started, after Stop(); returns the
  // CPU time that they used.
  virtual int64_t EndHelpers() { return 0; }

  virtual std::vector<NotCollected> not_collected() const { return {}; }
};

// A gatherer before it is made: all that it gathers, and how to make it. This
// object stands in the file of the gatherer; the table of all gatherers is in
// collect/session/gatherers.cc.
struct GathererInfo {
  std::span<const SourceInfo> sources;
  // Null: no gatherer is made for these sources by the table.
  std::unique_ptr<Gatherer> (*make)(SampledRun& run) = nullptr;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_GATHERER_H_

#ifndef SONDE_COLLECT_SESSION_GATHERERS_H_
#define SONDE_COLLECT_SESSION_GATHERERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collect/gatherer.h"
#include "collect/sample/sampled_run.h"
#include "collect/tree/process_tree.h"
#include "trace/writer.h"

namespace sonde {

// Everything that this build can collect, in the order users care.
std::vector<const SourceInfo*> Sources();

// What the table makes, as one: every gatherer of a recording but the tree
// and the rings of programs, which the recording makes itself.
//
//  - All are polled in one wake-up, in the order of the table.
//  - Each reading is written with its true time.
//
// One thread. Does not own writer and tree.
class Gatherers : public Gatherer {
 public:
  // `cgroup` as SampledRun wants it.
  Gatherers(TraceWriter& out, ProcessTree& tree, double rate_hz,
            std::string cgroup = "", double stacks_hz = 0,
            StacksBy stacks_by = StacksBy::kBest,
            StacksOf stacks_of = StacksOf::kCommand);

  void Poll(int64_t now_ns) override;
  int64_t next_look_ns() const override;
  void Look(int64_t now_ns) override;
  std::vector<int> look_fds() const override;
  // One of look_fds() is readable.
  void LookNow(int64_t now_ns);
  void Pause(bool paused) override;
  void Stop(int64_t now_ns) override;
  int64_t EndHelpers() override;
  std::vector<NotCollected> not_collected() const override;

  const SampledRun::Used& used() const { return run_.used; }

 private:
  SampledRun run_;
  std::vector<std::unique_ptr<Gatherer>> gatherers_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_GATHERERS_H_

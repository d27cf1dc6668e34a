#ifndef SONDE_COLLECT_SAMPLE_SAMPLER_H_
#define SONDE_COLLECT_SAMPLE_SAMPLER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/tree/process_tree.h"
#include "trace/writer.h"

namespace sonde {

// Reads the machine's, the cgroup's and the tree's counters at each tick, all
// in one wake-up, and writes them as counter groups with the true time of the
// reading.
//
//  - A process whose CPU clock did not move since the last tick costs one clock
//    read and no file. One that used less than 2 % of a core since its files
//    were read has its CPU time in every tick and the rest four times a second.
//  - Machine-wide files are read at most ten times a second, whatever the rate.
//  - A value that cannot be read is absent, never 0.
//
// One thread. Does not own writer or tree.
class Sampler {
 public:
  struct Options {
    double rate_hz = 10;
    // /proc/PID/cgroup of what is recorded. Empty: it is the whole machine, and
    // none of its cgroups is the run's.
    std::string cgroup = {};
  };

  static std::unique_ptr<Sampler> Create(TraceWriter& out, ProcessTree& tree,
                                         const Options& options);
  virtual ~Sampler() = default;

  // Samples everything that is due at `now_ns`.
  virtual void Tick(int64_t now_ns) = 0;

  // What the tree has used so far, as of the last tick: of processes that were
  // sampled, those that have ended included. Of sums only differences mean
  // something.
  struct Used {
    int64_t cpu_ns = 0;
    uint64_t io_bytes = 0;  // of storage
    // Of the busiest accelerator, now; nothing if there is none.
    std::optional<double> accelerator_share;
  };
  virtual Used used() const = 0;

  // The recording ends: what is read seldom is read once more.
  virtual void Finish() = 0;

  // Ends the processes it has started to ask devices; the CPU time they used.
  // There are no readings of devices afterwards.
  virtual int64_t EndHelpers() = 0;

  virtual std::vector<NotCollected> not_collected() const = 0;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_SAMPLER_H_

#ifndef SONDE_ANALYZE_FACTS_POOLS_H_
#define SONDE_ANALYZE_FACTS_POOLS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "analyze/facts/facts.h"
#include "analyze/facts/steady.h"

namespace sonde {

// A process, and how many of its threads want to run: they have a core or wait
// for one for a good part of their lives. A process that only waits for others,
// like a launcher, is no pool.
struct Pool {
  const ProcessFacts* process = nullptr;
  size_t threads = 0;
};

// The pools that are there at the same time, at a busy moment of the steady
// part, most threads first. What ran one after the other does not add up. None
// if the waiting times of threads were not collected. Keeps pointers into
// `facts`.
std::vector<Pool> PoolsOf(const Facts& facts, const Steady& steady);

size_t ThreadsIn(const std::vector<Pool>& pools);

// A pool has threads that wait for each other, and all together are more than
// the cores: such threads may spin, so the CPU time they used is not the work
// they did, and no gain can be told from it.
bool MaySpin(const std::vector<Pool>& pools, double cores);

// "16 threads", "4 processes x 16 threads", "3 processes with 16, 8 and 1
// threads".
std::string CallPools(const std::vector<Pool>& pools);

// What to set so that they fit: "OMP_NUM_THREADS=1 (...)". Without a pool, for
// all of them together.
std::string FitPools(const std::vector<Pool>& pools, double cores);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_POOLS_H_

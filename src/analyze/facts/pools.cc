#include "analyze/facts/pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sonde {
namespace {

// Of its life, a thread that wants to run has a core or waits for one.
constexpr double kWants = 0.3;
// Moments that are looked at, and which of them counts: the busiest may be one
// at which one process ends while the next begins.
constexpr int64_t kMoments = 64;
constexpr size_t kBusyMoment = kMoments * 3 / 4;
constexpr size_t kListed = 4;

bool Wants(const ThreadFacts& t) {
  if (!t.cpu_ns || !t.wait_ns || t.wall_ns <= 0) return false;
  return static_cast<double>(*t.cpu_ns) + static_cast<double>(*t.wait_ns) >=
         kWants * static_cast<double>(t.wall_ns);
}

bool AliveAt(const Thread& row, int64_t ns) {
  return (row.start_ns == kNoTime || row.start_ns <= ns) &&
         (row.end_ns == kNoTime || row.end_ns > ns);
}

std::vector<Pool> PoolsAt(const Facts& facts, int64_t ns) {
  std::vector<Pool> out;
  for (const ProcessFacts& p : facts.processes) {
    size_t threads = 0;
    for (const ThreadFacts& t : p.threads)
      threads += Wants(t) && AliveAt(t.row, ns) ? 1 : 0;
    if (threads > 0) out.push_back({&p, threads});
  }
  std::stable_sort(out.begin(), out.end(), [](const Pool& a, const Pool& b) {
    return a.threads > b.threads;
  });
  return out;
}

const char* Plural(size_t count) { return count == 1 ? "" : "s"; }

}  // namespace

std::vector<Pool> PoolsOf(const Facts& facts, const Steady& steady) {
  const int64_t step = Elapsed(steady.from_ns, steady.to_ns) / kMoments;
  std::vector<std::pair<size_t, int64_t>> moments;  // threads, when
  for (int64_t i = 0; i < kMoments; ++i) {
    const int64_t ns = steady.from_ns + step * i + step / 2;
    moments.emplace_back(ThreadsIn(PoolsAt(facts, ns)), ns);
  }
  std::nth_element(moments.begin(), moments.begin() + kBusyMoment,
                   moments.end());
  return PoolsAt(facts, moments[kBusyMoment].second);
}

size_t ThreadsIn(const std::vector<Pool>& pools) {
  return std::accumulate(
      pools.begin(), pools.end(), size_t{0},
      [](size_t sum, const Pool& pool) { return sum + pool.threads; });
}

bool MaySpin(const std::vector<Pool>& pools, double cores) {
  return !pools.empty() && pools[0].threads > 1 &&
         static_cast<double>(ThreadsIn(pools)) > cores;
}

std::string CallPools(const std::vector<Pool>& pools) {
  if (pools.empty()) return "no threads";
  const size_t most = pools.front().threads, least = pools.back().threads;
  if (pools.size() == 1) return fmt::format("{} thread{}", most, Plural(most));
  if (most == least)
    return fmt::format("{} processes x {} thread{}", pools.size(), most,
                       Plural(most));
  if (pools.size() > kListed)
    return fmt::format("{} processes with {} to {} threads ({} together)",
                       pools.size(), least, most, ThreadsIn(pools));
  std::string out = fmt::format("{} processes with ", pools.size());
  for (size_t i = 0; i < pools.size(); ++i)
    out += fmt::format("{}{}",
                       i == 0                  ? ""
                       : i + 1 == pools.size() ? " and "
                                               : ", ",
                       pools[i].threads);
  return out + " threads";
}

std::string FitPools(const std::vector<Pool>& pools, double cores) {
  const double whole = std::max(1.0, std::floor(cores));
  const double count = std::max(1.0, static_cast<double>(pools.size()));
  if (!pools.empty() && pools[0].threads == 1)
    return fmt::format(
        "let at most {0:.0f} of these processes run at a time (fewer workers, "
        "make -j{0:.0f})",
        whole);
  std::string out = fmt::format(
      "OMP_NUM_THREADS={0:.0f} (also MKL_NUM_THREADS, OPENBLAS_NUM_THREADS), "
      "torch.set_num_threads({0:.0f})",
      std::max(1.0, std::floor(cores / count)));
  if (count > 1) out += " in each process";
  if (count > whole)
    out += fmt::format(", and at most {:.0f} process{} at a time", whole,
                       whole == 1 ? "" : "es");
  if (pools.empty())
    out += fmt::format(", fewer workers, make -j{:.0f}", whole);
  return out;
}

}  // namespace sonde

// Whether two resources that take turns are told from two that do not, and what
// looking for patterns costs.
// bars: alternation_found alternation_false pattern_us
//
// CPU and accelerator as square waves in opposition, in step, and as nothing
// but noise: 200 seeds each, with the noise that the origin's detector was
// tried with. It found 17 % of the true ones and 70 % of those in step (the
// peers). `pattern_us` is the CPU time of naming one series of 4096 windows,
// the most that a series has however long the run was.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "analyze/pattern/alternation.h"
#include "analyze/pattern/pattern.h"
#include "analyze/series/made_series.h"
#include "base/time.h"

namespace sonde {
namespace {

double FoundShare(MadePair (*make)(uint32_t seed)) {
  uint32_t found = 0;
  for (uint32_t seed = 0; seed < MadePair::kSeeds; ++seed) {
    const MadePair pair = make(seed);
    found += AlternationOf(pair.cpu, pair.accelerator).found();
  }
  return static_cast<double>(found) / MadePair::kSeeds;
}

// The median over several kinds of series.
double PatternUs(int rounds) {
  const std::vector<RegularSeries> series = {
      MadeSeries(kPatternWindows, Flat(50), 5),
      MadeSeries(kPatternWindows, Line(0, 1), 50),
      MadeSeries(kPatternWindows, Square(97.3, 5, 95), 5),
      MadeSeries(kPatternWindows, RedNoise(0.99, 50, 2, 1), 1)};
  std::vector<double> us;
  for (int round = 0; round < rounds; ++round) {
    const int64_t begin = ClockNs(CLOCK_PROCESS_CPUTIME_ID);
    for (const RegularSeries& s : series)
      if (PatternOf(s, {}).text.empty()) return -1;
    us.push_back(
        static_cast<double>(ClockNs(CLOCK_PROCESS_CPUTIME_ID) - begin) / 1e3 /
        static_cast<double>(series.size()));
  }
  return Quantile(us, 0.5);
}

int Main(int argc, char** argv) {
  int rounds = 15;
  std::set<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--quick")
      rounds = 3;
    else
      wanted.insert(argv[i]);
  }
  const auto wants = [&](const char* bar) {
    return wanted.empty() || wanted.contains(bar);
  };
  if (wants("alternation_found")) {
    const double found = FoundShare(MadePair::Alternating);
    fmt::print(
        "{{\"bar\":\"alternation_found\",\"value\":{:.3g},\"unit\":\"share\","
        "\"limit\":0.95,\"ok\":{},\"peers\":{{\"openpai\":0.17}}}}\n",
        found, found >= 0.95);
  }
  if (wants("alternation_false")) {
    const double together = FoundShare(MadePair::Together),
                 noise = FoundShare(MadePair::Noise);
    const double worst = std::max(together, noise);
    fmt::print(
        "{{\"bar\":\"alternation_false\",\"value\":{:.3g},\"unit\":\"share\","
        "\"limit\":0.05,\"ok\":{},\"peers\":{{\"openpai_in_step\":0.695,"
        "\"openpai_noise\":0.275}},\"in_step\":{:.3g},\"noise\":{:.3g}}}\n",
        worst, worst <= 0.05, together, noise);
  }
  if (wants("pattern_us")) {
    const double us = PatternUs(rounds);
    fmt::print(
        "{{\"bar\":\"pattern_us\",\"value\":{:.4g},\"unit\":\"us\","
        "\"limit\":5000,\"ok\":{},\"peers\":{{}}}}\n",
        us, us >= 0 && us <= 5000);
  }
  return 0;
}

}  // namespace
}  // namespace sonde

int main(int argc, char** argv) { return sonde::Main(argc, argv); }

// What the profiler of OpenPAI looked for in each ten seconds of a run.

#ifndef SONDE_EXPORT_PAI_VOTES_H_
#define SONDE_EXPORT_PAI_VOTES_H_

#include <array>
#include <cstddef>
#include <vector>

#include "export/pai/table.h"

namespace sonde {

inline constexpr size_t kPaiPhenomena = 4;
inline constexpr int64_t kPaiWindowNs = 10'000'000'000;

// Its sentence for each phenomenon, and what helps against it.
const char* PaiText(size_t phenomenon);
const char* PaiRemedy(size_t phenomenon);

// Which of them a window shows:
//
//   0  the GPUs' memory is filled unevenly
//   1  a GPU is used less than 85 %, and its memory less than 80 %
//   2  a GPU is used less than 85 %, and its memory 80 % or more
//   3  a GPU used less than 85 % takes turns with the CPU, a disk or the
//   network
//
// What is not known shows nothing.
std::array<bool, kPaiPhenomena> PaiJudge(const PaiTable& window);

// How many windows showed each, and which.
struct PaiVotes {
  std::array<std::vector<size_t>, kPaiPhenomena> windows;
  size_t total = 0;
  int64_t window_ns = kPaiWindowNs;  // as long as each is

  void Add(const PaiTable& window);
  // MOST, SEVERAL, A LITTLE or NO of the windows; NO if there are none.
  const char* Word(size_t phenomenon) const;
};

// Windows of ten seconds, in whole rows; what is left at the end is one if it
// lasts for half of that, or if it is the only one.
PaiVotes PaiVotesOf(const PaiTable& table);

// The same of a run. Where the table's rows are longer than the time between
// samples, as those of a long run are, the windows are read again as fine as
// the samples: turns that take a second are not seen in rows of one. Not of a
// run of more than three days, nor of a trace that only says so.
PaiVotes PaiVotesOf(const Facts& facts, const PaiTable& table);

}  // namespace sonde

#endif  // SONDE_EXPORT_PAI_VOTES_H_

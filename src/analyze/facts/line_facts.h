#ifndef SONDE_ANALYZE_FACTS_LINE_FACTS_H_
#define SONDE_ANALYZE_FACTS_LINE_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "store/stack_sums.h"
#include "store/store.h"

namespace sonde {

// The CPU time of one line of a file.
struct LineTime {
  // The line itself ran, or native code that it called from Python.
  uint64_t self_ns = 0;
  uint64_t total_ns = 0;  // the line or what it called ran; once a sample
};

// The lines of one file that were on sampled stacks.
struct FileLines {
  std::string file;  // as the program knows it
  uint64_t self_ns = 0;
  std::map<uint32_t, LineTime> lines;  // by number
};

// The files with most self time, at most `most`, the hottest first. `sums` as
// RunningStacks() gives them. Time of which no line is known is in none. Of a
// trace with more than a million lines, those of the smallest stacks are left
// out; past a second of work only the innermost functions are looked at.
std::vector<FileLines> HottestFiles(const Store& store,
                                    const std::vector<StackSum>& sums,
                                    size_t most);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_LINE_FACTS_H_

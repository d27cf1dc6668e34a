#ifndef SONDE_ANALYZE_FACTS_NEIGHBOURS_H_
#define SONDE_ANALYZE_FACTS_NEIGHBOURS_H_

#include <string>

#include "analyze/facts/facts.h"

namespace sonde {

// For a sentence that has said how much the others used together:
// "gzip 1.02 cores, cc1 0.40 cores"; after three of them "and others" if there
// were more. Empty if nobody was seen.
std::string CallNeighbours(const Facts& facts);

// "Other programs used 1.42 cores (gzip 1.02 cores, cc1 0.40 cores)".
std::string OthersUsed(const Facts& facts, double cores);

// How to get the others out of the way, and who they are, as advice.
std::string AdviceOnNeighbours(const Facts& facts);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_NEIGHBOURS_H_

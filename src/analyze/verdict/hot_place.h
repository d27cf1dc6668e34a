#ifndef SONDE_ANALYZE_VERDICT_HOT_PLACE_H_
#define SONDE_ANALYZE_VERDICT_HOT_PLACE_H_

#include "analyze/facts/facts.h"
#include "analyze/rules/rule.h"

namespace sonde {

// Adds to a finding where in the code it is. About CPU time: the function of
// its process that has most of it; a hang: where threads stand; input: where
// the main thread waits for data. Adds nothing to other findings, nor where too
// little was sampled to say.
void PutHotPlace(const Facts& facts, Finding& finding);

}  // namespace sonde

#endif  // SONDE_ANALYZE_VERDICT_HOT_PLACE_H_

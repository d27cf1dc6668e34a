#ifndef SONDE_ANALYZE_VERDICT_HOT_PLACE_H_
#define SONDE_ANALYZE_VERDICT_HOT_PLACE_H_

#include "analyze/facts/facts.h"
#include "analyze/rules/rule.h"

namespace sonde {

// Adds to a finding about CPU time where in the code that time goes: the
// function of its process that has most of it. Adds nothing to other findings,
// nor where too little was sampled to say.
void PutHotPlace(const Facts& facts, Finding& finding);

}  // namespace sonde

#endif  // SONDE_ANALYZE_VERDICT_HOT_PLACE_H_

// One function per rule; rules.cc lists them.

#ifndef SONDE_ANALYZE_RULES_RULES_H_
#define SONDE_ANALYZE_RULES_RULES_H_

#include "analyze/rule.h"

namespace sonde {

Outcome CpuBound(const Facts& facts);
Outcome OneCoreBound(const Facts& facts);

}  // namespace sonde

#endif  // SONDE_ANALYZE_RULES_RULES_H_

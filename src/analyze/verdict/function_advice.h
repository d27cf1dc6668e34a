#ifndef SONDE_ANALYZE_VERDICT_FUNCTION_ADVICE_H_
#define SONDE_ANALYZE_VERDICT_FUNCTION_ADVICE_H_

#include <string>

#include "analyze/facts/function_facts.h"

namespace sonde {

// What somebody who knows such functions would say of one that takes most of
// the time: a sentence. By its name, its file and its module, first by those of
// the native function that it spends most of its time in.
std::string AdviceOnFunction(const FunctionFacts& function);

}  // namespace sonde

#endif  // SONDE_ANALYZE_VERDICT_FUNCTION_ADVICE_H_

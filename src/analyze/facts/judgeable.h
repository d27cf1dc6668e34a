#ifndef SONDE_ANALYZE_FACTS_JUDGEABLE_H_
#define SONDE_ANALYZE_FACTS_JUDGEABLE_H_

#include "base/result.h"
#include "store/store.h"

namespace sonde {

// An error that names the trace if facts of it would take more time (see
// CheckWork) or memory than reading a stranger's file may.
Status CheckJudgeable(const Store& store);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_JUDGEABLE_H_

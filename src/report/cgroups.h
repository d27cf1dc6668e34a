#ifndef SONDE_REPORT_CGROUPS_H_
#define SONDE_REPORT_CGROUPS_H_

#include "analyze/facts/facts.h"
#include "report/lines.h"

namespace sonde {

// What the cgroups of the run used and waited for, a paragraph each. With
// `brief`, only what a limit did to the run.
Lines CgroupLines(const Facts& facts, bool brief);

}  // namespace sonde

#endif  // SONDE_REPORT_CGROUPS_H_

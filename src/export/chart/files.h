#ifndef SONDE_EXPORT_CHART_FILES_H_
#define SONDE_EXPORT_CHART_FILES_H_

#include <string>
#include <vector>

#include "analyze/verdict/charts.h"
#include "base/result.h"

namespace sonde {

// Writes one SVG file for each group, as directory/NAME.svg, and returns their
// paths. The directory is made if it is not there. Files of ours (any picture
// this wrote) are replaced; another's of that name is an error unless `force`.
// Files are for their owner only. What was written before an error stays.
Result<std::vector<std::string>> WriteCharts(const Charts& charts,
                                             const std::string& directory,
                                             bool force);

}  // namespace sonde

#endif  // SONDE_EXPORT_CHART_FILES_H_

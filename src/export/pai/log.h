#ifndef SONDE_EXPORT_PAI_LOG_H_
#define SONDE_EXPORT_PAI_LOG_H_

#include <string>

#include "export/pai/table.h"
#include "export/pai/votes.h"

namespace sonde {

// "[--->====]12.30% has been finished": a hundred characters between the
// brackets.
std::string PaiProgress(double share);

// log.txt: the progress of each window, the advice in its words, statistics,
// and, behind them, what its log did not say: when each was seen, and what
// helps.
std::string PaiLog(const PaiTable& table, const PaiVotes& votes);

}  // namespace sonde

#endif  // SONDE_EXPORT_PAI_LOG_H_

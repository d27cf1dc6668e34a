#ifndef SONDE_REPORT_JOURNAL_LOSS_H_
#define SONDE_REPORT_JOURNAL_LOSS_H_

#include <optional>

#include "store/store.h"

namespace sonde {

// A trace whose recorder was killed has its newest part in the journal beside
// it. If the journal is not there, cannot be read or belongs to another
// recording, that part is lost: this says so, and how it may come back. Nothing
// for a finished trace, a trace in text form and one that has its journal.
std::optional<Loss> JournalLoss(const Store& store);

}  // namespace sonde

#endif  // SONDE_REPORT_JOURNAL_LOSS_H_

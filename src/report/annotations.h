#ifndef SONDE_REPORT_ANNOTATIONS_H_
#define SONDE_REPORT_ANNOTATIONS_H_

#include <cstddef>

#include "analyze/facts/facts.h"
#include "report/lines.h"

namespace sonde {

// What the program said about itself, for people. Each part is empty if the
// program said nothing of the kind; `top` rows of each part are shown.
Lines SliceLines(const Facts& facts, size_t top);
Lines SliceTrackLines(const Facts& facts, size_t top);
Lines CounterLines(const Facts& facts, size_t top);
Lines MarkLines(const Facts& facts, size_t top);
// The slices in one line.
Lines SliceSummary(const Facts& facts);

}  // namespace sonde

#endif  // SONDE_REPORT_ANNOTATIONS_H_

// The flame graph in the page of a report.

#ifndef SONDE_REPORT_FLAME_H_
#define SONDE_REPORT_FLAME_H_

#include <string>
#include <vector>

#include "export/flame_boxes.h"
#include "store/stack_sums.h"
#include "store/store.h"

namespace sonde {

// The CPU time of the sampled stacks as boxes, the largest 1500.
//
//  - Whole without script: names and times are there, cut by the browser where
//    a box is too narrow. With FlameScript() a click, or Enter, makes a box as
//    wide as the page, Escape shows all again, arrows go from box to box, and
//    what is searched for is marked and summed.
//  - Names are escaped. Functions drawn small are one box, as in flame_boxes.h.
std::string FlameSection(const Store& store, const std::vector<StackSum>& sums);

// What the page needs once, in its style and in its script.
std::string FlameStyle();
std::string FlameScript();

}  // namespace sonde

#endif  // SONDE_REPORT_FLAME_H_

#ifndef SONDE_REPORT_DEVICES_H_
#define SONDE_REPORT_DEVICES_H_

#include "analyze/facts/facts.h"
#include "report/lines.h"

namespace sonde {

// A table of the accelerators; nothing if there is none. What a device does not
// tell reads "-".
Lines DeviceLines(const Facts& facts);

}  // namespace sonde

#endif  // SONDE_REPORT_DEVICES_H_

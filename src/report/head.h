#ifndef SONDE_REPORT_HEAD_H_
#define SONDE_REPORT_HEAD_H_

#include "report/lines.h"
#include "report/report.h"

namespace sonde {

// What a reader must know before anything else: that the command failed, that
// the disk was full. Empty if all went well.
Lines HeadLines(const Report& report);

}  // namespace sonde

#endif  // SONDE_REPORT_HEAD_H_

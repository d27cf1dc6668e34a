#ifndef SONDE_TRACE_TEXT_WRITER_H_
#define SONDE_TRACE_TEXT_WRITER_H_

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/reader.h"

namespace sonde {

// Hands the text form of a trace to `out`, piece by piece. The order is the
// same for the same trace: tables by id, events by track, ticks by group,
// losses. Ids are counted anew, so what was lost leaves no holes; damaged parts
// become losses. The totals of events given up to --max-size have no text form.
//
// Fails only if `out` does. One chunk is in memory at a time.
Status WriteText(const TraceReader& trace,
                 const std::function<Status(std::string_view)>& out);

// The same as one string, for small traces.
std::string TextOf(const TraceReader& trace);

}  // namespace sonde

#endif  // SONDE_TRACE_TEXT_WRITER_H_

#ifndef SONDE_ANALYZE_SESSION_EVENTS_H_
#define SONDE_ANALYZE_SESSION_EVENTS_H_

#include <vector>

#include "analyze/facts.h"

namespace sonde {

// What people told the recording while it ran (`sonde ctl`), in time order.
struct SessionEvents {
  std::vector<TimeRange> pauses;  // none overlap, whatever the trace says
  std::vector<Mark> marks;
};

// Reads the chunks of the session's own track and no others.
SessionEvents SessionEventsOf(const Store& store);

}  // namespace sonde

#endif  // SONDE_ANALYZE_SESSION_EVENTS_H_

#ifndef SONDE_ANALYZE_FACTS_SESSION_EVENTS_H_
#define SONDE_ANALYZE_FACTS_SESSION_EVENTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace sonde {

// A moment that a person named with `sonde ctl mark`.
struct Mark {
  int64_t time_ns = 0;
  std::string_view text;  // of the store's strings, not escaped
};

// What people told the recording while it ran (`sonde ctl`), in time order.
struct SessionEvents {
  std::vector<TimeRange> pauses;  // none overlap, whatever the trace says
  std::vector<Mark> marks;
};

// Reads the chunks of the session's own track and no others.
SessionEvents SessionEventsOf(const Store& store);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_SESSION_EVENTS_H_

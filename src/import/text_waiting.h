#ifndef SONDE_IMPORT_TEXT_WAITING_H_
#define SONDE_IMPORT_TEXT_WAITING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/model.h"
#include "trace/writer.h"

namespace sonde {

// An event as its line has it.
struct WaitingEvent {
  Event event;
  bool has_depth = false;
  size_t line = 0;
};

// A value for a series, its end, or (series 0) only a tick.
struct WaitingValue {
  uint32_t group;
  int64_t time_ns;
  uint32_t series;
  bool gone;
  uint64_t value;
};

// What may stand in any order in the text form and not in a trace: events,
// values of counters, samples. Such rows wait here until the text has ended.
struct WaitingRows {
  std::vector<std::vector<WaitingEvent>> events;  // by track
  std::vector<WaitingValue> values;
  std::vector<Sample> samples;

  // Puts them in order, finds the depths that were not given and writes all of
  // it. An error names `file` and the line of an event that does not nest.
  Status WriteTo(TraceWriter& writer, const std::string& file);

 private:
  Status WriteEvents(TraceWriter& writer, const std::string& file);
  void WriteTicks(TraceWriter& writer);
};

}  // namespace sonde

#endif  // SONDE_IMPORT_TEXT_WAITING_H_

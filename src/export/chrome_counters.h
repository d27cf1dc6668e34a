#ifndef SONDE_EXPORT_CHROME_COUNTERS_H_
#define SONDE_EXPORT_CHROME_COUNTERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "export/chrome_events.h"
#include "export/chrome_ids.h"
#include "export/exporter.h"
#include "store/counter_replay.h"

namespace sonde {

// Writes the series of a trace as Chrome counters, as a person wants to see
// them:
//
//  - a gauge as it was sampled, in its unit;
//  - a total as the rate between two ticks, drawn over the time between them:
//    nanoseconds as percent (of one core, of the time), bytes as bytes/s, the
//    rest per second. A total that never grows is not written at all;
//  - one counter more for each core: everything but idle, iowait and steal.
//
// The format has no "no value": where a series ends or some of it is missing, 0
// is written.
class ChromeCounters : private CounterHandler {
 public:
  ChromeCounters(const Store& store, const ChromeIds& ids,
                 ChromeEvents& events);

  // All of them. Returns how many values were written.
  uint64_t Write(const ExportOptions& options);

 private:
  struct Counter {
    const Series* series = nullptr;  // of a core's sum: one of its parts
    bool is_sum = false;
    bool ambiguous = false;  // its name alone does not tell it apart
    Counter* sum = nullptr;  // the core this is a part of
    bool live = false;
    bool drawn = false;          // something was written since it came to life
    uint64_t bits = 0;           // the last value
    int64_t since_ns = kNoTime;  // when it came to life
    int64_t changed_ns = 0;      // the tick of its last change
    double shown = 0;            // the last value written
    double pending = 0;          // of a sum: growth at this tick
  };

  void Tick(const CounterTick& tick) override;
  void Hole(const CounterHole& hole) override;
  void Value(Counter& counter, uint64_t bits, int64_t now_ns,
             int64_t before_ns);
  void Begin(Counter& counter, int64_t now_ns);
  void Grow(Counter& counter, double delta, int64_t now_ns, int64_t before_ns);
  void Rest(Counter& counter);
  void End(Counter& counter, int64_t now_ns);
  void ShowRate(Counter& counter, int64_t time_ns, double rate);
  void Put(const Counter& counter, int64_t time_ns);
  void Describe(const Counter& counter);
  int64_t BornNs(const Series& series) const;

  const Store& store_;
  const ChromeIds& ids_;
  ChromeEvents& events_;
  std::vector<Counter> counters_;                     // by slot
  std::map<uint32_t, Counter> sums_;                  // by label
  std::unordered_map<uint32_t, int64_t> last_ticks_;  // by group
  int64_t started_ns_ = INT64_MAX;
  uint64_t values_ = 0;
  uint32_t pid_ = 0;
  std::string name_, key_, number_;
};

}  // namespace sonde

#endif  // SONDE_EXPORT_CHROME_COUNTERS_H_

#ifndef SONDE_TESTS_TOOLS_RANDOM_TRACE_H_
#define SONDE_TESTS_TOOLS_RANDOM_TRACE_H_

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "trace/writer.h"

namespace sonde {

// Fills a trace with everything a trace can hold, the same for the same seed on
// every machine: nested and disordered events, arguments of all types, stacks,
// flows, counters that come and go, rows that change, strings of any bytes.
// Does not Close().
class RandomTrace {
 public:
  // `flushes`: also Flush() and Seal() now and then, as a recorder does.
  RandomTrace(uint64_t seed, TraceWriter& writer, bool flushes);

  static FileHeader HeaderOf(uint64_t seed);

  // One small step: a few events, or a tick, or a row.
  void Step();
  void Steps(int count) {
    for (int i = 0; i < count; ++i) Step();
  }

 private:
  class AnyFields;
  struct OpenTrack {
    uint32_t id = 0;
    bool disordered = false;
    std::vector<int64_t> begins;  // of the open slices
  };

  uint64_t Below(uint64_t limit) { return limit ? random_() % limit : 0; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  std::string AnyString();
  uint32_t Name();
  // Of a row that there is, or 0.
  uint32_t AnyId(FrameKind kind);
  uint32_t AnyArgs();
  uint32_t AnyStack();
  void AddEvents();
  void AddTick();
  void AddRow();
  void AddPlainRow();
  void AddSamples();

  std::mt19937_64 random_;
  TraceWriter& writer_;
  bool flushes_;
  int64_t now_ns_;
  std::vector<uint32_t> names_;
  std::vector<OpenTrack> tracks_;
  std::vector<std::vector<Series>> series_;  // by group
  std::vector<uint32_t> frames_, stacks_ = {0};
  uint32_t processes_ = 0, threads_ = 0;
  std::map<FrameKind, uint32_t> plain_;  // the last id of each plain kind
};

}  // namespace sonde

#endif  // SONDE_TESTS_TOOLS_RANDOM_TRACE_H_

#ifndef SONDE_COLLECT_RING_WIRE_ARGS_H_
#define SONDE_COLLECT_RING_WIRE_ARGS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collect/ring/wire_names.h"
#include "trace/model.h"

namespace sonde {

// Words that belong to a kind of record itself, before its arguments.
size_t OwnWords(uint8_t kind);

// What stands in a record behind its own words: the event's arguments, and what
// else is to be known of it.
struct WireExtra {
  std::vector<Arg> args;
  uint32_t category = 0;  // string id of the trace, 0: none
  uint32_t track = 0;     // id of a row the program made, 0: the thread's
  uint64_t time = 0;
  bool has_time = false;
  bool on_queue = false;               // of a device; for who knows the track
  bool global = false;                 // its ids are known to others
  uint64_t flow_in = 0, flow_out = 0;  // as the program numbers them
  // Texts there was no room for, ever.
  uint64_t texts_left_out = 0;

  void Clear();
  // Replaces it by what `words` say. False if they are not whole.
  bool Parse(std::span<const uint64_t> words, WireNames& names,
             TraceWriter& out);

 private:
  uint32_t Text(std::string_view text, TraceWriter& out);
};

}  // namespace sonde

#endif  // SONDE_COLLECT_RING_WIRE_ARGS_H_

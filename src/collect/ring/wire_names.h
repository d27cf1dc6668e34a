#ifndef SONDE_COLLECT_RING_WIRE_NAMES_H_
#define SONDE_COLLECT_RING_WIRE_NAMES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "collect/ring/ring_reader.h"
#include "trace/writer.h"

namespace sonde {

// What the ids in one process's records mean, in words of the trace.
//
// Definitions come from the target: an id that means nothing, or something else
// than it should, reads as nothing.
class WireNames {
 public:
  // What a name, or a label of name, category and so on, stands for.
  struct Label {
    uint32_t name = 0;      // string ids of the trace
    uint32_t category = 0;  // 0: none
    uint32_t color = 0;     // 0xAARRGGBB, 0: none
    Event::Class cls = Event::Class::kProgram;
    uint32_t source = 0;  // string id; 0: the program
  };
  // How an id is looked up in the ring file, the first time it is met.
  using Look = std::function<std::optional<RingName>(uint32_t id)>;

  WireNames(TraceWriter& out, Look look) : out_(out), look_(std::move(look)) {}

  Label Find(uint32_t id) {
    return id < labels_.size() && labels_[id].known ? labels_[id].label
                                                    : Resolve(id);
  }
  // String id of who speaks, by the id of a text; 0: the program. Nobody speaks
  // in the collector's name.
  uint32_t SourceOf(uint32_t text);
  // A row of the timeline or a clock; null if `id` is none. `text` of what it
  // returns is not set: Find(`name`) has it.
  const RingName* FindTrack(uint32_t id) { return Thing(id, NameKind::kTrack); }
  const RingName* FindClock(uint32_t id) { return Thing(id, NameKind::kClock); }

 private:
  struct Known {
    Label label;
    bool known = false;
  };
  Label Resolve(uint32_t id);
  uint32_t TextOf(uint32_t id);
  const RingName* Thing(uint32_t id, NameKind kind);

  TraceWriter& out_;
  Look look_;
  std::vector<Known> labels_;  // by id
  std::map<uint32_t, RingName> things_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_RING_WIRE_NAMES_H_

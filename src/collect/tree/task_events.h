#ifndef SONDE_COLLECT_TREE_TASK_EVENTS_H_
#define SONDE_COLLECT_TREE_TASK_EVENTS_H_

#include <linux/perf_event.h>

#include <cstdint>
#include <string_view>

#include "collect/tree/tree_model.h"

namespace sonde {

// What the process tree asks of perf.
enum class TaskEvent {
  kTree,    // records of forks, names and exits of a task and its descendants
  kCpu,     // records of the CPU time of each of its descendants at their end
  kOwnCpu,  // counts the CPU time of one thread, no records
};
perf_event_attr AttrOf(TaskEvent event);

// One record of the ring as the model wants it, its time by the ring's clock.
// False if there is nothing in it for the model. `lost` grows by what the
// kernel says it lost, and by one for a record that is too short or tells what
// cannot be. `bytes` is a whole record, hostile all the same.
bool ParseTaskRecord(std::string_view bytes, TaskRecord* task, uint64_t* lost);

}  // namespace sonde

#endif  // SONDE_COLLECT_TREE_TASK_EVENTS_H_

#include "collect/tree/task_events.h"

#include <time.h>

#include <algorithm>
#include <cstring>

namespace sonde {
namespace {

constexpr size_t kHeader = sizeof(perf_event_header);
// Behind each record: pid, tid and time of whoever caused it (sample_id_all).
constexpr size_t kTrailer = 16;

template <typename T>
T Load(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// How long the body of such a record is at least.
size_t LeastBody(uint32_t type) {
  switch (type) {
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
      return 24;
    case PERF_RECORD_COMM:
      return 9;
    case PERF_RECORD_READ:
    case PERF_RECORD_LOST:
      return 16;
    default:
      return 0;
  }
}

}  // namespace

perf_event_attr AttrOf(TaskEvent event) {
  perf_event_attr attr = {};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = event == TaskEvent::kTree ? PERF_COUNT_SW_DUMMY
                                          : PERF_COUNT_SW_TASK_CLOCK;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  if (event != TaskEvent::kOwnCpu) {
    attr.inherit = 1;
    attr.sample_id_all = 1;
    attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    attr.watermark = 1;
  }
  if (event == TaskEvent::kTree) {
    attr.task = 1;
    attr.comm = 1;
    attr.comm_exec = 1;
    attr.wakeup_watermark = 1;  // every record wakes us
  }
  if (event == TaskEvent::kCpu) {
    attr.inherit_stat = 1;
    attr.wakeup_watermark = 1 << 30;  // none does
  }
  return attr;
}

bool ParseTaskRecord(std::string_view bytes, TaskRecord* task, uint64_t* lost) {
  *task = {};
  const uint32_t type = bytes.size() < kHeader ? 0 : Load<uint32_t>(bytes, 0);
  if (bytes.size() < kHeader + LeastBody(type) + kTrailer) {
    ++*lost;
    return false;
  }
  const std::string_view body =
      bytes.substr(kHeader, bytes.size() - kHeader - kTrailer);
  task->time_ns = Load<int64_t>(bytes, bytes.size() - 8);
  switch (type) {
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
      task->kind = type == PERF_RECORD_FORK ? TaskRecord::Kind::kFork
                                            : TaskRecord::Kind::kExit;
      task->pid = Load<int32_t>(body, 0);
      task->ppid = Load<int32_t>(body, 4);
      task->tid = Load<int32_t>(body, 8);
      task->ptid = Load<int32_t>(body, 12);
      task->time_ns = Load<int64_t>(body, 16);
      return true;
    case PERF_RECORD_COMM: {
      const uint16_t misc = Load<uint16_t>(bytes, 4);
      task->kind = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0
                       ? TaskRecord::Kind::kExec
                       : TaskRecord::Kind::kComm;
      task->pid = Load<int32_t>(body, 0);
      task->tid = Load<int32_t>(body, 4);
      const size_t length = std::min(body.size() - 8, sizeof(task->comm) - 1);
      std::memcpy(task->comm, body.data() + 8, length);
      return true;
    }
    case PERF_RECORD_READ:
      task->kind = TaskRecord::Kind::kCpu;
      task->pid = Load<int32_t>(body, 0);
      task->tid = Load<int32_t>(body, 4);
      task->value = Load<uint64_t>(body, 8);
      if (task->value <= INT64_MAX) return true;
      ++*lost;
      return false;
    case PERF_RECORD_LOST:
      *lost += Load<uint64_t>(body, 8);
      return false;
    default:
      return false;
  }
}

}  // namespace sonde

// What a trace says, as plain values. These are the words both sides share: the
// recorder fills them in, the file keeps them, the store hands them out again.
//
// Times are int64_t nanoseconds of the collector's CLOCK_MONOTONIC. Ids are
// given by the writer, start at 1 and are never reused; 0 means "none".

#ifndef SONDE_TRACE_MODEL_H_
#define SONDE_TRACE_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sonde {

// A time that is not known (a process that still runs has no end).
inline constexpr int64_t kNoTime = INT64_MIN;

// A row of the timeline: events of one thread, one device queue, or one row a
// program made for itself. Events of a track nest; `depth` says how deep.
struct Track {
  enum class Kind : uint32_t {
    kThread = 1,   // what a thread did
    kProcess = 2,  // what a process did, e.g. its images from exec to exec
    kMachine = 3,  // what concerns the whole recording: marks, pauses
    kCustom = 4,   // a row the program made
  };

  uint32_t id = 0;
  Kind kind = Kind::kThread;
  uint32_t process = 0;  // Process::number, 0 if none
  uint32_t thread = 0;   // Thread::number, 0 if none
  uint32_t name = 0;     // string id
};

// One process from its fork to its exit, through any number of execs. Known by
// a number the collector gave it, because the kernel uses pids again.
struct Process {
  enum class Exit : uint32_t {
    kUnknown = 0,   // it ended, how was not collected
    kExited = 1,    // exit_code is its exit status
    kSignaled = 2,  // exit_code is the signal's number
    kRunning = 3,   // it had not ended when the recording did
  };

  uint32_t number = 0;
  uint32_t parent = 0;  // number of the parent, 0 if it is not in the recording
  int32_t pid = 0;
  int64_t start_ns = kNoTime;
  int64_t end_ns = kNoTime;
  uint32_t name = 0;     // string id: the command name after its last exec
  uint32_t cmdline = 0;  // string id, 0 if not collected
  Exit exit = Exit::kRunning;
  int32_t exit_code = 0;
  uint32_t execs = 0;
  int64_t cpu_ns = -1;  // CPU time of its whole life; -1: not collected
};

// One thread of a process.
struct Thread {
  uint32_t number = 0;
  uint32_t process = 0;
  int32_t tid = 0;
  int64_t start_ns = kNoTime;
  int64_t end_ns = kNoTime;
  uint32_t name = 0;
  int64_t cpu_ns = -1;
};

// Something that has a value at every moment: a counter. All series of one
// group are sampled at the same ticks.
struct Series {
  enum class Scope : uint32_t {
    kMachine = 1,
    kProcess = 2,
    kThread = 3,
    kDevice = 4
  };
  enum class Kind : uint32_t {
    kGauge = 1,  // the value now: bytes in use, threads
    kTotal = 2,  // only grows: CPU time, bytes read; its slope is the rate
  };
  enum class Type : uint32_t { kInt = 1, kDouble = 2 };

  uint32_t id = 0;
  uint32_t group = 0;
  Scope scope = Scope::kMachine;
  uint32_t scope_id = 0;  // process or thread number
  uint32_t name = 0;      // string id, "cpu_ns"
  uint32_t label = 0;     // string id: which core, disk or interface; 0 if one
  uint32_t unit = 0;      // string id: "ns", "bytes", "1"
  Kind kind = Kind::kGauge;
  Type type = Type::kInt;
};

// Who made it. Programs name their counters as they like, also as we name ours,
// so that a name alone says nothing: the groups below are of the samplers,
// those from here on of programs that annotate themselves.
inline constexpr uint32_t kFirstProgramGroup = 8;
inline bool IsProgramGroup(uint32_t group) {
  return group >= kFirstProgramGroup;
}
inline bool OfProgram(const Series& series) {
  return IsProgramGroup(series.group);
}
// Programs make rows of threads and rows of their own; those of processes and
// of the machine are ours.
inline bool OfProgram(const Track& track) {
  return track.kind == Track::Kind::kThread ||
         track.kind == Track::Kind::kCustom;
}

// One event on a track: a slice from begin_ns to begin_ns + dur_ns, or an
// instant (dur_ns is 0).
struct Event {
  enum class Kind : uint8_t { kSlice = 0, kInstant = 1 };
  enum Flag : uint8_t {
    kUnfinished = 1,  // it had not ended; dur_ns reaches to its process's death
  };

  int64_t begin_ns = 0;
  int64_t dur_ns = 0;
  uint32_t name = 0;  // string id
  uint16_t depth = 0;
  Kind kind = Kind::kSlice;
  uint8_t flags = 0;
  uint32_t category = 0;  // string id
  uint32_t args = 0;      // argument set id
  uint32_t stack = 0;     // stack id
  uint64_t flow_in = 0;   // ends the arrow of this id
  uint64_t flow_out = 0;  // begins the arrow of this id
};

// One named argument of an event. Sets of them are interned as a whole.
struct Arg {
  enum class Type : uint32_t { kInt = 1, kDouble = 2, kString = 3 };

  uint32_t key = 0;  // string id
  Type type = Type::kInt;
  int64_t int_value = 0;
  double double_value = 0;
  uint32_t string_value = 0;  // string id

  bool operator==(const Arg&) const = default;
};

// One frame of a stack: a function in a module. Any of the four may be 0.
struct StackFrame {
  uint32_t function = 0;  // string id
  uint32_t module = 0;    // string id
  uint32_t file = 0;      // string id
  uint32_t line = 0;
  uint64_t offset = 0;  // in the module

  bool operator==(const StackFrame&) const = default;
};

// A node of the stack tree: `frame` called from the stack `parent`.
struct StackNode {
  uint32_t parent = 0;
  uint32_t frame = 0;

  bool operator==(const StackNode&) const = default;
};

// The same moment on several clocks. Timestamps are of the first; the others
// label it.
struct ClockPair {
  int64_t monotonic_ns = 0;
  int64_t realtime_ns = 0;
  int64_t boottime_ns = 0;
};

// Data that is missing, and why. Shown first in every report.
struct Loss {
  std::string reason;  // stable word: "max-size", "disk-full", "damaged" ...
  std::string detail;  // a sentence
  uint64_t count = 0;  // of what `detail` says; 0 if it cannot be known
  int64_t from_ns = kNoTime;
  int64_t to_ns = kNoTime;
};

}  // namespace sonde

#endif  // SONDE_TRACE_MODEL_H_

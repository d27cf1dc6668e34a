// What a trace says, as plain values. These are the words both sides share: the
// recorder fills them in, the file keeps them, the store hands them out again.
//
// Times are int64_t nanoseconds of the collector's CLOCK_MONOTONIC. Ids are
// given by the writer, start at 1 and are never reused; 0 means "none".

#ifndef SONDE_TRACE_MODEL_H_
#define SONDE_TRACE_MODEL_H_

#include <cstdint>
#include <string>
#include <string_view>
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
    kQueue = 5,    // what a device worked off, one thing after the other
  };

  uint32_t id = 0;
  Kind kind = Kind::kThread;
  uint32_t process = 0;  // Process::number, 0 if none
  uint32_t thread = 0;   // Thread::number, 0 if none
  uint32_t name = 0;     // string id
  uint32_t source = 0;   // string id: who made it (trace/sources.h)
  uint32_t device = 0;   // Device::id, 0 if none
  uint32_t parent = 0;   // id of the track that this one is drawn under
  uint32_t order = 0;    // among the tracks of one parent
  uint32_t clock = 0;    // string id of the clock its times came from; 0: ours
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
  uint32_t scope_id = 0;  // number of the process, thread or device
  uint32_t name = 0;      // string id, "cpu_ns"
  uint32_t label = 0;     // string id: which core, disk or interface; 0 if one
  uint32_t unit = 0;      // string id: "ns", "bytes", "1"
  Kind kind = Kind::kGauge;
  Type type = Type::kInt;
  // String id: who counts (trace/sources.h). Programs name their counters as
  // they like, also as we name ours, so that a name alone says nothing.
  uint32_t source = 0;
  uint32_t device = 0;  // id of the device whose value it is; 0: of none
};

// An accelerator of the machine.
struct Device {
  uint32_t id = 0;
  uint32_t source = 0;  // string id: who told of it, "nvml"
  uint32_t vendor = 0;  // string id: "nvidia"
  uint32_t name = 0;    // string id: its model
  uint32_t uuid = 0;    // string id, 0 if not known
  uint32_t index = 0;   // number among the machine's devices, from 0
};

// One event on a track: a slice from begin_ns to begin_ns + dur_ns, or an
// instant (dur_ns is 0).
struct Event {
  enum class Kind : uint8_t { kSlice = 0, kInstant = 1 };
  // Whose time it is. A device works beside the host, so its time is never
  // added to the host's.
  enum class Class : uint8_t {
    kProgram = 0,   // what the program says it does
    kCall = 1,      // a call into a library that somebody watched
    kDevice = 2,    // work of a device
    kOperator = 3,  // an operator of a model
  };
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
  Class cls = Class::kProgram;
  uint32_t source = 0;  // string id: who tells it; 0: who made its track
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

// A file that code runs from: a program, a library.
struct Module {
  uint32_t id = 0;
  uint32_t path = 0;      // string id
  uint32_t build_id = 0;  // string id: hexadecimal digits, 0 if it has none
};

// One frame of a stack: a place in a module, which Symbol rows name later, or a
// function that is known by name at once. What is not known is 0.
struct StackFrame {
  uint32_t function = 0;  // string id
  uint32_t module = 0;    // Module::id
  uint32_t file = 0;      // string id
  uint32_t line = 0;
  uint64_t offset = 0;  // in the module

  bool operator==(const StackFrame&) const = default;
};
// The file of a frame that is a system call in which the thread was, or the
// work of the kernel that no call has asked for.
inline constexpr std::string_view kKernelFile = "[kernel]";
inline constexpr std::string_view kPageFault = "page fault or interrupt";
// Stacks are found by the bytes of their frames.
static_assert(sizeof(StackFrame) == 24);

// What a frame that is only a place is called. A place in code that the
// compiler put into other functions has several rows: depth 0 is the innermost.
struct Symbol {
  uint32_t frame = 0;
  uint32_t depth = 0;
  uint32_t function = 0;  // string id
  uint32_t file = 0;      // string id
  uint32_t line = 0;
  uint32_t inlined = 0;  // 1: into the function of the next depth
  uint32_t loop = 0;     // line of the innermost loop around it, 0 if none
};

// A node of the stack tree: `frame` called from the stack `parent`.
struct StackNode {
  uint32_t parent = 0;
  uint32_t frame = 0;

  bool operator==(const StackNode&) const = default;
};

// A moment at which somebody looked what a thread was doing.
struct Sample {
  enum Flag : uint8_t {
    kWaiting = 1,      // the thread did not run
    kApproximate = 2,  // callers may be those of a moment later
  };

  int64_t time_ns = 0;
  uint32_t thread = 0;     // Thread::number
  uint32_t stack = 0;      // stack id; 0: not known
  uint64_t weight_ns = 0;  // the time that the sample stands for
  uint8_t flags = 0;
};

// Samples of one thread with one stack and the same flags, together.
struct SampleSum {
  uint32_t thread = 0;
  uint32_t stack = 0;
  uint32_t flags = 0;
  uint64_t count = 0;
  uint64_t weight_ns = 0;
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
  std::string source = {};  // whose data it was; empty: of the trace itself
};

// A source that could not be used: which, why, and the one command or setting
// that enables it.
struct NotCollected {
  std::string source;
  std::string why;
  std::string cure;
};

}  // namespace sonde

#endif  // SONDE_TRACE_MODEL_H_

// Files of one process or thread, /proc/PID/*, as values. Pure functions over
// hostile text: what is not as the kernel writes it is nothing, never a guess.

#ifndef SONDE_COLLECT_PROC_PROCESS_FILES_H_
#define SONDE_COLLECT_PROC_PROCESS_FILES_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// /proc/PID/stat. `comm` is a view into the text and may hold anything.
struct ProcessStat {
  std::string_view comm;
  char state = '?';
  pid_t ppid = 0;
  bool exiting = false;  // inside the kernel's exit path
  bool kernel = false;   // a thread of the kernel's own
  uint64_t minor_faults = 0;
  uint64_t major_faults = 0;
  uint64_t user_ticks = 0;
  uint64_t system_ticks = 0;
  uint64_t threads = 0;
  uint64_t start_ticks = 0;  // since boot
  uint64_t resident_pages = 0;
  uint64_t start_stack = 0;        // new with each exec; 0 if not shown
  std::optional<int> wait_status;  // of a zombie, as wait() gives it
};
std::optional<ProcessStat> ParseProcessStat(std::string_view text);

// /proc/PID/io.
struct ProcessIo {
  uint64_t read_chars = 0;
  uint64_t write_chars = 0;
  uint64_t read_calls = 0;
  uint64_t write_calls = 0;
  uint64_t read_bytes = 0;
  uint64_t write_bytes = 0;
};
std::optional<ProcessIo> ParseProcessIo(std::string_view text);

// /proc/PID/task/TID/status: context switches.
struct Switches {
  uint64_t voluntary = 0;
  uint64_t involuntary = 0;
};
std::optional<Switches> ParseSwitches(std::string_view text);
// The same file: of the resident memory, pages of files.
std::optional<uint64_t> ParseRssFileBytes(std::string_view text);

// /proc/PID/task/TID/schedstat.
struct SchedStat {
  uint64_t run_ns = 0;
  uint64_t wait_ns = 0;  // runnable but not running
  uint64_t slices = 0;   // how often it got a core
};
std::optional<SchedStat> ParseSchedStat(std::string_view text);

// /proc/PID/task/TID/syscall: the number of the system call that a thread which
// does not run is in, -1 if it is in none. Nothing of one that runs.
std::optional<int64_t> ParseSyscall(std::string_view text);
// The same file: also where in its code the thread left for the kernel, and
// where its stack ends there. Both may be anything.
struct BlockedAt {
  int64_t call = -1;
  uint64_t sp = 0;
  uint64_t pc = 0;

  bool operator==(const BlockedAt&) const = default;
};
std::optional<BlockedAt> ParseBlockedAt(std::string_view text);

// /proc/PID/status, also of a thread: the number as the process itself sees it,
// in its own pid namespace. Nothing from kernels before 4.1.
std::optional<pid_t> ParseOwnPid(std::string_view text);

// One line of /proc/PID/maps. `path` is a view into the text, without the
// spaces before it; what has no file has an empty one or a name in brackets.
struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t offset = 0;  // in the file
  bool writable = false;
  bool executable = false;
  uint64_t inode = 0;  // 0: no file
  std::string_view path;
};
std::vector<Mapping> ParseMaps(std::string_view text);

// /proc/PID/smaps_rollup: proportional set size.
std::optional<uint64_t> ParsePssBytes(std::string_view text);

// /proc/PID/task/TID/children. Stops at what is no pid.
std::vector<pid_t> ParseChildren(std::string_view text);

// /proc/PID/cmdline, NUL between arguments.
std::vector<std::string> ParseCmdline(std::string_view text);

// What of a command line is recorded for others than the command itself: the
// program, and if that is an interpreter, the script or module it runs. Never
// code given with -c or -e, never the script's own arguments.
std::string ShortCommand(const std::vector<std::string>& argv);

// All arguments, parted by spaces.
std::string WholeCommand(const std::vector<std::string>& argv);

}  // namespace sonde

#endif  // SONDE_COLLECT_PROC_PROCESS_FILES_H_

// Where threads of a process wait for a lock, and what runs meanwhile.

#ifndef SONDE_ANALYZE_RULES_LOCK_WAITS_H_
#define SONDE_ANALYZE_RULES_LOCK_WAITS_H_

#include <cstddef>
#include <optional>

#include "analyze/facts/facts.h"

namespace sonde {

// A line of the program at which threads waited for a lock, all together.
struct LockWait {
  CodeLine at;
  size_t threads = 0;
  double ns = 0;
  double function_ns = 0;  // the same in all lines of the function
};
// The line with the longest of such waits in a process; nothing if no line is
// known. In Python these may be waits for the interpreter's own lock.
std::optional<LockWait> LongestLockWait(const Facts& facts, uint32_t process);

// What stacks say of a lock that is taken in a line of a function.
struct LockHeld {
  double ran_there_ns = 0;   // a thread ran in that very line
  double ran_beside_ns = 0;  // in another line of the function
  double held_ns = 0;        // or waited there for a device or a program
  CodeLine holder;           // that line, with most of that time
};
LockHeld HeldBeside(const Facts& facts, uint32_t process, const CodeLine& lock);

// The function in which most threads of a process spend most of their CPU time,
// all the same one; nothing if there is none.
struct SameWork {
  CodeLine at;
  size_t threads = 0;  // for which it is the hottest
  double share = 0;    // of the CPU time of these threads that was sampled
};
std::optional<SameWork> SameWorkOf(const Facts& facts, uint32_t process);

}  // namespace sonde

#endif  // SONDE_ANALYZE_RULES_LOCK_WAITS_H_

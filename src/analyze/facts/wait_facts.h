#ifndef SONDE_ANALYZE_FACTS_WAIT_FACTS_H_
#define SONDE_ANALYZE_FACTS_WAIT_FACTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/stack_names.h"

namespace sonde {

// What a thread waits for.
enum class WaitKind {
  kOther,
  kLock,    // or another thread
  kQueue,   // that another thread or process fills
  kThread,  // another thread's end, or its result
  kSocket,
  kSleep,
  kChild,
  kFile,   // or a pipe
  kDisk,   // until data is on it
  kEvent,  // any of several: a loop of events
};
const char* NameOf(WaitKind kind);  // "lock", "queue" ..., as in report --json
// "for a lock or another thread".
std::string_view PhraseOf(WaitKind kind);

// True of a file of Python's own code, and of what was installed beside it.
bool IsLibrary(std::string_view file);

// A line of a program, or of a library. No name: not known.
struct CodeLine {
  std::string function, file;
  uint32_t line = 0;

  bool known() const { return !function.empty(); }
};
// "get (queue.py:171)", safe to print.
std::string CallLine(const CodeLine& at);
struct WaitFacts;
// "load (train.py:31), in Queue.get (queue.py:171)"; the system call if nothing
// else is known.
std::string CallWaitPlace(const WaitFacts& wait);

// One place at which one thread waited, as samples of sleeping threads tell.
struct WaitFacts {
  uint32_t process = 0, thread = 0;  // numbers
  WaitKind kind = WaitKind::kOther;
  std::string call;  // the system call; "" if not known
  CodeLine own;      // the innermost function that is of no library
  // The function of a library that `own` called; if nobody called it, the
  // innermost of Python, or else the innermost that is not the C library's.
  CodeLine library;
  uint64_t ns = 0;
  uint64_t samples = 0;
};

// Collects waits from stacks, and sums those of one thread at one place. One
// thread.
class WaitReader {
 public:
  // Of more places the shortest are left out.
  static constexpr size_t kMost = 1000;

  explicit WaitReader(const StackNames& names) : names_(names) {}

  void Add(uint32_t process, uint32_t thread,
           const std::vector<StackPlace>& places, uint64_t ns,
           uint64_t samples);
  // The longest first.
  std::vector<WaitFacts> Take() const;

 private:
  struct Sum {
    uint32_t process = 0, thread = 0;
    WaitKind kind = WaitKind::kOther;
    // Index + 1 into StackNames::functions(); 0: none.
    uint32_t call = 0, library = 0, own = 0;
    uint32_t library_line = 0, own_line = 0;
    uint64_t ns = 0, samples = 0;
  };

  CodeLine LineOf(uint32_t function, uint32_t line) const;
  WaitKind KindOf(uint32_t call) const;

  const StackNames& names_;
  std::unordered_map<std::string, Sum> sums_;  // by the bytes of what it is
};

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_WAIT_FACTS_H_

#ifndef SONDE_ANALYZE_FACTS_SLEEPERS_H_
#define SONDE_ANALYZE_FACTS_SLEEPERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/facts/facts.h"

namespace sonde {

// What a thread waits for that sleeps in the system call of this number: "for a
// lock or another thread (futex)". Empty if the call says nothing. `processor`
// is whose numbers these are, as the meta row `syscalls` has it.
std::string_view CallWait(std::string_view processor, double number);

// True of a thread that was last seen waiting for another thread.
bool WaitsForThread(const Store& store, const ThreadFacts& thread);

// True if all threads that lived at `at_ns`, and were seen asleep, waited for
// somebody from outside or for a time: for events, connections, signals.
bool WaitsToBeAsked(const Facts& facts, int64_t at_ns);

// True if a thread that lived at `at_ns`, and was seen asleep, waited for
// another thread, and all others that were seen asleep did so, too, or waited
// for a process of the run.
bool WaitsForItself(const Facts& facts, int64_t at_ns);

// The threads that lived at `at_ns`, and what each waited for, as sentences;
// threads of one process that wait for the same are one sentence, which names
// three. At most `most`, the busiest processes and main threads first, those
// that only wait for the processes they started last. None if nobody looked.
std::vector<std::string> SleepersAt(const Facts& facts, int64_t at_ns,
                                    size_t most);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_SLEEPERS_H_

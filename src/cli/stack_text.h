#ifndef SONDE_CLI_STACK_TEXT_H_
#define SONDE_CLI_STACK_TEXT_H_

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

#include "collect/sample/process_stacks.h"

namespace sonde {

// A thread's state, for machines and for people.
struct StateWord {
  char letter;
  const char* word;  // of --json
  const char* text;
};
StateWord WordsOf(char state);

// What a thread that does not run waits for; empty if that is not known.
std::string WaitOf(const ThreadStack& thread);

// The process was read, and no Python is in it.
bool HasNoPython(const ProcessStacks& process);

// Where the threads of a process are, as people read it. `with_error`: and why
// its Python could not be read.
void PrintStacks(std::FILE* out, const ProcessStacks& process, bool with_error);

// A tree stands still: where the threads of its processes are, on the terminal.
// Of very many processes only the first.
void PrintHang(const std::vector<pid_t>& pids, const std::string& for_time);

}  // namespace sonde

#endif  // SONDE_CLI_STACK_TEXT_H_

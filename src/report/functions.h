#ifndef SONDE_REPORT_FUNCTIONS_H_
#define SONDE_REPORT_FUNCTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "analyze/facts/facts.h"
#include "report/lines.h"

namespace sonde {

// A time as a share of the CPU time of the run: of what was sampled, if that is
// more or if nothing else is known.
double CpuShare(const Facts& facts, uint64_t ns);

// "parse (loader.py:31)", made harmless; "other functions" for the rest.
std::string CallFunction(const FunctionFacts& function);

// The hottest functions of the processes that used most, for people; empty if
// nothing was sampled. `top` functions of each process are shown. The shares of
// all functions and of what the last lines name sum to 1.
Lines FunctionLines(const Facts& facts, size_t top);

// Where the threads of the processes slept longest, likewise; only of processes
// of which some function is known.
Lines WaitLines(const Facts& facts, size_t top);

}  // namespace sonde

#endif  // SONDE_REPORT_FUNCTIONS_H_

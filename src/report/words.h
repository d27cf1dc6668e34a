// The pieces of a report that its text and its page say in the same words. All
// of it is safe to print, none of it escaped for markup.

#ifndef SONDE_REPORT_WORDS_H_
#define SONDE_REPORT_WORDS_H_

#include <map>
#include <string>

#include "report/report.h"

namespace sonde {

// "-" for what was not collected.
std::string Duration(const MaybeNs& ns);
std::string Bytes(const MaybeNumber& bytes);
std::string Share(const MaybeNumber& share);
std::string Cores(const MaybeNumber& cores);
std::string Plural(uint64_t count, const char* one, const char* many);
// " [1.0 to 2.5 s]", counted from the start of the run; nothing if there is no
// such time.
std::string Stretch(const RunFacts& run, int64_t from_ns, int64_t to_ns);
// The exit of a process in a narrow column.
std::string ExitOf(const Process& row);
// How short processes ended, together; for some of them that is not known.
std::string ExitsOf(const ShortProcesses& s);

// Rules that could not judge, by the reason that they have in common.
std::map<std::string, std::string> NotJudged(const Judgement& judgement);
// What is said of a recording that has no end; empty if it has one, or if its
// losses say that the file was cut.
std::string UnfinishedText(const Store& store);
std::string LossText(const Report& report, const Loss& loss);
// Empty if the trace does not say.
std::string CommandText(const Report& report);
// What was recorded while it ran already; empty if a command was started.
std::string WatchedText(const Report& report);
std::string RunText(const Report& report);
// "1.30 of 2 cores"; behind it when, if the CPU time of some of the run is not
// known.
std::string CoresUsedText(const RunFacts& run);
// `brief`: without disks, network and pressure.
std::string MachineText(const Facts& facts, bool brief);
std::string OverheadText(const Report& report);

}  // namespace sonde

#endif  // SONDE_REPORT_WORDS_H_

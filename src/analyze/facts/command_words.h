#ifndef SONDE_ANALYZE_FACTS_COMMAND_WORDS_H_
#define SONDE_ANALYZE_FACTS_COMMAND_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace sonde {

// The command that was recorded, as it was typed. Empty if the trace does not
// tell.
std::vector<std::string> CommandWords(const Store& store);

// The same for a shell, printable; "COMMAND" if it is not known or too long to
// be repeated in a sentence.
std::string CommandForShell(const Store& store);

// Whether a command line is that of a Python interpreter.
bool IsPython(std::string_view cmdline);

// What to type to see who keeps the memory of the process `cmdline`: tools for
// C see nothing of what a Python program holds. Printable, a part of a
// sentence.
std::string MemoryToolFor(const Store& store, std::string_view cmdline);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_COMMAND_WORDS_H_

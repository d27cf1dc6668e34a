#ifndef SONDE_ANALYZE_COMMAND_WORDS_H_
#define SONDE_ANALYZE_COMMAND_WORDS_H_

#include <string>
#include <vector>

#include "store/store.h"

namespace sonde {

// The command that was recorded, as it was typed. Empty if the trace does not
// tell.
std::vector<std::string> CommandWords(const Store& store);

// The same for a shell, printable; "COMMAND" if it is not known or too long to
// be repeated in a sentence.
std::string CommandForShell(const Store& store);

}  // namespace sonde

#endif  // SONDE_ANALYZE_COMMAND_WORDS_H_

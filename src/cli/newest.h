#ifndef SONDE_CLI_NEWEST_H_
#define SONDE_CLI_NEWEST_H_

#include <string>

#include "base/result.h"

namespace sonde {

// The trace a user means who names none: the newest *.sonde of the working
// directory, by the time it was last written. An Error if there is none.
Result<std::string> NewestTrace();

// True if a word of a command line names a trace and not something else.
bool LooksLikeTracePath(const std::string& word);

}  // namespace sonde

#endif  // SONDE_CLI_NEWEST_H_

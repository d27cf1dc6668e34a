#ifndef SONDE_CLI_NEWEST_H_
#define SONDE_CLI_NEWEST_H_

#include <string>

#include "base/result.h"

namespace sonde {

// The *.sonde file of this directory that was changed last: what the user means
// who names none.
Result<std::string> NewestTrace();

}  // namespace sonde

#endif  // SONDE_CLI_NEWEST_H_

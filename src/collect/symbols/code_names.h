#ifndef SONDE_COLLECT_SYMBOLS_CODE_NAMES_H_
#define SONDE_COLLECT_SYMBOLS_CODE_NAMES_H_

#include <vector>

#include "collect/symbols/named_code.h"

namespace sonde {

// Names places by the debug information of their files, or where there is none
// by the symbols of the linker: functions that the compiler put into others,
// C++ and Rust as they are written, files and lines. Debug information is also
// looked for where distributions put it, by build id; never in a network.
//
//  - It is read in a child without privileges. Whatever a file does to the
//    reader costs the names of that file, not more.
//  - Takes NamingLimits::all_ns at most. What was not named by then says so.
//
// For processes of one thread: it forks.
CodeNames NameCode(const std::vector<CodeToName>& wanted,
                   const NamingLimits& limits = {});

}  // namespace sonde

#endif  // SONDE_COLLECT_SYMBOLS_CODE_NAMES_H_

#ifndef SONDE_COLLECT_SYMBOLS_DEMANGLE_H_
#define SONDE_COLLECT_SYMBOLS_DEMANGLE_H_

#include <string>
#include <string_view>

namespace sonde {

// The name of a function as its language writes it: of C++, and of Rust in the
// older of its two ways (`_ZN`, not `_R`). Any other text as it is. A name can
// be made that grows without end: only for processes whose memory is limited.
std::string Demangled(std::string_view linker_name);

}  // namespace sonde

#endif  // SONDE_COLLECT_SYMBOLS_DEMANGLE_H_

#ifndef SONDE_COLLECT_SYMBOLS_DEBUG_INFO_H_
#define SONDE_COLLECT_SYMBOLS_DEBUG_INFO_H_

#include "collect/symbols/name_sink.h"
#include "collect/symbols/named_code.h"

namespace sonde {

// Names the places of one file, which is open, by elfutils. For a process that
// may be lost: the file can do anything to the library that reads it.
void NameByDebugInfo(const CodeToName& code, NameSink& sink);

}  // namespace sonde

#endif  // SONDE_COLLECT_SYMBOLS_DEBUG_INFO_H_

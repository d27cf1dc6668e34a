#ifndef SONDE_TRACE_JOURNAL_H_
#define SONDE_TRACE_JOURNAL_H_

#include <string>

namespace sonde {

// Whether the file at `path` (no link) is the journal of a trace, by its
// header. Somebody's file of such a name is not ours to replace or remove.
bool IsJournal(const std::string& path);

}  // namespace sonde

#endif  // SONDE_TRACE_JOURNAL_H_

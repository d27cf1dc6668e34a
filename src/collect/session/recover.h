#ifndef SONDE_COLLECT_SESSION_RECOVER_H_
#define SONDE_COLLECT_SESSION_RECOVER_H_

#include <cstdint>
#include <string>

#include "base/result.h"
#include "collect/session/session_dir.h"

namespace sonde {

// What was saved of a recording whose collector died.
struct Recovered {
  uint64_t records = 0;  // taken from the rings of programs
  size_t running = 0;    // processes of the tree that still run
  std::string
      rings_why;  // why nothing was taken from the rings; empty if it was
};

// Finishes the trace `trace`, whose collector was killed: what lies in its
// journal and in the rings of the session `dir` (null: there is none), programs
// that still run included, is put together and written to `output`.
//
//  - Nothing is in the output twice, and no record that a program had written
//    is missing, but for those the rings had no room for, which are counted.
//  - Slices that were open end with the last sign of life of their process, or
//    now if it still runs, flagged unfinished.
//  - Nothing is touched until the new file is whole. `output` may be the path
//    of the trace: then the new file takes its place, and the journal goes
//    away. Paths are compared as they are written.
//  - A trace that somebody still writes is refused, and a trace that was cut:
//    the file ends in the middle or has told its end, without a journal and a
//    session.
//
// Programs that still run record no more. Call RaiseFileLimit() first.
Result<Recovered> Recover(const std::string& trace, const SessionDir* dir,
                          const std::string& output);

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_RECOVER_H_

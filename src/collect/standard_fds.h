#ifndef SONDE_COLLECT_STANDARD_FDS_H_
#define SONDE_COLLECT_STANDARD_FDS_H_

namespace sonde {

// Fills each of the descriptors 0, 1 and 2 that is closed with /dev/null, so
// that no file of ours lands there and gets somebody's output. The placeholders
// close at exec: a command started without a stdin still has none.
//
// Call it before anything is opened.
void HoldStandardFds();

}  // namespace sonde

#endif  // SONDE_COLLECT_STANDARD_FDS_H_

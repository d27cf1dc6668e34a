#ifndef SONDE_STORE_WORK_H_
#define SONDE_STORE_WORK_H_

#include "base/result.h"
#include "store/store.h"

namespace sonde {

// An error that names the trace if going through all its events and values
// takes out of proportion to the file: 60 bytes can say 16384 events. For those
// who go through all of them with nobody to stop them.
Status CheckWork(const Store& store);

}  // namespace sonde

#endif  // SONDE_STORE_WORK_H_

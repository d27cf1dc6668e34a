#ifndef SONDE_COLLECT_IDENTITY_H_
#define SONDE_COLLECT_IDENTITY_H_

#include "trace/writer.h"

namespace sonde {

// Writes what machine, limits and versions a recording was made with, as meta
// rows. Names of environment variables are recorded, their values only if
// `environment_values`.
void WriteIdentity(TraceWriter& out, bool environment_values);

}  // namespace sonde

#endif  // SONDE_COLLECT_IDENTITY_H_

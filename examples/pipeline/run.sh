#!/bin/sh
# An input pipeline in one process feeding compute in another, for about six
# seconds (or the number given). Both say at the end what CPU time they used,
# so that what a profiler says of them can be checked.
#
# By construction the loader is the slow part: it burns one whole core while
# the compute waits on its pipe.

here=$(dirname "$0")
compute=${DEMO_COMPUTE:-$here/../../build/examples/demo_compute}
if [ ! -x "$compute" ]; then
  echo "run.sh: $compute is not built; run ./sonde.sh build" >&2
  exit 1
fi
"$here/loader.py" "${1:-6}" | "$compute"

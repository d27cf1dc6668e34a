#!/bin/sh
# run_fuzz.sh SECONDS [BUILD_DIR]: runs each fuzz target that long over its
# corpus, prints one line each, and fails if one of them does.
#
# New inputs stay in BUILD_DIR/fuzz-corpus; what crashed in BUILD_DIR/fuzz-crash.
set -u
seconds=${1:?usage: run_fuzz.sh SECONDS [BUILD_DIR]}
here=$(cd "$(dirname "$0")" && pwd)
build=${2:-$here/../../build-fuzz}
failed=0
for source in "$here"/*_fuzz.cc; do
  name=$(basename "$source" .cc)
  area=${name%_fuzz}
  target=$build/tests/fuzz/$name
  new=$build/fuzz-corpus/$area
  crash=$build/fuzz-crash/$area
  mkdir -p "$new" "$crash"
  dict=
  [ -f "$here/$area.dict" ] && dict=-dict=$here/$area.dict
  seeds=
  [ -d "$here/corpus/$area" ] && seeds=$here/corpus/$area
  log=$build/fuzz-$area.log
  # No input of these sizes may take more: what does is a bomb.
  if ASAN_OPTIONS=quarantine_size_mb=16 "$target" \
      -max_total_time="$seconds" -timeout=10 \
      -rss_limit_mb=1200 -malloc_limit_mb=512 \
      -artifact_prefix="$crash/" $dict "$new" $seeds >"$log" 2>&1; then
    runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")
    echo "$name: ok, $runs runs in $seconds s"
  else
    echo "$name: FAILED, see $log and $crash"
    failed=1
  fi
done
exit $failed

#!/usr/bin/env bash
# An installed tree works, and goes on working after it is moved: nothing in it
# remembers where it was built or installed.

set -u
root=${SONDE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${SONDE_BUILD:-$root/build}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

expect() { # expect NAME COMMAND...
  local name=$1 said
  shift
  if said=$("$@" 2>&1); then
    echo "ok install/$name"
  else
    echo "FAIL install/$name $(printf %s "$said" | tail -n 1)"
  fi
}

expect installs cmake --install "$build" --prefix "$scratch/first"
mv "$scratch/first" "$scratch/a moved tree" || exit 1
sonde="$scratch/a moved tree/bin/sonde"
cd / || exit 1
expect version "$sonde" --version
expect help "$sonde" help
expect same_version [ "$("$sonde" --version)" = "$("$build/src/sonde" --version)" ]
expect no_build_path bash -c '! grep -qaF "$1" "$2"' - "$build" "$sonde"

#!/usr/bin/env bash
# The front door of the source tree. Installs what is missing, builds, and does
# one thing; works from any directory.

set -eu

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sonde=$root/build/src/sonde
# The distribution's own: the packages for tests belong to it.
python=/usr/bin/python3

usage() {
  cat <<'END'
usage: ./sonde.sh COMMAND

  demo                        build, record the bundled example, show the verdict
  test [--full] [NAME...]     run the tests; --full adds sanitizers, fuzzers,
                              the arm64 build, the checks and short benchmarks
  build [--preset NAME] [--target NAME]
                              build (release, dev, asan, tsan, fuzz)
  install [--prefix DIR]      build and install (default /usr/local)
  check                       format, layers, sizes, docs
  bench [NAME...] [--json] [--quick]
                              measure what sonde costs
  packages PURPOSE...         print what core, test, full, bench, viewers,
                              containers need
  help                        this text

Missing Debian or Ubuntu packages are installed first, by apt-get.
END
}

die() {
  echo "sonde.sh: $*" >&2
  exit 1
}

# The names listed for the purposes given, from the one list.
packages() {
  local purpose
  for purpose in "$@"; do
    sed -n "s/^$purpose: //p" "$root/tools/packages.txt"
  done | tr ' ' '\n'
}

installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# In the package lists on this machine, which may be old or absent.
available() {
  apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [^(]'
}

# Installs what is missing of the purposes given. Does nothing, quickly, when
# nothing is.
need() {
  command -v dpkg-query >/dev/null || return 0 # not a Debian: the build will tell
  local name missing=() optional=()
  for name in $(packages "$@"); do
    installed "${name%\?}" && continue
    case $name in
      *\?) optional+=("${name%\?}") ;;
      *) missing+=("$name") ;;
    esac
  done
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q)
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      [ ${#missing[@]} -eq 0 ] ||
        die "packages are missing; as root: apt-get install ${missing[*]}"
      return 0
    fi
    apt=(sudo "${apt[@]}")
  fi
  [ ${#missing[@]} -eq 0 ] || "${apt[@]}" update
  for name in "${optional[@]}"; do
    if available "$name"; then missing+=("$name"); fi
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "sonde.sh: installing ${missing[*]}"
  "${apt[@]}" -y -o Dpkg::Use-Pty=0 install --no-install-recommends "${missing[@]}"
}

# Fetches the wheels that tests look into. A test whose wheel is not to be had
# says so itself.
wheels() {
  local name dir=$root/build/wheels
  for name in $(packages wheels); do
    compgen -G "$dir/${name%%=*}-*.whl" >/dev/null ||
      "$python" -m pip -q download --no-deps --only-binary :all: -d "$dir" "$name" ||
      echo "sonde.sh: no wheel of $name" >&2
  done
}

# A Python that is newer than the distribution's, kept in the user's cache, for
# the tests of stacks. They say themselves if there is none.
newest_python() {
  local module home work dir go
  module=$(packages modules)
  home=${XDG_CACHE_HOME:-$HOME/.cache}/sonde/${module##*@}
  if [ ! -x "$home/bin/python3.14" ]; then
    go=$(PATH=$PATH:/usr/local/go/bin command -v go) || return 0
    work=$(mktemp -d)
    dir=$(cd "$work" && GOMODCACHE=$work/mod GOFLAGS=-modcacherw \
      "$go" mod download -json "$module" | sed -n 's/.*"Dir": "\(.*\)",$/\1/p') || true
    if [ -n "$dir" ]; then
      mkdir -p "${home%/*}" "$work/python"
      cp -r "$dir/python/internal/data/linux-amd64/." "$work/python"
      chmod -R u+w "$work/python"
      find "$work/python" -name '*.gz' -exec gunzip -f {} +
      chmod +x "$work/python/bin/python3.14"
      rm -rf "$home"
      mv "$work/python" "$home"
    else
      echo "sonde.sh: no Python of $module" >&2
    fi
    rm -rf "$work"
  fi
  export SONDE_PYTHONS=$home/bin/python3.14
}

# build PRESET [TARGET...]
build() {
  local preset=$1 dir=$root/build options=() log
  shift
  [ "$preset" = release ] || dir=$root/build-$preset
  if [ "$preset" = release ]; then
    # Without the tests' packages the tests cannot be configured.
    local tests=OFF
    if pkg-config --exists gtest; then tests=ON; fi
    options=(-DSONDE_TESTS=$tests -DSONDE_BENCH=$tests)
  fi
  log=$(mktemp)
  if ! (cd "$root" && cmake --preset "$preset" "${options[@]}") >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    die "cmake --preset $preset failed"
  fi
  rm -f "$log"
  if [ $# -gt 0 ]; then
    cmake --build "$dir" --target "$@"
  else
    cmake --build "$dir"
  fi
}

cmd_demo() {
  need core
  build release sonde demo_compute demo_train
  local dir
  dir=$(mktemp -d "${TMPDIR:-/tmp}/sonde-demo.XXXXXX")
  echo
  echo "\$ sonde run -o $dir/demo.sonde -- examples/pipeline/run.sh"
  (cd "$root" && "$sonde" run --quiet -o "$dir/demo.sonde" -- examples/pipeline/run.sh)
  echo
  echo "\$ sonde report $dir/demo.sonde"
  "$sonde" report "$dir/demo.sonde"
  echo
  echo "And a program that says itself what it does (examples/annotated/train.cc):"
  echo "\$ sonde run -o $dir/train.sonde -- build/examples/demo_train"
  (cd "$root" && "$sonde" run --quiet -o "$dir/train.sonde" -- build/examples/demo_train)
  echo
  echo "\$ sonde report $dir/train.sonde"
  "$sonde" report "$dir/train.sonde"
}

cmd_test() {
  case " $* " in
    *' --full '*)
      need core test full viewers containers
      wheels
      newest_python
      ;;
    *) need core test ;;
  esac
  exec "$python" "$root/tests/run.py" "$@"
}

cmd_build() {
  local preset=release targets=()
  while [ $# -gt 0 ]; do
    case $1 in
      --target) targets+=("${2:?--target needs a name}") && shift 2 ;;
      --preset) preset=${2:?--preset needs a name} && shift 2 ;;
      --preset=*) preset=${1#*=} && shift ;;
      *) die "build: what is '$1'?" ;;
    esac
  done
  case $preset in
    release) need core ;;
    fuzz) need core full ;;
    *) need core test ;;
  esac
  build "$preset" "${targets[@]}"
}

cmd_install() {
  local prefix=/usr/local
  while [ $# -gt 0 ]; do
    case $1 in
      --prefix) prefix=${2:?--prefix needs a directory} && shift 2 ;;
      --prefix=*) prefix=${1#*=} && shift ;;
      *) die "install: what is '$1'?" ;;
    esac
  done
  need core
  build release sonde
  cmake --install "$root/build" --prefix "$prefix"
}

cmd_check() {
  need core test full
  build release
  "$root/tools/check"
}

cmd_bench() {
  need core test bench >&2
  build release >&2
  exec "$python" "$root/tests/bench/run.py" "$@"
}

command=${1:-help}
[ $# -eq 0 ] || shift
case $command in
  demo | test | build | install | check | bench) "cmd_$command" "$@" ;;
  packages)
    [ $# -gt 0 ] || die "packages: of what? core, test, full, bench, viewers, containers, wheels, modules"
    packages "$@"
    ;;
  help | --help | -h) usage ;;
  *)
    usage >&2
    exit 2
    ;;
esac

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

# Programs can be built against the moved tree, in C and in C++.
prefix="$scratch/a moved tree"
lib=$(dirname "$(find "$prefix" -name 'libsonde.so')")
mkdir "$scratch/user" && cd "$scratch/user" || exit 1
cat >one.c <<'END'
#include <sonde/sonde.h>
int main(void) {
  SONDE_BEGIN("work");
  SONDE_END();
  return sonde_recording();
}
END
cat >two.cc <<'END'
#include <sonde/sonde.hpp>
int main() {
  SONDE_SCOPE("work");
  static sonde::Name name("step", "training");
  const sonde::Scope step(name, {{"batch", 32}});
  return sonde_recording();
}
END
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(user C CXX)
find_package(sonde REQUIRED)
add_executable(one one.c)
add_executable(two two.cc)
target_link_libraries(one sonde::sonde)
target_link_libraries(two sonde::sonde)
END
expect find_package bash -c 'cmake -DCMAKE_PREFIX_PATH="$1" -B out . &&
  cmake --build out && out/one && out/two' - "$prefix"
expect pkg_config bash -c 'export PKG_CONFIG_PATH="$1/pkgconfig" &&
  eval "cc -std=c99 -Wall -Wextra -Werror one.c $(pkg-config --cflags --libs sonde) -o one" &&
  eval "c++ -std=c++11 -Wall -Wextra -Werror two.cc $(pkg-config --cflags --libs sonde) -o two" &&
  LD_LIBRARY_PATH="$1" ./one && LD_LIBRARY_PATH="$1" ./two' - "$lib"
expect no_build_path_in_library bash -c '! grep -qaF "$1" "$2"' - "$build" "$lib/libsonde.so"

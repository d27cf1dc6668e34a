// A target that records at a given rate: burst MILLIONS SECONDS. Two threads
// make their share every millisecond, in one go. Prints how many records it
// made, and how many seconds that took.

#include <sonde/sonde.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

double Now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const double seconds = std::atof(argv[2]);
  const long pairs = static_cast<long>(std::atof(argv[1]) * 1e6 / 1000 / 2 / 2);
  const long bursts = static_cast<long>(seconds * 1000);
  const double begin = Now();
  const auto work = [&] {
    for (long burst = 0; burst < bursts; ++burst) {
      for (long i = 0; i < pairs; ++i) {
        SONDE_BEGIN("burst");
        SONDE_END();
      }
      const double rest = begin + static_cast<double>(burst + 1) / 1e3 - Now();
      if (rest <= 0) continue;
      const timespec t = {0, static_cast<long>(rest * 1e9)};
      nanosleep(&t, nullptr);
    }
  };
  std::thread other(work);
  work();
  other.join();
  std::printf("produced %ld in %.3f s\n", 4 * pairs * bursts, Now() - begin);
  return 0;
}

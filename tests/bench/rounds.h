// One round of a measurement against the clock, shared by the recorder's
// benchmark and the programs it is compared with.

#ifndef SONDE_TESTS_BENCH_ROUNDS_H_
#define SONDE_TESTS_BENCH_ROUNDS_H_

#include <sonde/abi.h>
#include <time.h>

#include <cstdint>

namespace sonde {

inline int64_t ThreadNs() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

[[gnu::noinline]] inline void ReadClocks(long pairs) {
  uint64_t sum = 0;
  for (long i = 0; i < pairs; ++i) {
    const uint64_t begin = sonde_abi_ticks();
    asm volatile("" ::: "memory");
    sum += sonde_abi_ticks() - begin;
  }
  asm volatile("" ::"r"(sum));
}

// CPU time of a pair in the loop, by that of two bare reads of the clock, half
// of which are taken before it and half after it.
inline double RatioOfRound(void (*loop)(long), long pairs) {
  const int64_t start = ThreadNs();
  ReadClocks(pairs / 2);
  const int64_t read = ThreadNs();
  loop(pairs);
  const int64_t looped = ThreadNs();
  ReadClocks(pairs / 2);
  const int64_t end = ThreadNs();
  return double(looped - read) / double(read - start + end - looped);
}

}  // namespace sonde

#endif  // SONDE_TESTS_BENCH_ROUNDS_H_

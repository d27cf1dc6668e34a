// LTTng-UST as a peer of record_bench: a round for each line on stdin, which
// says how many pairs; prints its ratio. First "ready", once a session takes
// the tracepoints. lttng_peer.py starts it where there is one.

#include <unistd.h>

#include <cstdio>

#include "../rounds.h"
#include "provider.h"

namespace {

[[gnu::noinline]] void Pairs(long pairs) {
  for (long i = 0; i < pairs; ++i) {
    lttng_ust_tracepoint(sonde_peer, begin);
    asm volatile("" ::: "memory");
    lttng_ust_tracepoint(sonde_peer, end);
  }
}

}  // namespace

int main() {
  for (int tries = 0; !lttng_ust_tracepoint_enabled(sonde_peer, end); ++tries) {
    if (tries == 500) return 1;
    ::usleep(10'000);
  }
  std::puts("ready");
  std::fflush(stdout);
  long pairs = 0;
  while (std::scanf("%ld", &pairs) == 1) {
    std::printf("%.6g\n", sonde::RatioOfRound(Pairs, pairs));
    std::fflush(stdout);
  }
  return 0;
}

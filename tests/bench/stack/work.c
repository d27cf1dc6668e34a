// work ROUNDS: the same work each time, a few calls deep. Prints its CPU time.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned sink;

__attribute__((noinline)) static void work(unsigned deep) {
  if (deep > 0) {
    work(deep - 1);
  } else {
    for (unsigned i = 0; i < 100000; ++i) sink += i;
  }
  sink += deep;  // a call that stays a call
}

int main(int count, char** words) {
  for (long rounds = count > 1 ? atol(words[1]) : 0; rounds > 0; --rounds)
    work(12);
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  printf("cpu %.6f\n", (double)used.tv_sec + (double)used.tv_nsec / 1e9);
}

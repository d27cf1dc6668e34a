// Small loops on the threads of OpenMP, whose number the environment sets.
#include <time.h>

static double Now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double values[4096];

int main(void) {
  const double end = Now() + 6;
  while (Now() < end) {
#pragma omp parallel for
    for (int i = 0; i < 4096; ++i) values[i] = values[i] * 0.999 + 1;
  }
  return 0;
}

// Eight threads for each core, all of which compute for six seconds.

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

static double Now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void* Work(void* end) {
  volatile unsigned x = 1;
  while (Now() < *(const double*)end)
    for (int i = 0; i < 100000; ++i) x = x * 1664525u + 1013904223u;
  return NULL;
}

int main(void) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return 1;
  const int count = 8 * CPU_COUNT(&allowed);
  pthread_t* const threads = calloc((size_t)count, sizeof(*threads));
  double end = Now() + 6;
  for (int i = 0; i < count; ++i)
    if (pthread_create(&threads[i], NULL, Work, &end) != 0) return 1;
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  free(threads);
  return 0;
}

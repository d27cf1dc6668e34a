// Eight threads compute for six seconds. They are throttled if they run in a
// cgroup with a CPU limit, which suite.py makes for them.

#include <pthread.h>
#include <time.h>

enum { kThreads = 8 };

static double Now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double end;

static void* Work(void* unused) {
  volatile unsigned x = 1;
  while (Now() < end)
    for (int i = 0; i < 100000; ++i) x = x * 1664525u + 1013904223u;
  return unused;
}

int main(void) {
  pthread_t threads[kThreads];
  end = Now() + 6;
  for (int i = 0; i < kThreads; ++i)
    if (pthread_create(&threads[i], NULL, Work, NULL) != 0) return 1;
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  return 0;
}

// Four processes with sixteen threads each compute for six seconds; their
// parent waits for them.

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kProcesses = 4, kThreads = 16 };

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

// The main thread is one of them, as in an OpenMP program.
static int Pool(void) {
  pthread_t threads[kThreads];
  for (int i = 1; i < kThreads; ++i)
    if (pthread_create(&threads[i], NULL, Work, NULL) != 0) return 1;
  Work(NULL);
  for (int i = 1; i < kThreads; ++i) pthread_join(threads[i], NULL);
  return 0;
}

int main(void) {
  end = Now() + 6;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) _exit(Pool());
  }
  int failed = 0, status = 0;
  while (wait(&status) > 0) failed |= status;
  return failed != 0;
}

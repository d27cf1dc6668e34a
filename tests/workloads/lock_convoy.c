/* Eight threads that do all their work under one lock. What each makes there is
   thrown away at once: memory goes up and down. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kThreads = 8, kBytes = 4 << 20, kSeconds = 6 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long sink;

static double Now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void* Work(void* end) {
  while (Now() < *(double*)end) {
    pthread_mutex_lock(&lock);
    unsigned char* const made = malloc(kBytes);
    memset(made, 1, kBytes);
    unsigned long sum = 0;
    for (int round = 0; round < 4; ++round)
      for (size_t i = 0; i < kBytes; ++i) sum += made[i] ^ sum << 1;
    sink += sum;
    free(made);
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

int main(void) {
  double end = Now() + kSeconds;
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i)
    pthread_create(&threads[i], NULL, Work, &end);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  return 0;
}

// many SECONDS: two processes whose stacks are hardly ever the same twice: each
// of 20 calls is of one of two functions, by the bits of a random number.
// Prints the CPU time of both.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sink;

static void one(unsigned bits, unsigned deep);
static void other(unsigned bits, unsigned deep);

static void next(unsigned bits, unsigned deep) {
  if (deep == 0)
    for (unsigned i = 0; i < 20000; ++i) sink += i;
  else if (bits & 1)
    one(bits >> 1, deep - 1);
  else
    other(bits >> 1, deep - 1);
}

__attribute__((noinline)) static void one(unsigned bits, unsigned deep) {
  next(bits, deep);
  sink += 1;
}

__attribute__((noinline)) static void other(unsigned bits, unsigned deep) {
  next(bits, deep);
  sink += 2;
}

static double used_s(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

int main(int count, char** words) {
  const double seconds = count > 1 ? atof(words[1]) : 1;
  const pid_t child = fork();
  srand(child == 0 ? 1 : 2);
  while (used_s() < seconds) next((unsigned)rand(), 20);
  if (child == 0) _exit(0);
  wait(NULL);
  printf("cpu %.6f\n", 2 * used_s());
}

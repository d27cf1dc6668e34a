// Functions of known shares. As a program: parts SECONDS burns in one, two and
// three as 1 : 2 : 3. As a library: burns, and calls back.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned sink;

static double used(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

#define BURN(seconds)                                  \
  for (double end = used() + (seconds); used() < end;) \
    for (unsigned i = 0; i < 20000; ++i) sink += i

__attribute__((noinline)) void burner(double seconds) {
  BURN(seconds);
  sink += 1;
}

__attribute__((noinline)) void calls_back(void (*back)(void)) {
  back();
  sink += 1;
}

__attribute__((noinline)) static void one(void) { BURN(0.007); }
__attribute__((noinline)) static void two(void) { BURN(0.014); }
__attribute__((noinline)) static void three(void) { BURN(0.021); }

int main(int count, char** words) {
  void (*const all[])(void) = {one, two, three};
  const char* const names[] = {"one", "two", "three"};
  double spent[3] = {0};
  while (used() < (count > 1 ? atof(words[1]) : 1)) {
    for (int i = 0; i < 3; ++i) {
      const double begin = used();
      all[i]();
      spent[i] += used() - begin;
    }
  }
  for (int i = 0; i < 3; ++i) printf("part %s %.6f\n", names[i], spent[i]);
  printf("cpu %.6f\n", used());
}

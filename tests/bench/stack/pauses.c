// pauses SECONDS: runs, and looks for gaps of more than 100 us in its own time
// in which it did not wait for a core. Prints the share of its time that they
// are, and its CPU time.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define GAP_NS 100000
#define ASK_EVERY_NS 10000000

static long long now_ns(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

// How long this thread has waited for a core so far.
static long long waited_ns(int fd) {
  char text[96];
  long long ran = 0, waited = 0;
  const ssize_t length = pread(fd, text, sizeof text - 1, 0);
  if (length <= 0) return 0;
  text[length] = 0;
  sscanf(text, "%lld %lld", &ran, &waited);
  return waited;
}

int main(int count, char** words) {
  const int fd = open("/proc/thread-self/schedstat", O_RDONLY);
  if (fd < 0) return 1;
  const double seconds = count > 1 ? atof(words[1]) : 1;
  const long long begin = now_ns(CLOCK_MONOTONIC);
  const long long end = begin + (long long)(seconds * 1e9);
  long long paused = 0, waited = waited_ns(fd), asked = begin, last = begin;
  for (long long now; last < end; last = now) {
    now = now_ns(CLOCK_MONOTONIC);
    if (now - last < GAP_NS && now - asked < ASK_EVERY_NS) continue;
    const long long waited_now = waited_ns(fd);
    // The asking is not a gap, nor is most of a wait.
    if (now - last >= GAP_NS && waited_now - waited < (now - last) / 2)
      paused += now - last;
    waited = waited_now;
    asked = now = now_ns(CLOCK_MONOTONIC);
  }
  printf("paused %.6f\ncpu %.6f\n", (double)paused / (double)(last - begin),
         (double)now_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
}

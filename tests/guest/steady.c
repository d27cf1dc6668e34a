/* A target that records at a steady pace: steady SECONDS WITNESS. Two threads
 * each take numbered steps inside one long slice, count them, and have a
 * request open from step to step. Half way it forks a child that does the same
 * for a while. Each step that returned is counted in the file WITNESS, three
 * numbers of 64 bits (thread, thread, child), which outlives any death.
 */

#include <fcntl.h>
#include <pthread.h>
#include <sonde/sonde.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t* witness;
static double seconds;

static double Now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void Work(int who, double until) {
  const uint32_t number = sonde_name("number");
  const uint32_t steps = sonde_name("steps");
  const uint32_t request = sonde_name("request");
  const struct timespec pause = {0, 300 * 1000};
  uint64_t open = 0;
  SONDE_BEGIN("whole");
  for (int64_t i = 1; Now() < until; ++i) {
    static struct sonde_site step = SONDE_SITE("step");
    sonde_begin_int_inline(&step, number, i);
    SONDE_END();
    sonde_counter_add(steps, 1);
    if (open != 0) sonde_range_end(open);
    open = sonde_new_id();
    sonde_range_begin(request, open);
    witness[who] = (uint64_t)i;
    if (i % 16 == 0) nanosleep(&pause, NULL);
  }
  if (open != 0) sonde_range_end(open);
  SONDE_END();
}

static void* Other(void* until) {
  Work(1, *(double*)until);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  seconds = atof(argv[1]);
  const int fd = open(argv[2], O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, 3 * sizeof(uint64_t)) != 0) return 1;
  witness = mmap(NULL, 3 * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED,
                 fd, 0);
  if (witness == MAP_FAILED) return 1;
  puts("begun");
  fflush(stdout);
  double end = Now() + seconds;
  pthread_t other;
  pthread_create(&other, NULL, Other, &end);
  Work(0, Now() + seconds / 2);
  const pid_t child = fork();
  if (child == 0) {
    Work(2, end);
    _exit(0);
  }
  while (Now() < end) usleep(1000);
  pthread_join(other, NULL);
  waitpid(child, NULL, 0);
  puts("end");
  return 0;
}

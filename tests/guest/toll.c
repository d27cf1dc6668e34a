/* Threads that number their records: toll FILE THREADS [abort|fault].
 *
 * A number goes into the file when the call that recorded it has returned, so
 * that after a sudden death somebody knows what must have arrived. Ends by
 * being killed, or after a tenth of a second by what is asked for. */

#include <fcntl.h>
#include <pthread.h>
#include <sonde/sonde.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kThreads = 4 };

static struct sonde_site sites[kThreads] = {
    SONDE_SITE("toll 0"), SONDE_SITE("toll 1"), SONDE_SITE("toll 2"),
    SONDE_SITE("toll 3")};
static uint64_t* returned;
static int* volatile nowhere;

static void* Toll(void* arg) {
  const size_t self = (size_t)arg;
  const uint32_t key = sonde_name("number");
  for (int64_t number = 1;; ++number) {
    sonde_begin_int_inline(&sites[self], key, number);
    __atomic_store_n(&returned[self], (uint64_t)number, __ATOMIC_RELEASE);
    SONDE_END();
    if (number % 16 == 0) usleep(300);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int file = open(argv[1], O_RDWR | O_CREAT, 0600);
  const size_t size = sizeof(*returned) * kThreads;
  if (file < 0 || ftruncate(file, (off_t)size) != 0) return 3;
  returned = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (returned == MAP_FAILED) return 3;
  for (size_t i = 0; i < kThreads && i < (size_t)atoi(argv[2]); ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, Toll, (void*)i) != 0) return 3;
  }
  if (argc == 3) pause();
  usleep(100000);
  if (!strcmp(argv[3], "abort")) abort();
  *nowhere = 0;
  return 0;
}

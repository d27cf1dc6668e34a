/* A target that lives in every way a process can: life MODE [NUMBER].
 *
 * Prints how many records it has tried to make, with its children. The test
 * that runs it compares this with what arrived and what was lost. */

#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sonde/sonde.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static long* produced; /* shared with children */

static void One(void) {
  SONDE_INSTANT("one");
  __atomic_fetch_add(produced, 1, __ATOMIC_RELAXED);
}

/* With LIFE_EARLY, before most of the process is there. */
static long early;
__attribute__((constructor(101))) static void BeforeMain(void) {
  if (getenv("LIFE_EARLY") == NULL) return;
  for (; early < 3; ++early) SONDE_INSTANT("one");
}

static void Some(int count) {
  for (int i = 0; i < count; ++i) One();
}

static void Fail(const char* what) {
  perror(what);
  exit(3);
}

static volatile int stop;
static void* Busy(void* arg) {
  while (!stop) Some(20);
  return arg;
}
/* So that many of them leave the processors to the one that forks. */
static void* BusyBelow(void* arg) {
  setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
  return Busy(arg);
}

/* Threads record while the process forks; the children record and exit. */
static void Fork(int children, int busy, void* (*work)(void*)) {
  pthread_t threads[64];
  for (int i = 0; i < busy; ++i)
    if (pthread_create(&threads[i], NULL, work, NULL)) Fail("pthread_create");
  for (int i = 0; i < children; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      Some(10);
      exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) Fail("child");
  }
  stop = 1;
  for (int i = 0; i < busy; ++i) pthread_join(threads[i], NULL);
}

/* A child that borrows our memory, and one that is a bare clone. */
static void VforkOnce(void) {
  Some(2);
  const pid_t child = vfork();
  if (child == 0) {
    One();
    execl("/bin/true", "true", (char*)NULL);
    _exit(1);
  }
  waitpid(child, NULL, 0);
  pid_t spawned;
  char* const words[] = {(char*)"true", NULL};
  if (posix_spawn(&spawned, "/bin/true", NULL, NULL, words, environ))
    Fail("posix_spawn");
  waitpid(spawned, NULL, 0);
  const pid_t cloned = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (cloned == 0) {
    Some(3);
    _exit(0);
  }
  waitpid(cloned, NULL, 0);
}

/* The same pid, one image after the other. The count goes by argument. */
static void Exec(const char* self, int left, long before) {
  Some(3);
  if (left == 0) {
    *produced += before;
    return;
  }
  char number[24], sum[24];
  snprintf(number, sizeof(number), "%d", left - 1);
  snprintf(sum, sizeof(sum), "%ld", before + *produced);
  execl(self, self, "exec", number, sum, (char*)NULL);
  Fail("execl");
}

/* Threads that still record while the process goes away. */
static void Exit(int threads) {
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, Busy, NULL)) Fail("pthread_create");
    pthread_detach(thread);
  }
  usleep(2000);
  exit(0);
}

static void AtExit(void) { Some(5); }

/* Records from destructors of a thread, ours being one of them. */
static pthread_key_t early_key, late_key;
static void InDestructor(void* again) {
  Some(2);
  if (again == (void*)1) pthread_setspecific(early_key, (void*)2);
}
static void* WithDestructors(void* arg) {
  pthread_setspecific(early_key, (void*)1);
  pthread_setspecific(late_key, (void*)2);
  One();
  return arg;
}
static void Destructors(int threads) {
  pthread_key_create(&early_key, InDestructor);
  pthread_key_create(&late_key, InDestructor);
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, WithDestructors, NULL))
      Fail("pthread_create");
    pthread_join(thread, NULL);
  }
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int arrived, leave;
static void* Idle(void* arg) {
  Some(2);
  pthread_mutex_lock(&mutex);
  ++arrived;
  pthread_cond_broadcast(&condition);
  while (!leave) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  return arg;
}
static void Threads(int count) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 16384);
  int made = 0;
  for (; made < count; ++made) {
    pthread_t thread;
    if (pthread_create(&thread, &small, Idle, NULL) != 0) break;
    pthread_detach(thread);
  }
  fprintf(stderr, "threads %d\n", made);
  pthread_mutex_lock(&mutex);
  while (arrived < made) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
}

/* Nothing may be asked of the kernel from here on but to write, to fork and to
 * end. `raw`: by a way that no library sees. */
static void Filter(int raw) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_wait4, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
  if (raw ? syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
                syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
          : prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
                prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
    Fail("seccomp");
}

static void SayAndEnd(void) {
  char text[64];
  const int size = snprintf(text, sizeof(text), "produced %ld\n", *produced);
  if (write(1, text, (size_t)size) != size) _exit(4);
  _exit(0);
}

static void Seccomp(int records, int raw) {
  One();
  Filter(raw);
  Some(records);
  /* Its files cannot be made: nothing of it is recorded, and it lives. */
  const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) {
    if (!raw) SONDE_INSTANT("not recorded");
    _exit(0);
  }
  int status = 0;
  if (syscall(SYS_wait4, child, &status, 0, NULL) != child || status != 0)
    _exit(5);
  SayAndEnd();
}

/* A filter that is refused, and what else prctl() does, come back as ever. */
static void Refused(int records) {
  errno = 0;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) != -1 || errno != EFAULT)
    Fail("PR_SET_SECCOMP");
  char name[16] = "";
  if (prctl(PR_SET_NAME, "refused", 0, 0, 0) ||
      prctl(PR_GET_NAME, name, 0, 0, 0) || strcmp(name, "refused") != 0)
    Fail("PR_GET_NAME");
  if (prctl(PR_GET_DUMPABLE) != 1) Fail("PR_GET_DUMPABLE");
  Some(records);
}

/* A child that shuts itself in before its first record. */
static void Sandbox(int records) {
  One();
  const pid_t child = fork();
  if (child == 0) {
    Filter(0);
    Some(records);
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) Fail("sandbox");
}

/* In a directory where our files are not, and as somebody who may not. */
static void Chroot(int records) {
  char empty[] = "/tmp/sonde-life-XXXXXX";
  if (!mkdtemp(empty) || chroot(empty) || chdir("/")) Fail("chroot");
  Some(records);
  const pid_t child = fork();
  if (child == 0) {
    /* It cannot make files: nothing of it is recorded, nothing else happens. */
    SONDE_INSTANT("not recorded");
    _exit(sonde_recording());
  }
  int status;
  waitpid(child, &status, 0);
  if (status != 0) Fail("child in chroot");
}

/* The library goes, what it has put into the process stays. */
static void Dlclose(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    void* library = dlopen("libsonde.so.1", RTLD_NOW);
    if (!library) Fail("dlopen");
    One();
    dlclose(library);
    One();
  }
}

static void Storm(int signal) {
  (void)signal;
  const int saved = errno;
  One();
  errno = saved;
}
static void Signals(int records) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = Storm;
  sigaction(SIGUSR1, &action, NULL);
  const pid_t self = getpid();
  const pid_t shooter = fork();
  if (shooter == 0) {
    while (kill(self, SIGUSR1) == 0) usleep(20);
    _exit(0);
  }
  Some(records);
  kill(shooter, SIGKILL);
  waitpid(shooter, NULL, 0);
}

/* Waits that a signal would cut short. */
static void Poll(int waits) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, Busy, NULL)) Fail("pthread_create");
  for (int i = 0; i < waits; ++i)
    if (poll(NULL, 0, 5) != 0) Fail("poll");
  stop = 1;
  pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* mode = argv[1];
  const int number = atoi(argv[2]);
  produced = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (produced == MAP_FAILED) Fail("mmap");
  *produced = early;
  if (!strcmp(mode, "fork"))
    Fork(number, 8, Busy);
  else if (!strcmp(mode, "fork64"))
    Fork(number, 64, BusyBelow);
  else if (!strcmp(mode, "poll"))
    Poll(number);
  else if (!strcmp(mode, "vfork"))
    for (int i = 0; i < number; ++i) VforkOnce();
  else if (!strcmp(mode, "exec"))
    Exec(argv[0], number, argc > 3 ? atol(argv[3]) : 0);
  else if (!strcmp(mode, "exit"))
    Exit(number);
  else if (!strcmp(mode, "atexit"))
    atexit(AtExit), Some(number);
  else if (!strcmp(mode, "destructors"))
    Destructors(number);
  else if (!strcmp(mode, "threads"))
    Threads(number);
  else if (!strcmp(mode, "seccomp"))
    Seccomp(number, 0);
  else if (!strcmp(mode, "rawseccomp"))
    Seccomp(number, 1);
  else if (!strcmp(mode, "refused"))
    Refused(number);
  else if (!strcmp(mode, "sandbox"))
    Sandbox(number);
  else if (!strcmp(mode, "chroot"))
    Chroot(number);
  else if (!strcmp(mode, "dlclose"))
    Dlclose(number);
  else if (!strcmp(mode, "signals"))
    Signals(number);
  else if (!strcmp(mode, "plain"))
    Some(number);
  else
    return 2;
  printf("produced %ld\n", *produced + (strcmp(mode, "atexit") ? 0 : 5));
  fflush(stdout);
  if (!strcmp(mode, "threads")) _exit(0);
  return 0;
}

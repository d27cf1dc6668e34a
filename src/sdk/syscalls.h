// System calls without libc: its wrappers set errno, which belongs to the
// target, and are points where a thread can be cancelled. Each returns what the
// kernel does: a value, or -errno.

#ifndef SONDE_SDK_SYSCALLS_H_
#define SONDE_SDK_SYSCALLS_H_

#include <asm/unistd.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace sonde::guest {

inline long Call(long number, long a = 0, long b = 0, long c = 0, long d = 0,
                 long e = 0, long f = 0) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
                     "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
#endif
}

inline int Open(const char* path, int flags, int mode = 0) {
  return static_cast<int>(Call(__NR_openat, AT_FDCWD,
                               reinterpret_cast<long>(path), flags | O_CLOEXEC,
                               mode));
}

inline void Close(int fd) { Call(__NR_close, fd); }

inline bool FileStatus(int fd, struct stat* status) {
  // The kernel's and glibc's struct are the same on these processors.
  return Call(__NR_fstat, fd, reinterpret_cast<long>(status)) == 0;
}

inline void Unlink(const char* path) {
  Call(__NR_unlinkat, AT_FDCWD, reinterpret_cast<long>(path), 0);
}

// Null on failure.
inline void* Map(size_t bytes, int protection, int flags, int fd) {
  const long at =
      Call(__NR_mmap, 0, static_cast<long>(bytes), protection, flags, fd, 0);
  return at < 0 && at > -4096 ? nullptr : reinterpret_cast<void*>(at);
}

inline void Unmap(void* at, size_t bytes) {
  Call(__NR_munmap, reinterpret_cast<long>(at), static_cast<long>(bytes));
}

inline bool Advise(void* at, size_t bytes, int advice) {
  return Call(__NR_madvise, reinterpret_cast<long>(at),
              static_cast<long>(bytes), advice) == 0;
}

// Allocates [offset, offset + bytes) of a file. 0 or an errno. A file may not
// grow over RLIMIT_FSIZE: the kernel would send SIGXFSZ, so it is not asked.
inline int Allocate(int fd, size_t offset, size_t bytes) {
  struct {
    uint64_t soft, hard;
  } limit;
  if (Call(__NR_prlimit64, 0, RLIMIT_FSIZE, 0,
           reinterpret_cast<long>(&limit)) != 0)
    return EPERM;
  if (offset + bytes > limit.soft) return EFBIG;
  long result = -EINTR;
  // tmpfs gives up and undoes its work when a signal is waiting.
  for (int tries = 0; tries < 20 && result == -EINTR; ++tries)
    result = Call(__NR_fallocate, fd, 0, static_cast<long>(offset),
                  static_cast<long>(bytes));
  return static_cast<int>(-result);
}

inline uint32_t Pid() { return static_cast<uint32_t>(Call(__NR_getpid)); }
inline uint32_t Tid() { return static_cast<uint32_t>(Call(__NR_gettid)); }

}  // namespace sonde::guest

#endif  // SONDE_SDK_SYSCALLS_H_

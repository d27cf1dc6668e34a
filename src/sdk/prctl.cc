// The one function of libc that the library stands before: by prctl() a program
// says that it is about to let a filter kill it for system calls. From then on
// we make none. Nobody could tell us afterwards in time.

#include <errno.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "sdk/syscalls.h"
#include "sdk/writer.h"

using namespace sonde::guest;

extern "C" __attribute__((visibility("default"))) int prctl(int option,
                                                            ...) noexcept {
  va_list rest;
  va_start(rest, option);
  long words[4];
  for (long& word : words) word = va_arg(rest, long);
  va_end(rest);
  // Without the first, or being root, nobody gets a filter; libraries that make
  // filters ask for it, and then for the filter by a system call of their own.
  const bool filter = option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP;
  // Files cannot be made later.
  if (filter && process && sonde_abi_recording()) Attach(process);
  const bool given_up = filter && GiveUpCalls();
  const long result =
      Call(__NR_prctl, option, words[0], words[1], words[2], words[3]);
  if (result >= 0) return static_cast<int>(result);
  if (given_up) TakeBackCalls();
  errno = static_cast<int>(-result);
  return -1;
}

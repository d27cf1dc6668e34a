#include "collect/stacks/call_name.h"

#include <fmt/format.h>
#include <sys/syscall.h>

namespace sonde {
namespace {

struct Call {
  int64_t number;
  const char* name;
};

// arm64 has no calls for which a newer one does.
constexpr Call kCalls[] = {
    {SYS_futex, "futex"},
    {SYS_read, "read"},
    {SYS_readv, "readv"},
    {SYS_pread64, "pread64"},
    {SYS_preadv, "preadv"},
    {SYS_write, "write"},
    {SYS_writev, "writev"},
    {SYS_pwrite64, "pwrite64"},
    {SYS_openat, "openat"},
    {SYS_close, "close"},
    {SYS_fsync, "fsync"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_msync, "msync"},
    {SYS_sync_file_range, "sync_file_range"},
    {SYS_ftruncate, "ftruncate"},
    {SYS_sendfile, "sendfile"},
    {SYS_copy_file_range, "copy_file_range"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_recvmmsg, "recvmmsg"},
    {SYS_sendto, "sendto"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_connect, "connect"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept4"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect6"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_io_uring_enter, "io_uring_enter"},
    {SYS_io_getevents, "io_getevents"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
    {SYS_rt_sigsuspend, "rt_sigsuspend"},
    {SYS_flock, "flock"},
    {SYS_fcntl, "fcntl"},
    {SYS_semop, "semop"},
    {SYS_semtimedop, "semtimedop"},
    {SYS_msgrcv, "msgrcv"},
    {SYS_mq_timedreceive, "mq_timedreceive"},
    {SYS_mmap, "mmap"},
    {SYS_munmap, "munmap"},
    {SYS_ioctl, "ioctl"},
#if defined(__x86_64__)
    {SYS_open, "open"},
    {SYS_stat, "stat"},
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
    {SYS_vfork, "vfork"},
#endif
};

}  // namespace

std::string CallName(int64_t number) {
  for (const Call& call : kCalls)
    if (call.number == number) return call.name;
  return fmt::format("system call {}", number);
}

}  // namespace sonde

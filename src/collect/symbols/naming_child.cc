#include "collect/symbols/naming_child.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "collect/proc/leave_parent.h"
#include "collect/symbols/debug_info.h"

namespace sonde {
namespace {

constexpr uid_t kNobody = 65534;

// The first number of /proc/self/statm.
uint64_t OwnPages() {
  const auto text = ReadFile("/proc/self/statm");
  return text.ok() ? std::strtoull(text.value().c_str(), nullptr, 10) : 0;
}

// If memory runs out, this process is the one to end.
void GoFirst() {
  const Fd own(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (own.valid()) WriteAll(own.get(), "1000", 4);
}

void DropPrivileges(int64_t limit_ns) {
  const auto limit = [](auto what, uint64_t value) {
    const rlimit both = {value, value};
    ::setrlimit(what, &both);
  };
  limit(RLIMIT_AS, OwnPages() * 4096 + NamingChild::kMostMemory);
  limit(RLIMIT_CPU, static_cast<uint64_t>(limit_ns / kNsPerSec) + 1);
  limit(RLIMIT_FSIZE, 0);  // nothing is written but the pipe
  if (::geteuid() == 0) {
    // Fails in a user namespace that has no such user; rights are dropped then
    // too.
    if (::setgroups(0, nullptr) == 0 &&
        ::setresgid(kNobody, kNobody, kNobody) == 0 &&
        ::setresuid(kNobody, kNobody, kNobody) == 0) {
    }
    __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[2] = {};
    ::syscall(SYS_capset, &head, none);
  }
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // The change of user has taken this away.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A library of elfutils' would ask servers on the network.
  ::unsetenv("DEBUGINFOD_URLS");
}

[[noreturn]] void ServeNames(const std::vector<CodeToName>& wanted,
                             size_t first, const NamingLimits& limits,
                             int output) {
  for (size_t i = first; i < wanted.size(); ++i) {
    NameSink sink(output, static_cast<uint32_t>(i));
    sink.Begin();
    (limits.name != nullptr ? limits.name : NameByDebugInfo)(wanted[i], sink);
    sink.End();
  }
  ::_exit(0);
}

}  // namespace

std::unique_ptr<NamingChild> NamingChild::Start(
    const std::vector<CodeToName>& wanted, size_t first,
    const NamingLimits& limits) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  Fd output(ends[0]), input(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return nullptr;
  if (pid == 0) {
    std::vector<int> keep = {input.get()};
    for (const CodeToName& code : wanted)
      if (code.fd >= 0) keep.push_back(code.fd);
    GoFirst();  // later, its own files are no longer its own
    LeaveParent(parent, "sonde-names", std::move(keep));
    ::signal(SIGPIPE, SIG_IGN);
    DropPrivileges(limits.all_ns);
    ServeNames(wanted, first, limits, input.get());
  }
  return std::unique_ptr<NamingChild>(new NamingChild(pid, std::move(output)));
}

NamingChild::~NamingChild() { Stop(); }

// A whole record with its texts, if there is one. Sizes that cannot be are
// nonsense.
bool NamingChild::TakeMessage(Message& message, bool& nonsense) {
  NameRecord& record = message.record;
  if (bytes_.size() < sizeof(record)) return false;
  std::memcpy(&record, bytes_.data(), sizeof(record));
  nonsense = record.function_bytes > NameRecord::kMostText ||
             record.file_bytes > NameRecord::kMostText;
  const size_t size =
      sizeof(record) + record.function_bytes + size_t{record.file_bytes};
  if (nonsense || bytes_.size() < size) return false;
  message.function = bytes_.substr(sizeof(record), record.function_bytes);
  message.file =
      bytes_.substr(sizeof(record) + record.function_bytes, record.file_bytes);
  bytes_.erase(0, size);
  return true;
}

NamingChild::State NamingChild::Next(int64_t until_ns, Message& message) {
  for (;;) {
    bool nonsense = false;
    if (TakeMessage(message, nonsense)) return State::kMessage;
    if (nonsense) return State::kEnded;
    const int64_t left_ns = until_ns - NowNs();
    if (left_ns <= 0) return State::kLate;
    pollfd wait = {output_.get(), POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(left_ns / kNsPerMs) + 1) <= 0)
      continue;
    char buffer[16384];
    const ssize_t size = ::read(output_.get(), buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return State::kEnded;
    bytes_.append(buffer, static_cast<size_t>(size));
  }
}

int64_t NamingChild::Stop() {
  if (pid_ == 0) return 0;
  ::kill(pid_, SIGKILL);
  rusage usage = {};
  while (::wait4(pid_, nullptr, 0, &usage) == -1 && errno == EINTR) {
  }
  pid_ = 0;
  const auto ns = [](const timeval& t) {
    return t.tv_sec * kNsPerSec + t.tv_usec * kNsPerUs;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

}  // namespace sonde

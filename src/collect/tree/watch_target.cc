#include "collect/tree/watch_target.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/text.h"
#include "collect/proc/cgroup_files.h"
#include "collect/proc/container.h"
#include "collect/proc/pids.h"
#include "collect/proc/proc_file.h"
#include "collect/proc/process_files.h"
#include "collect/proc/text_scanner.h"

namespace sonde {
namespace {

namespace fs = std::filesystem;

std::string FileOf(pid_t pid, const char* name) {
  return ReadText(fmt::format("/proc/{}/{}", pid, name));
}

// Of which process `tid` is a thread; itself if that is not told.
pid_t ProcessOf(pid_t tid) {
  const std::string text = FileOf(tid, "status");
  TextScanner in(text);
  while (!in.done()) {
    const std::string_view line = in.Line();
    uint64_t pid = 0;
    if (line.starts_with("Tgid:") && TextScanner(line.substr(5)).Number(&pid) &&
        pid > 0 && pid <= INT32_MAX)
      return static_cast<pid_t>(pid);
  }
  return tid;
}

bool IsCgroup(const std::string& folder) {
  return ::access((folder + "/cgroup.procs").c_str(), F_OK) == 0;
}

void AddProcessesOf(const std::string& folder, std::vector<pid_t>& out) {
  const std::string text = ReadText(folder + "/cgroup.procs");
  TextScanner in(text);
  while (!in.done()) {
    uint64_t pid = 0;
    TextScanner line(in.Line());
    // 0 is one that this pid namespace does not show.
    if (line.Number(&pid) && pid > 0 && pid <= INT32_MAX)
      out.push_back(static_cast<pid_t>(pid));
  }
}

}  // namespace

Result<WatchTarget> WatchTarget::Process(pid_t pid) {
  const std::string text = FileOf(pid, "stat");
  const auto stat = ParseProcessStat(text);
  if (stat && (stat->state == 'Z' || stat->exiting))
    return Error{Error::Kind::kNotFound,
                 fmt::format("process {} has ended", pid),
                 "its parent has not asked for its status yet"};
  if (!stat)
    return Error{Error::Kind::kNotFound,
                 fmt::format("there is no process {}", pid),
                 "`ps -e` lists them"};
  // A thread has a folder of its own there, but no tree.
  if (const pid_t process = ProcessOf(pid); process != pid)
    return Error{Error::Kind::kUsage,
                 fmt::format("{} is a thread of process {}", pid, process),
                 fmt::format("ask for {}", process)};
  if (stat->kernel)
    return Error{Error::Kind::kUsage,
                 fmt::format("{} is a thread of the kernel", pid),
                 "`ps -e` lists processes"};
  const std::string command =
      ShortCommand(ParseCmdline(FileOf(pid, "cmdline")));
  WatchTarget out(
      Kind::kProcess,
      fmt::format("process {} ({})", pid,
                  Printable(command.empty() ? stat->comm : command, 60)));
  out.pid_ = pid;
  out.cgroup_ = FileOf(pid, "cgroup");
  out.pidfd_.Reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return out;
}

Result<WatchTarget> WatchTarget::Cgroup(const std::string& path) {
  const std::string mountinfo = ReadText("/proc/self/mountinfo");
  const auto found = FindNamedCgroup(path, mountinfo, IsCgroup);
  if (!found)
    return Error{Error::Kind::kNotFound,
                 "there is no cgroup " + Printable(path),
                 "`cat /proc/PID/cgroup` names the cgroup of a process"};
  WatchTarget out(Kind::kCgroup, "cgroup " + Printable(path, 120));
  out.folder_ = found->folder;
  out.cgroup_ = found->cgroup;
  const std::vector<pid_t> pids = out.Processes();
  out.pid_ = pids.empty() ? ::getpid() : pids.front();
  return out;
}

Result<WatchTarget> WatchTarget::Container(const std::string& name) {
  ::signal(SIGCHLD, SIG_DFL);  // to know how a tool that is asked has ended
  TRY(const ContainerPlace place, FindContainer(name));
  const auto folder = FolderOf(place.cgroup, ReadText("/proc/self/mountinfo"),
                               place.part, IsCgroup);
  if (!folder)
    return Error{Error::Kind::kNotFound,
                 "container " + Printable(name) +
                     ": its cgroup is not to be seen from here",
                 fmt::format("sonde watch --pid {}", place.pid)};
  WatchTarget out(Kind::kCgroup,
                  fmt::format("container {} ({})", Printable(name, 64),
                              Printable(place.id.substr(0, 12))));
  out.folder_ = *folder;
  out.cgroup_ = place.cgroup;
  out.pid_ = place.pid;
  return out;
}

WatchTarget WatchTarget::Everything() {
  const bool container = InContainer();
  WatchTarget out(Kind::kEverything,
                  container ? "this container" : "this machine");
  out.pid_ = ::getpid();
  if (container) out.cgroup_ = FileOf(1, "cgroup");
  return out;
}

std::vector<pid_t> WatchTarget::Processes() const {
  std::vector<pid_t> out;
  switch (kind_) {
    case Kind::kProcess:
      out = TreeOf(pid_);
      break;
    case Kind::kEverything:
      out = NumbersIn("/proc");
      break;
    case Kind::kCgroup: {
      AddProcessesOf(folder_, out);
      std::error_code failure;
      fs::recursive_directory_iterator at(
          folder_, fs::directory_options::skip_permission_denied, failure);
      for (; !failure && at != fs::end(at); at.increment(failure))
        if (at->is_directory(failure)) AddProcessesOf(at->path(), out);
      break;
    }
  }
  std::erase(out, ::getpid());
  return out;
}

bool WatchTarget::Gone() const {
  if (kind_ == Kind::kEverything) return false;
  if (kind_ == Kind::kCgroup) return !IsCgroup(folder_);
  if (!pidfd_.valid()) return ::kill(pid_, 0) != 0 && errno == ESRCH;
  pollfd ended = {pidfd_.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) > 0;
}

}  // namespace sonde

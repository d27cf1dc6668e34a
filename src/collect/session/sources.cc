#include "collect/session/sources.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "collect/gpu/device_sampler.h"
#include "collect/perf/perf_ring.h"
#include "collect/perf/time_namespace.h"
#include "collect/proc/cgroup_files.h"
#include "collect/proc/container.h"
#include "collect/proc/machine_files.h"
#include "collect/proc/pids.h"
#include "collect/proc/process_files.h"
#include "collect/tree/perf_tree.h"
#include "collect/tree/proc_world.h"
#include "collect/tree/task_events.h"

namespace sonde {
namespace {

SourceState Works(std::string detail) {
  return {true, "", "", std::move(detail)};
}
SourceState Fails(std::string why, std::string cure) {
  return {false, std::move(why), std::move(cure), ""};
}

std::string TextOf(const std::string& path) {
  auto text = ReadFile(path, 4 << 20);
  return text.ok() ? text.Take() : std::string();
}

// Opens the event on ourselves, as `sonde run` does on the command.
SourceState CheckPerf(TaskEvent event, const char* name, std::string detail) {
  const auto ring = PerfRing::Open(AttrOf(event), ::getpid(), 0, 8);
  if (ring.ok()) return Works(std::move(detail));
  const NotCollected why = ExplainPerf(name, ring.error());
  return Fails(why.why, why.cure);
}

SourceState CheckTree() {
  return CheckPerf(TaskEvent::kTree, "process tree",
                   "every fork, exec and exit, by perf");
}

SourceState CheckCpuTimes() {
  return CheckPerf(TaskEvent::kCpu, "CPU times at exit",
                   "CPU time of every thread at its end, by perf");
}

SourceState CheckExitStatus() {
  const pid_t child = ::fork();
  if (child < 0) return Fails("fork: cannot try", "");
  if (child == 0) ::_exit(42);
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (pidfd.valid() && PidfdWaitStatus(pidfd.get()) == status)
    return Works("of every descendant that lives a few milliseconds");
  return Fails("the kernel tells it only of zombies (pidfd info is newer)",
               "use Linux 6.15 or newer");
}

SourceState CheckIo() {
  const auto text = ReadFile("/proc/self/io");
  if (text.ok() && ParseProcessIo(text.value()))
    return Works("bytes and calls of each process, from /proc/PID/io");
  return Fails(text.ok() ? "/proc/self/io: not understood" : text.error().what,
               "use a kernel with CONFIG_TASK_IO_ACCOUNTING");
}

SourceState CheckPss() {
  const auto text = ReadFile("/proc/self/smaps_rollup");
  if (text.ok() && ParsePssBytes(text.value()))
    return Works("every 10 s at most, from /proc/PID/smaps_rollup");
  return Fails(
      text.ok() ? "/proc/self/smaps_rollup: not understood" : text.error().what,
      "use Linux 4.14 or newer");
}

SourceState CheckSchedStat() {
  const auto text = ReadFile("/proc/self/schedstat");
  if (text.ok() && ParseSchedStat(text.value()))
    return Works("CPU and waiting time of each thread");
  return Fails(
      text.ok() ? "/proc/self/schedstat: not understood" : text.error().what,
      "use a kernel with CONFIG_SCHED_INFO");
}

// Asks a child, as a recording does: of ourselves everything may be read.
SourceState CheckThreadStates() {
  const pid_t child = ::fork();
  if (child < 0) return Fails("fork: cannot try", "");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  const std::string folder = fmt::format("/proc/{0}/task/{0}/", child);
  const auto stat = ReadFile(folder + "stat");
  const auto call = ReadFile(folder + "syscall");
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!stat.ok() || !ParseProcessStat(stat.value()))
    return Fails("/proc/PID/task/TID/stat cannot be read",
                 "mount -t proc proc /proc");
  if (!call.ok())
    return Fails(
        "/proc/PID/task/TID/syscall cannot be read: which threads are blocked "
        "is known, for what is not",
        "sysctl kernel.yama.ptrace_scope=1, or run sonde as root");
  return Works("time blocked, for disks or not, and where threads sleep");
}

SourceState CheckCores() {
  MachineStat stat;
  ParseMachineStat(TextOf("/proc/stat"), stat);
  if (stat.cores.empty())
    return Fails("/proc/stat cannot be read", "mount -t proc proc /proc");
  return Works(fmt::format("{} cores", stat.cores.size()));
}

SourceState CheckMemory() {
  const MemInfo memory = ParseMemInfo(TextOf("/proc/meminfo"));
  if (!memory.total)
    return Fails("/proc/meminfo cannot be read", "mount -t proc proc /proc");
  return Works(FormatBytes(static_cast<double>(*memory.total)) + ", swap " +
               FormatBytes(static_cast<double>(memory.swap_total.value_or(0))));
}

SourceState CheckPressure() {
  if (ParsePressure(TextOf("/proc/pressure/cpu")).some_ns)
    return Works("time lost waiting for CPU, memory and disks");
  return Fails("/proc/pressure cannot be read",
               "boot with psi=1 on the kernel's command line");
}

template <typename Rows>
SourceState NamesOf(const Rows& rows, const char* none, const char* cure) {
  std::string names;
  for (const auto& row : rows) {
    if (!names.empty()) names += ", ";
    names += Printable(row.name, 32);
  }
  if (rows.empty()) return Fails(none, cure);
  return Works(Printable(names, 60));
}

SourceState CheckDisks() {
  const std::string text = TextOf("/proc/diskstats");
  std::vector<DiskStat> disks;
  ParseDiskStats(text, disks);
  return NamesOf(disks, "no disk is shown in /proc/diskstats",
                 "mount -t proc proc /proc");
}

SourceState CheckNetwork() {
  const std::string text = TextOf("/proc/net/dev");
  std::vector<NetStat> interfaces;
  ParseNetDev(text, interfaces);
  return NamesOf(
      interfaces, "there is no interface but loopback",
      InContainer() ? "docker run --network host ..." : "ip link set eth0 up");
}

SourceState CheckCgroup() {
  const CgroupLimits limits = FindCgroupLimits(
      TextOf("/proc/self/cgroup"), TextOf("/proc/self/mountinfo"),
      [](const std::string& path) -> std::optional<std::string> {
        auto text = ReadFile(path);
        if (!text.ok()) return std::nullopt;
        return text.Take();
      });
  if (limits.path.empty())
    return Fails("no cgroup is mounted",
                 "mount -t cgroup2 cgroup2 /sys/fs/cgroup");
  return Works(fmt::format(
      "memory {}, CPU {}",
      limits.memory_bytes
          ? "limit " + FormatBytes(static_cast<double>(*limits.memory_bytes))
          : "not limited",
      limits.cpu_cores ? fmt::format("limit {:.3g} cores", *limits.cpu_cores)
                       : "not limited"));
}

SourceState CheckNeighbours() {
  // Process 2 of a machine is the parent of the kernel's threads. A pid
  // namespace has another, or none.
  const std::string text = TextOf("/proc/2/stat");
  const auto second = ParseProcessStat(text);
  if (second && second->kernel)
    return Works(fmt::format("{} processes are shown, looked at by name",
                             NumbersIn("/proc").size()));
  if (TextOf("/proc/1/stat").empty())
    return Fails("/proc hides the processes of other users",
                 "mount -o remount,hidepid=0 /proc");
  return Fails("only the processes of this container are shown in /proc",
               "docker run --pid host ...");
}

SourceState CheckSessionDir() {
  // At most a twentieth of a memory file system is taken.
  constexpr double kShare = 0.05;
  constexpr double kLeastBytes = 1 << 20;
  const char* const given = std::getenv("XDG_RUNTIME_DIR");
  for (const std::string& path :
       {std::string("/dev/shm"), std::string(given ? given : "")}) {
    struct statvfs room = {};
    if (path.empty() || ::statvfs(path.c_str(), &room) != 0 ||
        ::access(path.c_str(), W_OK) != 0)
      continue;
    const double bytes = static_cast<double>(room.f_bavail) *
                         static_cast<double>(room.f_frsize) * kShare;
    if (bytes >= kLeastBytes)
      return Works(path + ", up to " + FormatBytes(bytes));
  }
  return Fails("no room in memory: sessions lie on disk, beside the trace",
               InContainer() ? "docker run --shm-size 1g ..."
                             : "sudo mount -o remount,size=1g /dev/shm");
}

SourceState CheckDevices() {
  const std::string root = DeviceRoot();
  std::string names;
  SourceState missing = Works("there is none here");
  for (const DeviceMaker& maker : DeviceMakers()) {
    if (!maker.present(root)) continue;
    const auto child = DeviceChild::Start(maker, root, 1);
    auto state = DeviceChild::State::kEnded;
    // Its first answer may wake a driver up.
    for (int i = 0; child && i < 300; ++i) {
      state = child->Look();
      if (state != DeviceChild::State::kStarting) break;
      ::usleep(10'000);
    }
    if (state != DeviceChild::State::kRuns) {
      const std::string why = state == DeviceChild::State::kNone ? child->why()
                              : state == DeviceChild::State::kStarting
                                  ? "its library does not answer"
                                  : "its library died";
      if (!why.empty())
        missing = Fails(fmt::format("{}: {}", maker.vendor, Printable(why, 80)),
                        "ldconfig -p | grep -e nvidia-ml -e dcmi");
      continue;
    }
    for (size_t i = 0; i < child->devices(); ++i) {
      if (!names.empty()) names += ", ";
      names += Printable(child->info(i).name, 32);
    }
  }
  return names.empty() ? missing : Works(Printable(names, 60));
}

// What a time namespace means for the times of a trace; "" outside of one.
std::string TimeNamespaceText() {
  const auto offset_ns = MonotonicOffsetNs();
  if (!offset_ns) return "; a new time namespace for what is started here";
  if (*offset_ns == 0) return "";
  return fmt::format(
      "; in a time namespace, {:+} s against the machine's: times are of this "
      "namespace",
      *offset_ns / 1'000'000'000);
}

SourceState CheckClock() {
  std::string source = TextOf(
      "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  while (!source.empty() && source.back() == '\n') source.pop_back();
  if (source == "tsc" || source == "arch_sys_counter" ||
      source == "kvm-clock" || source == "hyperv_clocksource_tsc_page")
    return Works(Printable(source, 40) + ", read without a system call" +
                 TimeNamespaceText());
  if (source.empty()) return Works("CLOCK_MONOTONIC" + TimeNamespaceText());
  return Fails("clock source is " + Printable(source, 40) +
                   ": each time stamp costs a system call",
               "echo tsc | sudo tee /sys/devices/system/clocksource/"
               "clocksource0/current_clocksource");
}

constexpr std::array<SourceInfo, 17> kSources = {{
    {"process tree", "start, exec and end of every process", CheckTree},
    {"CPU times at exit", "CPU time of processes however short", CheckCpuTimes},
    {"exit status", "how descendants ended", CheckExitStatus},
    {"thread times", "CPU and waiting time of threads", CheckSchedStat},
    {"thread states", "threads blocked for disks, and where others sleep",
     CheckThreadStates},
    {"process I/O", "bytes read and written by each process", CheckIo},
    {"PSS", "memory of each process, shared pages shared", CheckPss},
    {"cores", "use of each core", CheckCores},
    {"memory", "memory and swap of the machine", CheckMemory},
    {"pressure", "time lost waiting (PSI)", CheckPressure},
    {"disks", "bytes, calls and busy time of disks", CheckDisks},
    {"network", "bytes and packets of interfaces", CheckNetwork},
    {"cgroup", "use and limits of this container or service", CheckCgroup},
    {"accelerators", "use, memory, clocks and power of GPUs and NPUs",
     CheckDevices},
    {"neighbours", "names of other programs that use the cores",
     CheckNeighbours},
    {"session directory", "room for a session in memory", CheckSessionDir},
    {"clock", "cheap time stamps", CheckClock},
}};

}  // namespace

std::span<const SourceInfo> Sources() { return kSources; }

}  // namespace sonde

#include "collect/session/gatherers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <thread>

#include "base/time.h"
#include "collect/tree/process_tree.h"
#include "tools/trace_contents.h"

namespace sonde {
namespace {

void Spin(int64_t ns) {
  const int64_t until = ClockNs(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (ClockNs(CLOCK_THREAD_CPUTIME_ID) < until) {
  }
}

// Records a child that runs `body`, by perf if it may, else by /proc. It has
// run `before` when the recording begins.
TraceContents Record(
    bool use_perf, const std::function<int()>& body,
    const std::string& cgroup = "",
    const std::function<void()>& before = [] {}) {
  int gate[2], ready[2];
  CHECK(::pipe(gate) == 0 && ::pipe(ready) == 0);
  const pid_t root = ::fork();
  CHECK(root >= 0);
  char go;
  if (root == 0) {
    before();
    CHECK(::write(ready[1], "x", 1) == 1);
    CHECK(::read(gate[0], &go, 1) == 1);
    ::_exit(body());
  }
  CHECK(::read(ready[0], &go, 1) == 1);
  auto bytes = std::make_shared<std::string>();
  const auto out = TraceWriter::CreateInMemory({}, bytes);
  const auto tree = ProcessTree::Follow(root, *out, {.use_perf = use_perf});
  Gatherers gatherers(*out, *tree, 100, cgroup);
  CHECK(::write(gate[1], "x", 1) == 1);
  int status = 0;
  rusage usage = {};
  for (;;) {
    ::usleep(10'000);
    const bool ended = ::wait4(root, &status, WNOHANG, &usage) == root;
    tree->Poll(NowNs());
    if (ended) break;
    gatherers.Poll(NowNs());
    out->Flush();
  }
  tree->RootEnded(NowNs(), status, usage);
  gatherers.Poll(NowNs());
  tree->Stop(NowNs());
  out->PutMeta("tree_source", tree->source());
  CHECK(out->Close().ok());
  for (const int fd : {gate[0], gate[1], ready[0], ready[1]}) ::close(fd);
  return TraceContents::OfBytes(bytes);
}

// A child that spins, in a thread as well, and one that lives a moment.
int Family(int64_t spin_ns) {
  const pid_t worker = ::fork();
  if (worker == 0) {
    std::thread other([=] { Spin(spin_ns / 2); });
    Spin(spin_ns);
    other.join();
    ::_exit(9);
  }
  int status = 0;
  for (int i = 0; i < 20; ++i) {
    const pid_t brief = ::fork();
    if (brief == 0) ::_exit(0);
    ::waitpid(brief, &status, 0);
  }
  ::waitpid(worker, &status, 0);
  return WEXITSTATUS(status) == 9 ? 4 : 5;
}

TEST(Gatherers, SeesEveryProcessAndItsCpuTime) {
  const TraceContents trace =
      Record(true, [] { return Family(120 * kNsPerMs); });
  if (trace.meta.at("tree_source") != "perf") GTEST_SKIP() << "no perf here";
  ASSERT_EQ(trace.processes.size(), 22u);
  EXPECT_EQ(trace.processes.at(1).exit_code, 4);
  const Process& worker = trace.processes.at(2);
  EXPECT_EQ(worker.exit, Process::Exit::kExited);
  EXPECT_EQ(worker.exit_code, 9);
  EXPECT_GE(worker.cpu_ns, 160 * kNsPerMs);
  EXPECT_LT(worker.cpu_ns, 400 * kNsPerMs);
  int64_t threads_ns = 0;
  int threads = 0;
  for (const auto& [number, thread] : trace.threads)
    if (thread.process == 2) {
      threads_ns += thread.cpu_ns;
      ++threads;
    }
  EXPECT_GE(threads, 2) << "a sanitizer may have threads of its own";
  // Process and threads are read one after the other.
  EXPECT_NEAR(static_cast<double>(threads_ns),
              static_cast<double>(worker.cpu_ns), 30e6);
  for (uint32_t brief = 3; brief <= 22; ++brief) {
    EXPECT_GE(trace.processes.at(brief).cpu_ns, 0);
    EXPECT_NE(trace.processes.at(brief).end_ns, kNoTime);
  }
  EXPECT_TRUE(trace.losses.empty());
}

TEST(Gatherers, CountersOnlyGrowAndEndWithTheirProcess) {
  const TraceContents trace =
      Record(true, [] { return Family(400 * kNsPerMs); });
  const uint32_t cpu = trace.FindSeries("cpu_ns", Series::Scope::kProcess, 2);
  ASSERT_NE(cpu, 0u);
  const auto& points = trace.points.at(cpu);
  ASSERT_GE(points.size(), 4u);
  for (size_t i = 1; i + 1 < points.size(); ++i) {
    EXPECT_GT(points[i].value, points[i - 1].value);
    EXPECT_GE(points[i].time_ns, points[i - 1].time_ns);
  }
  EXPECT_TRUE(points.back().gone);
  EXPECT_NE(trace.FindSeries("rss_bytes", Series::Scope::kProcess, 2), 0u);
  EXPECT_NE(trace.FindSeries("read_chars", Series::Scope::kProcess, 2), 0u);
  EXPECT_NE(trace.FindSeries("wait_ns", Series::Scope::kThread, 2), 0u);
}

TEST(Gatherers, AnIdleProcessAddsNoValues) {
  const TraceContents trace = Record(true, [] {
    ::usleep(500'000);
    return 0;
  });
  const uint32_t cpu = trace.FindSeries("cpu_ns", Series::Scope::kProcess, 1);
  ASSERT_NE(cpu, 0u);
  const size_t ticks = trace.ticks.at(trace.series.at(cpu).group).size();
  EXPECT_GE(ticks, 6u);
  // Its start, its end and Gone; now and then it works for a sanitizer.
  EXPECT_LT(trace.points.at(cpu).size(), ticks / 2 + 3);
}

TEST(Gatherers, WhereAThreadSleepsIsTold) {
  const TraceContents trace = Record(true, [] {
    ::usleep(2'000'000);
    return 0;
  });
  const uint32_t call =
      trace.FindSeries("sleeps_in", Series::Scope::kThread, 1);
  const uint32_t blocked =
      trace.FindSeries("blocked_ns", Series::Scope::kProcess, 1);
  ASSERT_NE(call, 0u);
  ASSERT_NE(blocked, 0u);
  EXPECT_EQ(trace.points.at(call).front().value, SYS_clock_nanosleep);
  EXPECT_EQ(trace.points.at(blocked).front().value, 0);
  EXPECT_NE(trace.meta.at("syscalls"), "");
}

TEST(Gatherers, PagesOfFilesAreTold) {
  const TraceContents trace = Record(true, [] {
    // Its own program is a file of some size.
    const int fd = ::open("/proc/self/exe", O_RDONLY);
    constexpr size_t kBytes = 4 << 20;
    volatile const char* const file = static_cast<const char*>(
        ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd, 0));
    for (size_t i = 0; i < kBytes; i += 4096) (void)file[i];
    for (const int64_t end_ns = NowNs() + 3300 * kNsPerMs; NowNs() < end_ns;)
      ::usleep(10'000);
    return 0;
  });
  const uint32_t files =
      trace.FindSeries("rss_file_bytes", Series::Scope::kProcess, 1);
  const uint32_t rss =
      trace.FindSeries("rss_bytes", Series::Scope::kProcess, 1);
  ASSERT_NE(files, 0u);
  ASSERT_NE(rss, 0u);
  int64_t most_files = 0, most = 0;
  for (const auto& point : trace.points.at(files))
    most_files = std::max(most_files, point.value);
  for (const auto& point : trace.points.at(rss))
    most = std::max(most, point.value);
  EXPECT_GE(most_files, 4 << 20);
  EXPECT_LE(most_files, most);
}

TEST(Gatherers, OneThatBarelyRunsIsReadFourTimesASecond) {
  const int64_t before_ns = NowNs();
  const TraceContents trace = Record(true, [] {
    for (int i = 0; i < 150; ++i) {
      Spin(20 * kNsPerUs);
      ::usleep(10'000);
    }
    // Pages that this process never had, whatever the tests before it did.
    void* const memory = ::mmap(nullptr, 8 << 20, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    std::memset(memory, 1, 8 << 20);
    __asm__ volatile("" : : "r"(memory) : "memory");  // somebody looks at it
    ::usleep(1'000'000);
    return 0;
  });
  const uint32_t cpu = trace.FindSeries("cpu_ns", Series::Scope::kProcess, 1);
  const uint32_t user =
      trace.FindSeries("voluntary_switches", Series::Scope::kThread, 1);
  const uint32_t wait = trace.FindSeries("cpu_ns", Series::Scope::kThread, 1);
  const uint32_t rss =
      trace.FindSeries("rss_bytes", Series::Scope::kProcess, 1);
  ASSERT_NE(cpu, 0u);
  ASSERT_NE(wait, 0u);
  ASSERT_NE(rss, 0u);
  EXPECT_NE(user, 0u);
  const size_t clock_values = trace.points.at(cpu).size();
  const size_t file_values = trace.points.at(wait).size();
  EXPECT_GE(clock_values, 10u);
  // And a few for its beginning and end.
  const int64_t took_ms = (NowNs() - before_ns) / kNsPerMs;
  EXPECT_LE(static_cast<int64_t>(file_values), took_ms / 200 + 5);
  EXPECT_LT(file_values, clock_values);
  EXPECT_GE(file_values, 3u);
  // What it did last is seen even though it has not run since.
  int64_t first_rss = 0, last_rss = 0;
  for (const auto& point : trace.points.at(rss)) {
    if (point.gone) continue;
    if (first_rss == 0) first_rss = point.value;
    last_rss = point.value;
  }
  EXPECT_GE(last_rss, first_rss + (7 << 20));
}

TEST(Gatherers, MachineFilesAreReadTenTimesASecondAtMost) {
  const int64_t before_ns = NowNs();
  const TraceContents trace = Record(true, [] {
    ::usleep(1'000'000);
    return 0;
  });
  const int64_t took_ms = (NowNs() - before_ns) / kNsPerMs;
  const uint32_t idle =
      trace.FindSeries("cpu_idle_ns", Series::Scope::kMachine, 0, "0");
  ASSERT_NE(idle, 0u);
  const size_t ticks = trace.ticks.at(trace.series.at(idle).group).size();
  EXPECT_GE(ticks, 3u);
  EXPECT_LE(static_cast<int64_t>(ticks), took_ms / 90 + 2);
  EXPECT_NE(trace.FindSeries("cpu_idle_ns", Series::Scope::kMachine, 0, "0"),
            0u);
  EXPECT_NE(trace.FindSeries("mem_total_bytes", Series::Scope::kMachine, 0),
            0u);
  EXPECT_EQ(trace.FindSeries("net_rx_bytes", Series::Scope::kMachine, 0, "lo"),
            0u);
}

// Gives this process a /dev/shm of its own, if it may.
bool MountOwnShm() {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount("", "/", "", MS_REC | MS_PRIVATE, "") == 0 &&
         ::mount("x", "/dev/shm", "tmpfs", 0, "size=4m") == 0;
}

bool MayMount() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(MountOwnShm() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

TEST(Gatherers, ReadsTheTargetsSharedMemoryAndOomKills) {
  constexpr int64_t kRoom = 4 << 20, kFile = 1 << 20;
  const bool may_mount = MayMount();
  const TraceContents trace = Record(
      true,
      [] {
        ::usleep(1'500'000);
        return 0;
      },
      "",
      [&] {
        if (!may_mount) return;
        CHECK(MountOwnShm());
        const int fd = ::open("/dev/shm/file", O_RDWR | O_CREAT, 0600);
        CHECK(::posix_fallocate(fd, 0, kFile) == 0);
      });
  const uint32_t kills =
      trace.FindSeries("oom_kills", Series::Scope::kMachine, 0);
  EXPECT_NE(kills, 0u);
  if (!may_mount) GTEST_SKIP() << "needs the right to mount a file system";
  const uint32_t total =
      trace.FindSeries("shm_total_bytes", Series::Scope::kMachine, 0);
  const uint32_t used =
      trace.FindSeries("shm_used_bytes", Series::Scope::kMachine, 0);
  ASSERT_NE(total, 0u);
  ASSERT_NE(used, 0u);
  EXPECT_EQ(trace.points.at(total).back().value, kRoom);
  EXPECT_EQ(trace.points.at(used).back().value, kFile);
}

TEST(Gatherers, ThereAreNoCgroupsOfTheWholeMachine) {
  const auto count = [](const std::string& cgroup) {
    const TraceContents trace = Record(
        true,
        [] {
          Spin(400 * kNsPerMs);
          return 0;
        },
        cgroup);
    return std::count_if(
        trace.series.begin(), trace.series.end(), [&](const auto& one) {
          return trace.strings.at(one.second.name).starts_with("cgroup_");
        });
  };
  // Nobody is in this one: what is found is where the process was seen.
  if (count("0::/sonde-nobody\n") == 0) GTEST_SKIP() << "it is in no cgroup";
  EXPECT_EQ(count(""), 0);
}

TEST(Gatherers, ReadsTheInterfacesOfTheTargetsNetwork) {
  const TraceContents trace = Record(true, [] {
    ::usleep(300'000);
    // Of its own it has only a loopback, which does not count.
    if (::unshare(CLONE_NEWNET) != 0) return 1;
    ::usleep(2'200'000);
    return 0;
  });
  if (trace.processes.at(1).exit_code != 0)
    GTEST_SKIP() << "no network namespace can be made";
  size_t ours = 0;
  for (const auto& [id, row] : trace.series) {
    if (trace.strings.at(row.name) != "net_rx_bytes") continue;
    ++ours;
    EXPECT_TRUE(trace.points.at(id).back().gone)
        << trace.strings.at(row.label) << " is not the target's";
  }
  if (ours == 0) GTEST_SKIP() << "no interface but the loopback";
}

TEST(Gatherers, OfANetworkThatIsNotTheTargetsNothingIsReadAtFirst) {
  const TraceContents ours = Record(true, [] {
    ::usleep(200'000);
    return 0;
  });
  bool may = true;
  const TraceContents trace = Record(
      true,
      [&may] {
        ::usleep(200'000);
        return may ? 0 : 1;
      },
      "", [&may] { may = ::unshare(CLONE_NEWNET) == 0; });
  if (trace.processes.at(1).exit_code != 0)
    GTEST_SKIP() << "no network namespace can be made";
  const auto links = [](const TraceContents& of) {
    return std::count_if(
        of.series.begin(), of.series.end(), [&](const auto& one) {
          return of.strings.at(one.second.name) == "net_rx_bytes";
        });
  };
  if (links(ours) == 0) GTEST_SKIP() << "no interface but the loopback";
  EXPECT_EQ(links(trace), 0) << "it has only a loopback";
}

TEST(Gatherers, ReadsTheInterfacesOfEachNetworkOfTheTree) {
  const TraceContents trace = Record(true, [] {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::unshare(CLONE_NEWNET) != 0 ||
          std::system("ip link add sonde0 type veth peer name sonde1 "
                      "2>/dev/null") != 0)
        ::_exit(1);
      ::usleep(700'000);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ::usleep(2'000'000);
    return WEXITSTATUS(status);
  });
  if (trace.processes.at(1).exit_code != 0)
    GTEST_SKIP() << "no network namespace with an interface can be made";
  const uint32_t theirs =
      trace.FindSeries("net_rx_bytes", Series::Scope::kMachine, 0, "sonde0");
  ASSERT_NE(theirs, 0u);
  EXPECT_TRUE(trace.points.at(theirs).back().gone) << "it ended with its child";
  for (const auto& [id, row] : trace.series) {
    if (trace.strings.at(row.name) != "net_rx_bytes" ||
        trace.strings.at(row.label).starts_with("sonde"))
      continue;
    EXPECT_FALSE(trace.points.at(id).back().gone)
        << trace.strings.at(row.label) << " is the command's";
  }
}

TEST(ProcTree, FindsWhatLivesLongEnoughWithoutPerf) {
  const TraceContents trace =
      Record(false, [] { return Family(400 * kNsPerMs); });
  EXPECT_EQ(trace.meta.at("tree_source"), "proc");
  ASSERT_GE(trace.processes.size(), 2u);
  int workers = 0;
  for (const auto& [number, process] : trace.processes) {
    const uint32_t cpu =
        trace.FindSeries("cpu_ns", Series::Scope::kProcess, number);
    if (number == 1 || cpu == 0) continue;
    int64_t most_ns = 0;
    for (const auto& point : trace.points.at(cpu))
      most_ns = std::max(most_ns, point.value);
    if (most_ns < 100 * kNsPerMs) continue;
    ++workers;
    EXPECT_EQ(process.parent, 1u);
    EXPECT_NE(process.end_ns, kNoTime);
    EXPECT_EQ(process.cpu_ns, -1);
    // Only newer kernels tell a stranger's exit status.
    EXPECT_EQ(process.exit_code,
              process.exit == Process::Exit::kUnknown ? 0 : 9);
  }
  EXPECT_EQ(workers, 1);
}

TEST(Sources, HaveEachAWordOfTheirOwn) {
  std::set<std::string> names;
  for (const SourceInfo* const source : Sources()) {
    EXPECT_TRUE(names.insert(source->name).second) << source->name;
    EXPECT_STRNE(source->gathers, "");
    const SourceState state = source->check();
    EXPECT_NE(state.works ? state.detail : state.why, "") << source->name;
  }
  EXPECT_TRUE(names.contains("process tree"));
  EXPECT_TRUE(names.contains("annotations"));
}

TEST(Sources, AreToldInTheSameWordsByARecording) {
  const SourceInfo gone = {"pressure", "",
                           [] { return SourceState::Fails("no", "do"); }};
  const NotCollected told = MissingNow(gone);
  EXPECT_EQ(told.source, "pressure");
  EXPECT_EQ(told.why, "no");
  EXPECT_EQ(told.cure, "do");
  // Nothing is silent about what could not be read and is there again.
  const SourceInfo back = {"pressure", "",
                           [] { return SourceState::Works("here"); }};
  EXPECT_NE(MissingNow(back).why, "");
}

}  // namespace
}  // namespace sonde

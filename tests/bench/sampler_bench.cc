// sampler_bench [--quick] [--only BAR] [--peer FILE]
//
// What following and sampling costs, in percent of one core, for a tree of 200
// processes (190 idle), the same with eight simulated GPUs, the same all busy,
// and one process at 1000 Hz. What asks the GPUs is a process of its own and is
// counted, with its memory. Tree,
// sampler and writer run as in a session: tick, Flush four times a second. The
// peer, a psutil loop over the same processes (FILE, default psutil_peer.py
// beside this source), takes turns with it; medians are printed, a JSON object
// a line.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "collect/session/gatherers.h"
#include "collect/tree/process_tree.h"

#ifndef SONDE_PEER
#define SONDE_PEER "tests/bench/psutil_peer.py"
#endif

namespace sonde {
namespace {

struct Case {
  const char* bar;
  int idle, busy;  // processes below the root
  double rate_hz;
  double limit_pct;
  bool gpus = false;
};
constexpr Case kCases[] = {
    {"tree200_10hz_pct", 189, 10, 10, 1.0},
    {"sampler_10hz_pct", 189, 10, 10, 1.2, true},
    {"tree200_busy_pct", 0, 199, 10, 3.5},
    {"one_1000hz_pct", 0, 0, 1000, 7.0},
};
constexpr double kMostMb = 20;
constexpr double kTimesPsutil = 10;

// Eight GPUs of the simulated library, found by what a driver would leave.
class SimulatedGpus {
 public:
  explicit SimulatedGpus(const std::string& folder) : root_(folder) {
    Put("/script", "devices 8\n");
    for (int i = 0; i < 8; ++i)
      Add("/script", "at 0 gpu " + std::to_string(i) +
                         " wave 5 95 1 mem_busy 40 used 8000 total 16000 clock "
                         "1500 mem_clock 800 power 250 temp 60 throttle 0\n");
    CHECK(::mkdir((root_ + "/dev").c_str(), 0700) == 0);
    Put("/dev/nvidiactl", "");
    ::setenv("SONDE_DEVICE_ROOT", root_.c_str(), 1);
    ::setenv("SONDE_SIM_NVML", (root_ + "/script").c_str(), 1);
  }
  ~SimulatedGpus() {
    ::unsetenv("SONDE_DEVICE_ROOT");
    for (const char* name : {"/script", "/dev/nvidiactl"})
      ::unlink((root_ + name).c_str());
    ::rmdir((root_ + "/dev").c_str());
  }

 private:
  void Put(const char* name, const std::string& text) {
    Write(name, text, "w");
  }
  void Add(const char* name, const std::string& text) {
    Write(name, text, "a");
  }
  void Write(const char* name, const std::string& text, const char* mode) {
    std::FILE* const file = std::fopen((root_ + name).c_str(), mode);
    CHECK(file != nullptr);
    std::fputs(text.c_str(), file);
    std::fclose(file);
  }

  const std::string root_;
};

// The most memory this process ever had.
double PeakMb() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Works about a hundredth of the time, every few milliseconds: it has run at
// every tick, and the machine is not full.
[[noreturn]] void Busy() {
  for (;;) {
    const int64_t until_ns = NowNs() + 20 * kNsPerUs;
    while (NowNs() < until_ns) {
    }
    const timespec rest = {0, 20 * kNsPerMs};
    ::nanosleep(&rest, nullptr);
  }
}

// A process of its own kind of memory, as a program has.
[[noreturn]] void Child(bool busy) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  constexpr size_t kBytes = 4 << 20;
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) std::memset(memory, 1, kBytes);
  if (busy) Busy();
  for (;;) ::pause();
}

// The root waits at the gate, makes its children, and then is one of them.
pid_t StartRoot(const Case& one, int gate) {
  const pid_t root = ::fork();
  CHECK(root >= 0);
  if (root != 0) return root;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  char go;
  if (::read(gate, &go, 1) != 1) ::_exit(1);
  for (int i = 0; i < one.idle + one.busy; ++i)
    if (::fork() == 0) Child(i >= one.idle);
  if (one.idle + one.busy == 0) Busy();
  for (;;) ::pause();
}

// CPU percent of this process over `seconds` of recording.
class Recording {
 public:
  Recording(const Case& one, TraceWriter& out, ProcessTree& tree)
      : rate_hz_(one.rate_hz),
        out_(out),
        tree_(tree),
        gatherers_(out, tree, one.rate_hz) {
    for (const int fd : tree.wake_fds()) fds_.push_back({fd, POLLIN, 0});
  }

  // Percent of a core that its helper processes took; they end with this.
  double EndHelpers() {
    return 100.0 * static_cast<double>(gatherers_.EndHelpers()) /
           static_cast<double>(NowNs() - made_ns_);
  }

  double Run(double seconds) {
    const int64_t step_ns = static_cast<int64_t>(1e9 / rate_hz_);
    const int64_t begin_ns = NowNs();
    const int64_t end_ns = begin_ns + static_cast<int64_t>(seconds * 1e9);
    const int64_t cpu_ns = ClockNs(CLOCK_PROCESS_CPUTIME_ID);
    int64_t next_ns = begin_ns, flush_ns = begin_ns;
    for (int64_t now_ns = NowNs(); now_ns < end_ns; now_ns = NowNs()) {
      if (now_ns < next_ns) {
        const timespec wait = {0, static_cast<long>(next_ns - now_ns)};
        ::ppoll(fds_.data(), fds_.size(), &wait, nullptr);
        now_ns = NowNs();
      }
      tree_.Poll(now_ns);
      if (now_ns < next_ns) continue;
      gatherers_.Poll(now_ns);
      next_ns = std::max(next_ns + step_ns, now_ns + 1);
      if (now_ns >= flush_ns) {
        out_.Flush();
        flush_ns = now_ns + 250 * kNsPerMs;
      }
      if (now_ns >= seal_ns_) {
        out_.Seal();
        seal_ns_ = now_ns + 10 * kNsPerSec;
      }
    }
    const int64_t used_ns = ClockNs(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
    return 100.0 * static_cast<double>(used_ns) /
           static_cast<double>(NowNs() - begin_ns);
  }

 private:
  const double rate_hz_;
  TraceWriter& out_;
  ProcessTree& tree_;
  Gatherers gatherers_;
  std::vector<pollfd> fds_;
  const int64_t made_ns_ = NowNs();
  int64_t seal_ns_ = made_ns_ + 10 * kNsPerSec;
};

// What the peer says, -1 if it cannot run.
double Peer(const std::string& script, pid_t root, double rate_hz,
            double seconds) {
  int ends[2];
  CHECK(::pipe2(ends, O_CLOEXEC) == 0);
  const pid_t pid = ::fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    const std::string words[] = {std::to_string(root), std::to_string(rate_hz),
                                 std::to_string(seconds)};
    ::execl("/usr/bin/python3", "python3", script.c_str(), words[0].c_str(),
            words[1].c_str(), words[2].c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  char text[64] = {};
  size_t n = 0;
  for (ssize_t got = 1; got > 0 && n < sizeof(text) - 1;
       n += static_cast<size_t>(std::max<ssize_t>(got, 0)))
    got = ::read(ends[0], text + n, sizeof(text) - 1 - n);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return n > 0 && status == 0 ? std::atof(text) : -1;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

bool RunCase(const Case& one, const std::string& peer, bool quick) {
  int gate[2];
  CHECK(::pipe2(gate, O_CLOEXEC) == 0);
  const pid_t root = StartRoot(one, gate[0]);
  std::string folder = "/tmp/sampler_bench_XXXXXX";
  CHECK(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/t.sonde";
  std::optional<SimulatedGpus> gpus;
  if (one.gpus) gpus.emplace(folder);
  auto created = TraceWriter::Create(path, {}, {});
  CHECK(created.ok());
  const auto out = created.Take();
  const auto tree = ProcessTree::Follow(root, *out, {});
  Recording recording(one, *out, *tree);
  CHECK(::write(gate[1], "x", 1) == 1);

  recording.Run(quick ? 0.3 : 1.5);  // children are born, files are opened
  const int rounds = quick ? 1 : 5;
  const double seconds = quick ? 0.4 : 2;
  std::vector<double> ours, peers;
  for (int i = 0; i < rounds; ++i) {
    ours.push_back(recording.Run(seconds));
    peers.push_back(Peer(peer, root, one.rate_hz, seconds));
  }
  const double helpers = recording.EndHelpers();
  ::kill(root, SIGKILL);  // its children die with it
  int status = 0;
  rusage usage = {};
  ::wait4(root, &status, 0, &usage);
  tree->RootEnded(NowNs(), status, usage);
  tree->Stop(NowNs());
  const bool closed = out->Close().ok();
  gpus.reset();
  ::unlink(path.c_str());
  ::rmdir(folder.c_str());
  ::close(gate[0]);
  ::close(gate[1]);

  const double value = Median(ours) + helpers;
  const double peak_mb = PeakMb();
  const bool ok = closed && value <= one.limit_pct &&
                  (!one.gpus || (peak_mb <= kMostMb && helpers > 0));
  std::printf(
      "{\"bar\":\"%s\",\"value\":%.3f,\"unit\":\"%%\",\"limit\":%g,"
      "\"ok\":%s,\"peers\":{",
      one.bar, value, one.limit_pct, ok ? "true" : "false");
  if (const double psutil = Median(peers); psutil >= 0)
    std::printf("\"psutil\":%.3f", psutil);
  std::printf("}");
  if (one.gpus)
    std::printf(",\"peak_mb\":%.1f,\"helpers_pct\":%.3f", peak_mb, helpers);
  std::printf("}\n");
  const double times = Median(peers) / value;
  if (one.gpus && times >= 0)
    std::printf(
        "{\"bar\":\"sampler_vs_psutil\",\"value\":%.1f,\"unit\":\"x\","
        "\"limit\":%g,\"ok\":%s,\"peers\":{}}\n",
        times, kTimesPsutil, times >= kTimesPsutil ? "true" : "false");
  std::fflush(stdout);
  return ok && (!one.gpus || times < 0 || times >= kTimesPsutil);
}

// The loader looks for libraries where it was told to when this program began.
void FindSimulatedLibraries(char** argv) {
  const char* const path = ::getenv("LD_LIBRARY_PATH");
  if (path != nullptr && std::string_view(path) == SONDE_SIM) return;
  ::setenv("LD_LIBRARY_PATH", SONDE_SIM, 1);
  ::execv("/proc/self/exe", argv);
}

int Main(int argc, char** argv) {
  FindSimulatedLibraries(argv);
  bool quick = false;
  std::string only;
  std::string peer = SONDE_PEER;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--only" && i + 1 < argc) {
      only = argv[++i];
    } else if (word == "--quick") {
      quick = true;
    } else if (word == "--peer" && i + 1 < argc) {
      peer = argv[++i];
    } else {
      std::fprintf(
          stderr,
          "usage: sampler_bench [--quick] [--only BAR] [--peer FILE]\n");
      return 2;
    }
  }
  bool ok = true;
  for (const Case& one : kCases)
    if (only.empty() || only == one.bar) ok &= RunCase(one, peer, quick);
  // A smoke run proves that it runs, not how fast.
  return ok || quick ? 0 : 1;
}

}  // namespace
}  // namespace sonde

int main(int argc, char** argv) { return sonde::Main(argc, argv); }

// How fast a trace becomes Chrome JSON, and what memory that takes.
// bars: export_chrome_msps export_chrome_mb
//
// The trace is that of training_trace.h. `sonde export` runs as a user runs it,
// a process of its own that writes a file; a run that only opens the trace
// stands beside it. The speed is of slices and instants (counter values come
// with them, uncounted), and is per second of CPU time, the kernel's part of
// writing the file included: one thread works, and the wall time of a shared
// machine tells about its other users. It is printed too. The peer `write_only`
// is dd writing as many bytes of nothing: what the kernel alone takes here and
// now.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "store/store.h"
#include "training_trace.h"

namespace sonde {
namespace {

struct Cost {
  double wall_s = 0;
  double cpu_s = 0;
  double rss_mb = 0;
};

// How many slices and instants there are; 0 if it failed.
uint64_t MakeTrace(const std::string& path, uint64_t events) {
  TraceWriter::Options options;
  options.replace = true;
  options.journal = false;
  auto writer = TraceWriter::Create(path, {}, options);
  if (!writer.ok()) return 0;
  TrainingTrace(events).WriteTo(*writer.value());
  if (!writer.value()->Close().ok()) return 0;
  const auto store = Store::Open(path);
  uint64_t count = 0;
  if (store.ok())
    for (const FrameRef& chunk : store.value()->event_chunks())
      count += chunk.events.count;
  return count;
}

Cost Run(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const int64_t begin = NowNs();
  const pid_t child = ::fork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_WRONLY);
    ::dup2(null, STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  rusage usage = {};
  if (child < 0 || ::wait4(child, &status, 0, &usage) != child || status != 0) {
    std::fprintf(stderr, "export_bench: %s failed\n", words[0].c_str());
    std::exit(1);
  }
  Cost cost;
  cost.wall_s = static_cast<double>(NowNs() - begin) / 1e9;
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  cost.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  cost.rss_mb = static_cast<double>(usage.ru_maxrss) / 1024;
  return cost;
}

// The memory of this process would count as that of the programs it starts, so
// the trace is made in another.
uint64_t MakeInChild(const std::string& path, uint64_t events) {
  int ends[2];
  if (::pipe(ends) != 0) return 0;
  const pid_t child = ::fork();
  if (child == 0) {
    const uint64_t count = MakeTrace(path, events);
    ::_exit(::write(ends[1], &count, sizeof(count)) == sizeof(count) ? 0 : 1);
  }
  uint64_t count = 0;
  ::close(ends[1]);
  if (::read(ends[0], &count, sizeof(count)) != sizeof(count)) count = 0;
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return count;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Main(int argc, char** argv) {
  uint64_t events = 10'000'000;
  std::set<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--quick")
      events = 200'000;
    else
      wanted.insert(argv[i]);
  }
  const auto wants = [&](const char* bar) {
    return wanted.empty() || wanted.contains(bar);
  };
  const char* build = std::getenv("SONDE_BUILD");
  const std::string sonde =
      build ? std::string(build) + "/src/sonde"
            : (std::filesystem::canonical("/proc/self/exe").parent_path() /
               "../../src/sonde")
                  .string();
  const char* base = std::getenv("SONDE_BENCH_DIR");
  std::string directory =
      std::string(base ? base
                       : std::filesystem::temp_directory_path().c_str()) +
      "/export_bench_XXXXXX";
  if (!::mkdtemp(directory.data())) return 1;
  const std::string trace = directory + "/t.sonde", out = directory + "/t.json";
  const uint64_t count = MakeInChild(trace, events);

  std::vector<double> wall, cpu, plain, open_mb, export_mb;
  for (int round = 0; round < 3; ++round) {
    const Cost open = Run({sonde, "export", trace, "--to", "csv", "--table",
                           "run", "-o", "/dev/null"});
    const Cost whole =
        Run({sonde, "export", trace, "--to", "chrome", "-o", out, "--force"});
    wall.push_back(static_cast<double>(count) / 1e6 / whole.wall_s);
    cpu.push_back(static_cast<double>(count) / 1e6 / whole.cpu_s);
    const auto size = std::filesystem::file_size(out);
    const Cost write =
        Run({"/bin/dd", "if=/dev/zero", "of=" + out + ".dd", "bs=1M",
             fmt::format("count={}", (size >> 20) + 1)});
    std::filesystem::remove(out + ".dd");
    plain.push_back(static_cast<double>(count) / 1e6 / write.cpu_s);
    open_mb.push_back(open.rss_mb);
    export_mb.push_back(whole.rss_mb);
  }
  const double bytes = static_cast<double>(std::filesystem::file_size(out)) /
                       static_cast<double>(count);
  std::filesystem::remove_all(directory);
  if (count == 0) return 1;
  if (wants("export_chrome_msps"))
    fmt::print(
        "{{\"bar\":\"export_chrome_msps\",\"value\":{:.3g},\"unit\":\"M "
        "slices/s\",\"limit\":4,\"ok\":{},\"peers\":{{\"write_only\":{:.3g}}},"
        "\"wall_msps\":{:.3g},\"bytes_per_slice\":{:.0f}}}\n",
        Median(cpu), Median(cpu) >= 4, Median(plain), Median(wall), bytes);
  const double above = Median(export_mb) - Median(open_mb);
  if (wants("export_chrome_mb"))
    fmt::print(
        "{{\"bar\":\"export_chrome_mb\",\"value\":{:.3g},\"unit\":\"MB\","
        "\"limit\":64,\"ok\":{},\"peers\":{{}},\"open_mb\":{:.3g}}}\n",
        above, above <= 64, Median(open_mb));
  return 0;
}

}  // namespace
}  // namespace sonde

int main(int argc, char** argv) { return sonde::Main(argc, argv); }

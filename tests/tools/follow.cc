// follow [--proc] [--all-args] [--rate HZ] [--print] [-o FILE] -- CMD ARGS...
//
// Runs a command and records it from outside, without anything that makes
// `sonde run` a good guest: a bench for the tree and the sampler alone. --print
// reads the trace back and shows it as lines of words for scripts.

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "collect/session/gatherers.h"
#include "collect/session/identity.h"
#include "collect/tree/process_tree.h"
#include "tools/trace_contents.h"

namespace sonde {
namespace {

struct Arguments {
  ProcessTree::Options tree;
  double rate_hz = 10;
  bool print = false;
  std::string path = "follow.sonde";
  char** command = nullptr;
};

bool Parse(char** argv, Arguments& out) {
  for (++argv; *argv != nullptr; ++argv) {
    const std::string word = *argv;
    if (word == "--") {
      out.command = argv + 1;
      return *out.command != nullptr;
    }
    if (word == "--proc") {
      out.tree.use_perf = false;
    } else if (word == "--all-args") {
      out.tree.all_args = true;
    } else if (word == "--print") {
      out.print = true;
    } else if (word == "--rate" && argv[1] != nullptr) {
      out.rate_hz = std::atof(*++argv);
    } else if (word == "-o" && argv[1] != nullptr) {
      out.path = *++argv;
    } else {
      return false;
    }
  }
  return false;
}

void Print(const std::string& path) {
  const auto reader = TraceReader::Open(path);
  CHECK(reader.ok());
  const TraceContents trace(reader.value());
  for (const auto& [key, value] : trace.meta)
    std::printf("meta %s %s\n", key.c_str(), Printable(value).c_str());
  for (const auto& [number, p] : trace.processes) {
    std::printf(
        "process %u parent %u pid %d exit %u code %d execs %u cpu_ns %" PRId64
        " dur_ns %" PRId64 " name %s cmdline %s images",
        number, p.parent, p.pid, static_cast<unsigned>(p.exit), p.exit_code,
        p.execs, p.cpu_ns, p.end_ns == kNoTime ? -1 : p.end_ns - p.start_ns,
        Printable(trace.strings.at(p.name)).c_str(),
        Printable(trace.strings.at(p.cmdline)).c_str());
    for (const Event& event : trace.Images(number))
      std::printf(" %s:%" PRId64 "%s",
                  Printable(trace.strings.at(event.name)).c_str(),
                  event.dur_ns / kNsPerUs,
                  (event.flags & Event::kUnfinished) != 0 ? "..." : "");
    std::printf("\n");
  }
  for (const auto& [number, t] : trace.threads)
    std::printf("thread %u process %u tid %d cpu_ns %" PRId64 " name %s\n",
                number, t.process, t.tid, t.cpu_ns,
                Printable(trace.strings.at(t.name)).c_str());
  for (const auto& [id, row] : trace.series) {
    const auto at = trace.points.find(id);
    if (at == trace.points.end()) continue;
    int64_t last = 0;
    for (const auto& point : at->second)
      if (!point.gone) last = point.value;
    std::printf(
        "series %s scope %u %u label %s group %u points %zu last %" PRId64
        "%s\n",
        trace.strings.at(row.name).c_str(), static_cast<unsigned>(row.scope),
        row.scope_id, Printable(trace.strings.at(row.label)).c_str(), row.group,
        at->second.size(), last, at->second.back().gone ? " gone" : "");
  }
  for (const auto& [ordinal, loss] : trace.losses)
    std::printf("loss %s %" PRIu64 " %s\n", loss.reason.c_str(), loss.count,
                loss.detail.c_str());
  for (const auto& [group, times] : trace.ticks)
    std::printf("ticks %u %zu\n", group, times.size());
}

int Main(char** argv) {
  Arguments arguments;
  if (!Parse(argv, arguments)) {
    std::fprintf(stderr,
                 "usage: follow [--proc] [--all-args] [--rate HZ] [--print] "
                 "[-o FILE] -- CMD\n");
    return 2;
  }
  int gate[2];
  CHECK(::pipe(gate) == 0);
  const pid_t root = ::fork();
  CHECK(root >= 0);
  if (root == 0) {
    char go;
    ::close(gate[1]);
    if (::read(gate[0], &go, 1) != 1) ::_exit(125);
    ::close(gate[0]);
    ::execvp(arguments.command[0], arguments.command);
    ::_exit(127);
  }
  ::close(gate[0]);

  auto created = TraceWriter::Create(arguments.path, {}, {.replace = true});
  CHECK(created.ok());
  const auto out = created.Take();
  WriteIdentity(*out, 0, OwnCgroup(), false);
  const auto tree = ProcessTree::Follow(root, *out, arguments.tree);
  Gatherers gatherers(*out, *tree, arguments.rate_hz);
  CHECK(::write(gate[1], "x", 1) == 1);
  ::close(gate[1]);

  const int64_t step_ns =
      static_cast<int64_t>(static_cast<double>(kNsPerSec) / arguments.rate_hz);
  int64_t next_ns = NowNs(), flush_ns = 0, seal_ns = NowNs() + 10 * kNsPerSec;
  std::vector<pollfd> fds;
  for (const int fd : tree->wake_fds()) fds.push_back({fd, POLLIN, 0});
  int status = 0;
  rusage usage = {};
  uint64_t wakes = 0;
  for (;;) {
    int64_t now_ns = NowNs();
    if (now_ns < next_ns) {
      // Wakes for the root's end at the next tick at the latest.
      const int64_t wait_ns =
          std::min<int64_t>(next_ns - now_ns, 10 * kNsPerMs);
      const timespec wait = {0, static_cast<long>(wait_ns)};
      if (::ppoll(fds.data(), fds.size(), &wait, nullptr) > 0) ++wakes;
      now_ns = NowNs();
    }
    const pid_t ended = ::wait4(root, &status, WNOHANG, &usage);
    tree->Poll(now_ns);
    if (ended == root) break;
    if (now_ns < next_ns) continue;
    gatherers.Poll(now_ns);
    next_ns = std::max(next_ns + step_ns, now_ns + step_ns / 4);
    if (now_ns >= flush_ns) {
      out->Flush();
      flush_ns = now_ns + 250 * kNsPerMs;
    }
    if (now_ns >= seal_ns) {
      out->Seal();
      seal_ns = now_ns + 10 * kNsPerSec;
    }
  }
  tree->RootEnded(NowNs(), status, usage);
  gatherers.Poll(NowNs());
  tree->Stop(NowNs());
  out->PutMeta("tree_source", tree->source());
  for (const auto& list : {tree->not_collected(), gatherers.not_collected()})
    for (const NotCollected& one : list)
      std::fprintf(stderr, "follow: no %s: %s; %s\n", one.source.c_str(),
                   one.why.c_str(), one.cure.c_str());
  CHECK(out->Close().ok());
  std::fprintf(
      stderr, "follow: wakes %" PRIu64 " cpu_ms %.1f children_ms %.1f\n", wakes,
      static_cast<double>(ClockNs(CLOCK_PROCESS_CPUTIME_ID)) / 1e6,
      static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
          static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) /
              1e3);
  if (arguments.print) Print(arguments.path);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace
}  // namespace sonde

int main(int, char** argv) { return sonde::Main(argv); }

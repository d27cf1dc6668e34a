// heap_too_small: does collecting garbage take most of the CPU time?
//
// Evidence: the names that language runtimes give their threads. Those that
// collect garbage had kMinShare of the CPU time of their process, which itself
// had kMinOfRun of the run's, and kMinCores of a core. A runtime that has room
// needs a few percent.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kMinShare = 0.40;
constexpr double kMinOfRun = 0.50;
constexpr double kMinCores = 0.20;

// How the names of such threads begin; the kernel keeps 15 characters.
constexpr std::string_view kJava[] = {
    "GC Thread#",  "GC task thread", "G1 ",           "ParGC Thread",
    "Gang worker", "Concurrent Mar", "Shenandoah GC", "ShenandoahGC",
    "ZWorker",     "XWorker",        "ZDriver",       "XDriver"};
constexpr std::string_view kDotnet[] = {".NET Server GC", ".NET BGC"};
// Collects itself where the serial collector is used; does little else.
constexpr std::string_view kSerial = "VM Thread";

struct Collecting {
  const ProcessFacts* process = nullptr;
  double gc_ns = 0;
  size_t threads = 0;
  const ThreadFacts* busiest = nullptr;
  bool dotnet = false;
};

template <size_t N>
bool BeginsWithOne(const std::string& name, const std::string_view (&all)[N]) {
  return std::any_of(std::begin(all), std::end(all), [&](std::string_view one) {
    return name.starts_with(one);
  });
}

Collecting CollectingOf(const ProcessFacts& process) {
  Collecting out;
  out.process = &process;
  for (const ThreadFacts& t : process.threads) {
    const bool dotnet = BeginsWithOne(t.name, kDotnet);
    if (!dotnet && t.name != kSerial && !BeginsWithOne(t.name, kJava)) continue;
    out.dotnet |= dotnet;
    if (out.busiest == nullptr) out.busiest = &t;  // most CPU first
    out.gc_ns += static_cast<double>(t.cpu_ns.value_or(0));
    if (t.cpu_ns.value_or(0) > 0) ++out.threads;
  }
  return out;
}

// A word of the command line that begins so; "" if there is none.
std::string WordOf(std::string_view cmdline, std::string_view begin) {
  for (size_t at = cmdline.find(begin); at != std::string_view::npos;
       at = cmdline.find(begin, at + 1))
    if (at == 0 || cmdline[at - 1] == ' ')
      return Printable(cmdline.substr(at, cmdline.find(' ', at) - at), 24);
  return "";
}

std::string AdviceOn(const Collecting& found, const std::string& limit) {
  if (found.dotnet)
    return "Give the heap more room (DOTNET_GCHeapHardLimit, or the memory "
           "limit of the container), and make less garbage: reuse buffers "
           "(ArrayPool), avoid boxing. `dotnet-counters monitor` shows how "
           "much "
           "is allocated.";
  return fmt::format(
      "Give the heap more room: {}; in a container "
      "-XX:MaxRAMPercentage=75. If the heap was full of what is no longer "
      "needed, find who keeps it (jmap -histo PID); if not, make less garbage: "
      "reuse buffers, avoid boxing. -Xlog:gc shows how full the heap is after "
      "each collection.",
      limit.empty() ? "java -Xmx4g (the default is a quarter of the memory)"
                    : fmt::format("a larger value than {}", limit));
}

}  // namespace

Outcome HeapTooSmall(const Case& about) {
  const Facts& facts = about.facts();
  Collecting most;
  for (const ProcessFacts& process : facts.processes) {
    const Collecting one = CollectingOf(process);
    if (one.gc_ns > most.gc_ns) most = one;
  }
  if (most.process == nullptr) return {};
  const ProcessFacts& process = *most.process;
  const double all = static_cast<double>(process.cpu_ns.value_or(0));
  const double wall =
      static_cast<double>(std::max<int64_t>(1, process.wall_ns));
  if (all <= 0 || most.gc_ns < kMinShare * all ||
      process.cpu_share.value_or(0) < kMinOfRun ||
      most.gc_ns < kMinCores * wall)
    return {};
  const Steady& steady = about.steady();

  const double share = std::min(1.0, most.gc_ns / all);
  Finding f = FindingIn(steady.from_ns, steady.to_ns);
  PutWhere(f, process);
  f.summary = fmt::format(
      "The heap is too small: {} of the CPU time of {} goes to collecting "
      "garbage.",
      FormatShare(share), CallProcess(process));
  Say(f,
      fmt::format("The {} that collect garbage used {:.2f} cores of the "
                  "{:.2f} that the process used.",
                  most.threads == 1 ? std::string("one thread")
                                    : fmt::format("{} threads", most.threads),
                  most.gc_ns / wall, all / wall));
  const double busiest_ns =
      static_cast<double>(most.busiest->cpu_ns.value_or(0));
  Say(f, fmt::format("The busiest of these threads, {}, had {} of the "
                     "process's CPU time.",
                     Printable(most.busiest->name, 16),
                     FormatShare(std::min(1.0, busiest_ns / all))));
  PutNumber(f, "collecting", share, Unit::kShare);
  PutNumber(f, "collecting_cores", most.gc_ns / wall, Unit::kCores);
  PutNumber(f, "own_cores", all / wall, Unit::kCores);
  PutNumber(f, "memory", process.rss_peak_bytes, Unit::kBytes);
  const std::string limit = WordOf(process.cmdline, "-Xmx");
  if (process.rss_peak_bytes)
    Say(f, fmt::format(
               "The process had {} of memory at most{}{}.",
               FormatBytes(*process.rss_peak_bytes),
               limit.empty() ? "" : fmt::format(", with {}", limit),
               facts.machine.mem_total_bytes
                   ? fmt::format("; the machine has {}",
                                 FormatBytes(*facts.machine.mem_total_bytes))
                   : ""));
  f.advice = AdviceOn(most, limit);
  if (share * process.cpu_share.value_or(0) >= kCriticalGain)
    f.severity = Severity::kCritical;
  f.confidence = 0.9;
  return {{std::move(f)}, ""};
}

}  // namespace sonde

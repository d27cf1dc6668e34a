#include "analyze/facts/steady.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analyze/facts/command_words.h"
#include "analyze/series/counter_scan.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kMaxTrim = 0.2;

// A command line of fewer characters says nothing beside a name.
constexpr size_t kMinShown = 8;

// The last part of a path.
std::string_view BaseOf(std::string_view word) {
  if (!word.empty() && word.back() != '/')
    word.remove_prefix(word.rfind('/') + 1);
  return word;
}

double Ns(const CpuWindow& window) {
  return static_cast<double>(Elapsed(window.from_ns, window.to_ns));
}

}  // namespace

double Steady::ShareWhere(
    const std::function<bool(const CpuWindow&)>& test) const {
  double ns = 0, all_ns = 0;
  for (const CpuWindow* w : windows) {
    all_ns += Ns(*w);
    if (test(*w)) ns += Ns(*w);
  }
  return all_ns > 0 ? ns / all_ns : 0;
}

double Steady::MeanWhere(
    const std::function<bool(const CpuWindow&)>& test,
    const std::function<double(const CpuWindow&)>& value) const {
  double sum = 0, ns = 0;
  for (const CpuWindow* w : windows) {
    if (!test(*w)) continue;
    sum += value(*w) * Ns(*w);
    ns += Ns(*w);
  }
  return ns > 0 ? sum / ns : 0;
}

Steady SteadyOf(const Facts& facts) {
  Steady out;
  if (facts.run.wall_ns < kMinWallNs) {
    out.not_enough_data = fmt::format("the run took {}, less than {}",
                                      FormatDuration(facts.run.wall_ns),
                                      FormatDuration(kMinWallNs));
    return out;
  }
  if (facts.ticks <= kMinTicks) {
    out.not_enough_data =
        facts.ticks == 0
            ? "no CPU times of processes were collected"
            : fmt::format("the processes were sampled only {} time{}",
                          facts.ticks, facts.ticks == 1 ? "" : "s");
    return out;
  }
  double known_ns = 0;
  RegularSeries cores;
  for (const CpuWindow& w : facts.windows) {
    if (!w.judged) continue;
    out.windows.push_back(&w);
    cores.values.push_back(w.tree_cores);
    cores.known.push_back(1);
    known_ns += Ns(w);
  }
  const double ticks = static_cast<double>(facts.ticks) * known_ns /
                       std::max(1.0, static_cast<double>(facts.run.sampled_ns));
  if (ticks < kMinTicks || known_ns < static_cast<double>(kMinWallNs)) {
    out.windows.clear();
    out.not_enough_data =
        fmt::format("samples cover only {} of the run",
                    FormatDuration(static_cast<int64_t>(known_ns)));
    return out;
  }
  const auto [from, to] = WorkingPart(cores, kMaxTrim, kMaxTrim);
  out.windows.resize(to);
  out.windows.erase(out.windows.begin(),
                    out.windows.begin() + static_cast<ptrdiff_t>(from));
  out.from_ns = out.windows.front()->from_ns;
  out.to_ns = out.windows.back()->to_ns;
  for (const CpuWindow* w : out.windows)
    out.known_ns += Elapsed(w->from_ns, w->to_ns);
  return out;
}

double GreatestWait(const Facts& facts) {
  double ns = 0;
  for (const ProcessFacts& p : facts.processes)
    for (const ThreadFacts& t : p.threads)
      ns = std::max(ns, static_cast<double>(t.judged_wait_ns.value_or(0)));
  return std::min(
      1.0, ns / std::max(1.0, static_cast<double>(facts.judged.wall_ns)));
}

bool HeldUpByOthers(const Facts& facts) {
  const double capacity = facts.run.capacity_cores.value_or(
      std::max<double>(1, facts.machine.cores));
  return GreatestWait(facts) >= kHeldUp &&
         facts.judged.other_cores.value_or(0) >= kSharedMachine * capacity;
}

MaybeNumber OwnBlocked(const Facts& facts) {
  const double whole_ns =
      std::max(1.0, static_cast<double>(facts.run.sampled_ns));
  // Whether two were blocked at the same time is not kept: by chance.
  MaybeNumber free;
  for (const ProcessFacts& p : facts.processes)
    if (p.blocked_ns)
      free = free.value_or(1) *
             (1 - std::min(1.0, static_cast<double>(*p.blocked_ns) / whole_ns));
  if (!free) return std::nullopt;
  return 1 - *free;
}

double WakeUps(const Facts& facts) {
  double sum = 0;
  for (const ProcessFacts& p : facts.processes)
    sum += p.voluntary_switches.value_or(0);
  return sum / (static_cast<double>(facts.run.wall_ns) / 1e9);
}

bool IsPython(const ProcessFacts& process) {
  return process.name.starts_with("python") || IsPython(process.cmdline);
}

std::string CallProcess(const ProcessFacts& process, size_t max_chars) {
  // Where program and script lie says less than what they are called.
  std::string shown;
  // A name that is none of the words was given by the program itself.
  bool own_name = !process.name.empty();
  for (std::string_view rest = process.cmdline; !rest.empty();) {
    std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    own_name &= !BaseOf(word).starts_with(process.name);
    const bool path = word.starts_with('/') || word.starts_with("./");
    if (path) word = BaseOf(word);
    shown += word;
    if (!rest.empty()) shown += ' ';
  }
  if (shown.empty() && process.name.empty())
    return fmt::format("process {}", process.row.number);
  if (shown.empty()) return Printable(process.name, max_chars);
  if (!own_name) return Printable(shown, max_chars);
  const std::string name = Printable(process.name, max_chars);
  const size_t brackets = 3;
  if (name.size() + brackets + kMinShown > max_chars) return name;
  return fmt::format("{} ({})", name,
                     Printable(shown, max_chars - name.size() - brackets));
}

std::string CallThread(const ProcessFacts& process, const ThreadFacts& thread) {
  const auto is_main = [&](const ThreadFacts& t) {
    return t.row.tid == process.row.pid;
  };
  const std::string of = CallProcess(process);
  if (is_main(thread)) return "the main thread of " + of;
  const auto main =
      std::find_if(process.threads.begin(), process.threads.end(), is_main);
  const bool own_name =
      !thread.name.empty() && thread.name != process.name &&
      (main == process.threads.end() || thread.name != main->name);
  return own_name
             ? fmt::format("thread {} of {}", Printable(thread.name, 24), of)
             : fmt::format("thread {} of {}", thread.row.tid, of);
}

}  // namespace sonde

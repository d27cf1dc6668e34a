#include "report/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shell_word.h"
#include "base/text.h"
#include "base/time.h"

namespace sonde {
namespace {

// What ended a recording before its command, behind "stopped".
std::string StoppedBy(const std::string& word) {
  if (word == "time") return " by its time limit";
  if (word == "stop file") return " by its stop file";
  if (word == "request") return " by request";
  if (word == "failure") return " because the trace could not be written";
  return "";
}

}  // namespace

std::string Duration(const MaybeNs& ns) {
  return ns ? FormatDuration(*ns) : "-";
}
std::string Bytes(const MaybeNumber& bytes) {
  return bytes ? FormatBytes(*bytes) : "-";
}
std::string Share(const MaybeNumber& share) {
  return share ? FormatShare(*share) : "-";
}
std::string Cores(const MaybeNumber& cores) {
  return cores ? fmt::format("{:.2f}", *cores) : "-";
}

std::string Plural(uint64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string Stretch(const RunFacts& run, int64_t from_ns, int64_t to_ns) {
  if (from_ns == kNoTime || to_ns == kNoTime) return "";
  return fmt::format(" [{:.1f} to {:.1f} s]",
                     static_cast<double>(Elapsed(run.begin_ns, from_ns)) / 1e9,
                     static_cast<double>(Elapsed(run.begin_ns, to_ns)) / 1e9);
}

std::string ExitOf(const Process& row) {
  switch (row.exit) {
    case Process::Exit::kExited:
      return fmt::format("{}", row.exit_code);
    case Process::Exit::kSignaled:
      return fmt::format("sig {}", row.exit_code);
    case Process::Exit::kRunning:
      return "runs";
    case Process::Exit::kUnknown:
      break;
  }
  return "-";
}

std::string ExitsOf(const ShortProcesses& s) {
  if (s.failed > 0)
    return fmt::format("{}{} bad", s.failed, s.exit_unknown > 0 ? "+" : "");
  return s.exit_unknown > 0 ? "-" : "";
}

std::map<std::string, std::string> NotJudged(const Judgement& judgement) {
  std::map<std::string, std::string> rules_of;
  for (const RuleState& state : judgement.rules) {
    if (state.state != RuleState::State::kNotEnoughData) continue;
    std::string& rules = rules_of[state.why];
    rules += (rules.empty() ? "" : ", ") + std::string(state.rule->name);
  }
  return rules_of;
}

std::string UnfinishedText(const Store& store) {
  if (store.reader().finished() || store.reader().cut()) return "";
  return "the end of the recording: it was cut off or still goes on. What "
         "follows is what was written so far. If sonde was killed: sonde "
         "recover " +
         ShellWord(store.path(), 4096);
}

std::string LossText(const Report& report, const Loss& loss) {
  return fmt::format("{}: {}{}{}", Printable(loss.reason, 40),
                     Printable(loss.detail),
                     loss.count > 0 ? fmt::format(": {}", loss.count) : "",
                     Stretch(report.facts.run, loss.from_ns, loss.to_ns));
}

std::string CommandText(const Report& report) {
  std::string command;
  for (const std::string& word : report.command) {
    command += command.empty() ? "" : " ";
    command += ShellWord(word);
  }
  return command;
}

std::string WatchedText(const Report& report) {
  return Printable(report.facts.store->Meta("watched"));
}

std::string CoresUsedText(const RunFacts& run) {
  std::string text = fmt::format("{:.2f} ", run.cores_used.value_or(0));
  if (run.capacity_cores) text += fmt::format("of {:g} ", *run.capacity_cores);
  text += "cores";
  if (run.cpu_wall_ns < run.wall_ns)
    text += fmt::format(" in the {} that were sampled",
                        FormatDuration(run.cpu_wall_ns));
  return text;
}

std::string RunText(const Report& report) {
  const RunFacts& run = report.facts.run;
  const Store& store = *report.facts.store;
  const std::string watched = WatchedText(report);
  std::string text = FormatDuration(run.wall_ns) + " wall";
  // Until when it ran, nobody has seen.
  if (report.facts.EndedInDelay() && store.Meta("ended_by").empty())
    text = fmt::format("known only into its delay of {}",
                       FormatDuration(*run.delay_ns));
  if (run.cpu_ns) {
    text += fmt::format(", {} CPU", FormatDuration(*run.cpu_ns));
    if (run.cores_used) text += fmt::format(" ({})", CoresUsedText(run));
  } else {
    text += ", CPU not collected";
  }
  if (run.max_rss_bytes)
    text += fmt::format(", at most {} in one process",
                        FormatBytes(*run.max_rss_bytes));
  const int64_t delay_ns = run.delay_ns && run.judged_from_ns
                               ? Elapsed(run.begin_ns, *run.judged_from_ns)
                               : 0;
  if (delay_ns > 0)
    text += fmt::format(", delay {}",
                        FormatDuration(std::min(delay_ns, *run.delay_ns)));
  if (run.paused_ns > delay_ns)
    text +=
        fmt::format(", paused {}", FormatDuration(run.paused_ns - delay_ns));
  if (const std::string why = store.Meta("steady_why"); !why.empty())
    text += fmt::format(
        ", judged {} ({})",
        run.steady_ns
            ? "from " + FormatDuration(Elapsed(run.begin_ns, *run.steady_ns)) +
                  " on"
            : "as a whole",
        Printable(why, 120));
  if (run.judged_from_ns && report.facts.judged.cores_used)
    text += fmt::format("{}: {:.2f} cores used",
                        run.steady_ns ? "" : ", after the delay",
                        *report.facts.judged.cores_used);
  if (const std::string exit = store.Meta("exit"); !exit.empty())
    text += ", " + Printable(exit, 20);
  // The command itself, or what it left behind.
  const auto root = store.processes().find(1);
  const bool stopped = watched.empty() && store.reader().finished() &&
                       root != store.processes().end() &&
                       root->second.exit == Process::Exit::kRunning;
  if (stopped)
    text += fmt::format(", recording stopped{} while the command went on",
                        StoppedBy(store.Meta("ended_by")));
  else if (const MaybeNs alive = MetaNs(store, "still_running");
           alive.value_or(0))
    text += fmt::format(
        ", {} still running",
        watched.empty()
            ? Plural(static_cast<uint64_t>(*alive), "descendant", "descendants")
            : Plural(static_cast<uint64_t>(*alive), "process", "processes"));
  if (const std::string host = store.Meta("host"); !host.empty())
    text += ", on " + Printable(host, 30);
  return text;
}

std::string MachineText(const Facts& facts, bool brief) {
  const MachineFacts& m = facts.machine;
  std::string text;
  const auto add = [&](const std::string& part) {
    text += text.empty() ? "" : ", ";
    text += part;
  };
  if (m.busy_cores) {
    add(fmt::format("{:.2f} of {} busy", *m.busy_cores,
                    Plural(m.cores, "core", "cores")));
    text += m.other_cores
                ? fmt::format(" (other programs {:.2f})", *m.other_cores)
                : " (other programs: not known)";
    const int64_t covered_ns = m.covered_ns.value_or(0);
    if (covered_ns < facts.run.wall_ns - facts.run.wall_ns / 5)
      text += fmt::format(" in the {} that were sampled",
                          FormatDuration(covered_ns));
    if (m.iowait_cores.value_or(0) >= 0.005)
      add(fmt::format("{:.2f} waited for I/O", *m.iowait_cores));
    if (m.steal_cores.value_or(0) >= 0.005)
      add(fmt::format("{:.2f} stolen", *m.steal_cores));
  }
  if (m.mem_peak_bytes)
    add(fmt::format("memory {} of {}", FormatBytes(*m.mem_peak_bytes),
                    FormatBytes(*m.mem_total_bytes)));
  if (m.swap_peak_bytes.value_or(0) > 0)
    add(fmt::format("swap {}", FormatBytes(*m.swap_peak_bytes)));
  if (!brief && m.disk_read_bytes)
    add(fmt::format("disks read {}, wrote {}", FormatBytes(*m.disk_read_bytes),
                    Bytes(m.disk_write_bytes)));
  if (!brief && m.net_rx_bytes)
    add(fmt::format("network in {}, out {}", FormatBytes(*m.net_rx_bytes),
                    Bytes(m.net_tx_bytes)));
  if (!brief && m.psi_cpu_some)
    add(fmt::format("pressure CPU {}, I/O {}, memory {}",
                    FormatShare(*m.psi_cpu_some), Share(m.psi_io_some),
                    Share(m.psi_memory_some)));
  if (text.empty()) return "not collected";
  return (m.busy_cores ? "" : "cores not sampled, ") + text;
}

std::string OverheadText(const Report& report) {
  const OverheadFacts& o = report.facts.overhead;
  // The share of a short run says nothing: most of it is start and end.
  const bool brief = report.facts.run.wall_ns < kNsPerSec;
  std::string cpu = "-";
  if (o.cpu_ns && (brief || !o.share_of_core))
    cpu = FormatDuration(*o.cpu_ns) + " of CPU";
  else if (o.share_of_core)
    cpu = fmt::format("{:.2f} % of one core", *o.share_of_core * 100);
  return fmt::format("cost {} and {} of memory; {} in {}", cpu,
                     Bytes(o.rss_bytes),
                     FormatBytes(static_cast<double>(o.trace_bytes)),
                     ShellWord(report.facts.store->path()));
}

}  // namespace sonde

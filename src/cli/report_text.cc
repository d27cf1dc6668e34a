#include "cli/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "analyze/scan.h"
#include "analyze/steady.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/lines.h"
#include "cli/report_annotations.h"
#include "cli/report_cgroups.h"
#include "cli/report_head.h"
#include "cli/report_shape.h"

namespace sonde {
namespace {

constexpr size_t kSummaryLines = 25;
constexpr size_t kThreadRows = 5;

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

// Moments are counted from the start of the run.
std::string Stretch(const RunFacts& run, int64_t from_ns, int64_t to_ns) {
  if (from_ns == kNoTime || to_ns == kNoTime) return "";
  return fmt::format(" [{:.1f} to {:.1f} s]",
                     static_cast<double>(Elapsed(run.begin_ns, from_ns)) / 1e9,
                     static_cast<double>(Elapsed(run.begin_ns, to_ns)) / 1e9);
}

// The exit of a process in a narrow column.
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

// Those of short processes together. Of some it is not known how they ended.
std::string ExitsOf(const ShortProcesses& s) {
  if (s.failed > 0)
    return fmt::format("{}{} bad", s.failed, s.exit_unknown > 0 ? "+" : "");
  return s.exit_unknown > 0 ? "-" : "";
}

Lines LossLines(const Report& report, size_t most) {
  Lines out;
  const Store& store = *report.facts.store;
  if (!store.reader().finished())
    Append(out, Wrap("Lost: ",
                     "the end of the recording: it was cut off or still goes "
                     "on. What follows is what was written so far. If sonde "
                     "was killed: sonde recover " +
                         ShellWord(store.path(), 4096)));
  size_t shown = 0;
  for (const Loss& loss : report.losses) {
    // One at least; what is damaged matters more than how many there are.
    if (shown > 0 && out.size() >= most) {
      out.push_back(fmt::format("Lost: and {} more (see --json)",
                                report.losses.size() - shown));
      break;
    }
    ++shown;
    Append(out, Wrap("Lost: ",
                     fmt::format(
                         "{}: {}{}{}", Printable(loss.reason, 40),
                         Printable(loss.detail),
                         loss.count > 0 ? fmt::format(": {}", loss.count) : "",
                         Stretch(report.facts.run, loss.from_ns, loss.to_ns))));
  }
  return out;
}

Lines FindingLines(const Report& report, const Finding& f, size_t evidence) {
  Lines out;
  out.push_back(fmt::format("{} ({}, {:.0f} % sure)", f.rule,
                            NameOf(f.severity), f.confidence * 100));
  for (size_t i = 0; i < f.evidence.size() && i < evidence; ++i)
    Append(out,
           Wrap("  - ", f.evidence[i].text + Stretch(report.facts.run,
                                                     f.evidence[i].from_ns,
                                                     f.evidence[i].to_ns)));
  Append(out, Wrap("  Do:   ", f.advice));
  if (f.gain)
    Append(out, Wrap("  Gain: ",
                     fmt::format("{} of the run's time {}",
                                 FormatShare(f.gain->share), f.gain->how)));
  return out;
}

// Rules that could not judge, those with the same reason together.
Lines NotJudgedLines(const Report& report) {
  std::map<std::string, std::string> rules_of;
  for (const RuleState& state : report.judgement.rules) {
    if (state.state != RuleState::State::kNotEnoughData) continue;
    std::string& rules = rules_of[state.why];
    rules += (rules.empty() ? "" : ", ") + std::string(state.rule->name);
  }
  Lines out;
  for (const auto& [why, rules] : rules_of)
    Append(out, Wrap("Not judged: ", rules + ": " + why));
  return out;
}

// What ended a recording before its command, behind "stopped".
std::string StoppedBy(const std::string& word) {
  if (word == "time") return " by its time limit";
  if (word == "stop file") return " by its stop file";
  if (word == "request") return " by request";
  if (word == "failure") return " because the trace could not be written";
  return "";
}

Lines RunLines(const Report& report) {
  const RunFacts& run = report.facts.run;
  const Store& store = *report.facts.store;
  std::string command;
  for (const std::string& word : report.command) {
    command += command.empty() ? "" : " ";
    command += ShellWord(word);
  }
  Lines out;
  if (!command.empty()) out.push_back(Cut("Command  " + command, kColumns));
  const std::string watched = Printable(store.Meta("watched"));
  if (!watched.empty()) out.push_back(Cut("Watched  " + watched, kColumns));
  std::string text = FormatDuration(run.wall_ns) + " wall";
  if (run.cpu_ns) {
    text += fmt::format(", {} CPU", FormatDuration(*run.cpu_ns));
    if (run.cores_used)
      text += run.capacity_cores
                  ? fmt::format(" ({:.2f} of {:g} cores)", *run.cores_used,
                                *run.capacity_cores)
                  : fmt::format(" ({:.2f} cores)", *run.cores_used);
  } else {
    text += ", CPU not collected";
  }
  if (run.max_rss_bytes)
    text += fmt::format(", at most {} in one process",
                        FormatBytes(*run.max_rss_bytes));
  if (run.paused_ns > 0)
    text += fmt::format(", paused {}", FormatDuration(run.paused_ns));
  if (const std::string why = store.Meta("steady_why"); !why.empty())
    text += fmt::format(
        ", judged {} ({})",
        run.steady_ns
            ? "from " + FormatDuration(Elapsed(run.begin_ns, *run.steady_ns)) +
                  " on"
            : "as a whole",
        Printable(why, 120));
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
  Append(out, Wrap("Run      ", text));
  return out;
}

// A row of the process table: one process, or short ones of one name.
struct ProcessRow {
  std::vector<std::string> cells;
  MaybeNs cpu_ns;
  MaybeNumber share;
  uint64_t processes = 1;
};

std::vector<ProcessRow> ProcessRows(const Facts& facts) {
  std::vector<ProcessRow> rows;
  for (const ProcessFacts& p : facts.processes) {
    rows.push_back(
        {{fmt::format("{} {}", p.row.number, CallProcess(p, 60)),
          Duration(p.cpu_ns), Share(p.cpu_share), Cores(p.cores_used),
          Bytes(p.rss_peak_bytes), Bytes(p.io.read_bytes),
          Bytes(p.io.write_bytes), ExitOf(p.row)},
         p.cpu_ns,
         p.cpu_share,
         1});
  }
  for (const ShortProcesses& s : facts.short_processes)
    rows.push_back(
        {{fmt::format("{} short: {}", s.count, Printable(s.name, 60)),
          Duration(s.cpu_ns), Share(s.cpu_share), Cores(s.cores_used), "-", "-",
          "-", ExitsOf(s)},
         s.cpu_ns,
         s.cpu_share,
         s.count});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ProcessRow& a, const ProcessRow& b) {
                     return a.cpu_ns.value_or(-1) > b.cpu_ns.value_or(-1);
                   });
  return rows;
}

Lines ProcessLines(const Facts& facts, size_t top) {
  static const std::vector<Column> kTable = {
      {"Process", 26}, {"CPU", 8},  {"share", 8},   {"cores", 7},
      {"max RSS", 8},  {"read", 8}, {"written", 8}, {"exit", 7}};
  const std::vector<ProcessRow> rows = ProcessRows(facts);
  Lines out;
  if (rows.empty()) return out;
  out.push_back(TitlesOf(kTable));
  // One row more costs no more than saying that there is one more.
  const size_t shown = rows.size() <= top + 1 ? rows.size() : top;
  for (size_t i = 0; i < shown; ++i)
    out.push_back(RowOf(kTable, rows[i].cells));
  if (shown < rows.size()) {
    MaybeNs cpu_ns;
    MaybeNumber share;
    uint64_t processes = 0;
    for (size_t i = shown; i < rows.size(); ++i) {
      processes += rows[i].processes;
      if (rows[i].cpu_ns) cpu_ns = cpu_ns.value_or(0) + *rows[i].cpu_ns;
      if (rows[i].share) share = share.value_or(0) + *rows[i].share;
    }
    out.push_back(RowOf(kTable, {fmt::format("and {} more", processes),
                                 Duration(cpu_ns), Share(share)}));
  }
  const RunFacts& run = facts.run;
  const int64_t rest = run.unattributed_cpu_ns.value_or(0);
  if (rest > 0 && run.cpu_ns.value_or(0) > 0)
    out.push_back(
        RowOf(kTable, {"unattributed", FormatDuration(rest),
                       FormatShare(static_cast<double>(rest) /
                                   static_cast<double>(*run.cpu_ns))}));
  if (run.cpu_ns && (rows.size() > 1 || rest > 0))
    out.push_back(RowOf(kTable, {"all", FormatDuration(*run.cpu_ns),
                                 FormatShare(1), Cores(run.cores_used)}));
  return out;
}

// Of the process that used most, if it has more than one.
Lines ThreadLines(const Facts& facts) {
  Lines out;
  if (facts.processes.empty() || facts.processes.front().threads.size() < 2)
    return out;
  const ProcessFacts& p = facts.processes.front();
  static const std::vector<Column> kTable = {
      {"", 26}, {"CPU", 8}, {"share", 8}, {"cores", 7}, {"waited", 9}};
  std::vector<Column> titled = kTable;
  const std::string title = fmt::format("Thread of {}", p.row.number);
  titled[0].title = title.c_str();
  out.push_back(TitlesOf(titled));
  const size_t shown =
      p.threads.size() <= kThreadRows + 1 ? p.threads.size() : kThreadRows;
  for (size_t i = 0; i < shown; ++i) {
    const ThreadFacts& t = p.threads[i];
    out.push_back(
        RowOf(kTable, {fmt::format("{} {}", t.row.tid, Printable(t.name, 40)),
                       Duration(t.cpu_ns), Share(t.cpu_share),
                       Cores(t.cores_used), Duration(t.wait_ns)}));
  }
  if (shown < p.threads.size()) {
    MaybeNs cpu_ns;
    MaybeNumber share;
    for (size_t i = shown; i < p.threads.size(); ++i) {
      if (p.threads[i].cpu_ns)
        cpu_ns = cpu_ns.value_or(0) + *p.threads[i].cpu_ns;
      if (p.threads[i].cpu_share)
        share = share.value_or(0) + *p.threads[i].cpu_share;
    }
    out.push_back(
        RowOf(kTable, {fmt::format("and {} more", p.threads.size() - shown),
                       Duration(cpu_ns), Share(share)}));
  }
  return out;
}

Lines MachineLines(const Facts& facts, bool brief) {
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
  if (text.empty()) return Wrap("Machine  ", "not collected");
  return Wrap("Machine  ", (m.busy_cores ? "" : "cores not sampled, ") + text);
}

Lines MissingLines(const Report& report) {
  Lines out;
  for (const MissingSource& m : report.not_collected)
    Append(out,
           Wrap("Not collected: ",
                fmt::format(
                    "{}: {}{}", Printable(m.source, 40), Printable(m.why),
                    m.cure.empty() ? ""
                                   : fmt::format(" ({})", Printable(m.cure)))));
  return out;
}

Lines OverheadLines(const Report& report) {
  const OverheadFacts& o = report.facts.overhead;
  // The share of a short run says nothing: most of it is start and end.
  const bool brief = report.facts.run.wall_ns < kNsPerSec;
  std::string cpu = "-";
  if (o.cpu_ns && (brief || !o.share_of_core))
    cpu = FormatDuration(*o.cpu_ns) + " of CPU";
  else if (o.share_of_core)
    cpu = fmt::format("{:.2f} % of one core", *o.share_of_core * 100);
  return Wrap(
      "Sonde    ",
      fmt::format("cost {} and {} of memory; {} in {}", cpu, Bytes(o.rss_bytes),
                  FormatBytes(static_cast<double>(o.trace_bytes)),
                  ShellWord(report.facts.store->path())));
}

std::string Joined(const std::vector<Lines>& parts, bool blank_between) {
  std::string out;
  for (const Lines& part : parts) {
    if (part.empty()) continue;
    if (blank_between && !out.empty()) out += '\n';
    for (const std::string& line : part) out += line + '\n';
  }
  return out;
}

}  // namespace

std::string ReportText(const Report& report, const TextOptions& options) {
  const Facts& facts = report.facts;
  std::vector<Lines> parts = {HeadLines(report), LossLines(report, SIZE_MAX)};
  Lines verdict = Wrap("", report.judgement.verdict);
  if (options.bold)
    for (std::string& line : verdict)
      line = fmt::format("\x1b[1m{}\x1b[0m", line);
  if (report.judgement.findings.empty())
    Append(verdict, Wrap("  Do:   ", report.judgement.advice));
  parts.push_back(std::move(verdict));
  for (const Finding& finding : report.judgement.findings)
    parts.push_back(FindingLines(report, finding, SIZE_MAX));
  parts.push_back(NotJudgedLines(report));
  parts.push_back(options.curves);
  Lines run = RunLines(report);
  Append(run, CgroupLines(facts, false));
  Append(run, MachineLines(facts, false));
  Append(run, ShapeLines(report.shape));
  Append(run, OverheadLines(report));
  parts.push_back(std::move(run));
  Lines processes = ProcessLines(facts, options.top);
  if (!processes.empty())
    Append(processes,
           Wrap("",
                "cores: used on average while it lived (all: over the run); "
                "max RSS: as sampled"));
  parts.push_back(std::move(processes));
  parts.push_back(ThreadLines(facts));
  parts.push_back(SliceLines(facts, options.top));
  parts.push_back(SliceTrackLines(facts, options.top));
  parts.push_back(CounterLines(facts, options.top));
  parts.push_back(MarkLines(facts, options.top));
  parts.push_back(MissingLines(report));
  parts.push_back(Wrap("Next: ", fmt::format("sonde export {} --to chrome",
                                             ShellWord(facts.store->path()))));
  return Joined(parts, true);
}

std::string SummaryText(const Report& report) {
  const Facts& facts = report.facts;
  std::vector<Lines> parts = {HeadLines(report), LossLines(report, 2),
                              Wrap("", report.judgement.verdict)};
  parts.push_back(report.judgement.findings.empty()
                      ? Wrap("  Do:   ", report.judgement.advice)
                      : FindingLines(report, report.judgement.findings[0], 2));
  parts.push_back(RunLines(report));
  parts.push_back(CgroupLines(facts, true));
  parts.push_back(MachineLines(facts, true));
  parts.push_back(SliceSummary(facts));
  parts.push_back(OverheadLines(report));
  const size_t table = parts.size();
  parts.push_back(ProcessLines(facts, 3));
  Lines next;
  if (const size_t missing = report.not_collected.size(); missing > 0)
    next = Wrap("Not collected: ",
                Plural(missing, "source", "sources") + " (`sonde doctor`)");
  Append(next,
         Wrap("Next: ", "sonde report " + ShellWord(facts.store->path())));
  parts.push_back(std::move(next));
  // A promise is kept also for the longest names: tables go first.
  const auto count = [&] {
    size_t lines = 0;
    for (const Lines& part : parts) lines += part.size();
    return lines;
  };
  if (count() > kSummaryLines) parts[table].clear();
  while (count() > kSummaryLines) {
    Lines& longest = *std::max_element(
        parts.begin(), parts.end(),
        [](const Lines& a, const Lines& b) { return a.size() < b.size(); });
    longest.pop_back();
  }
  return Joined(parts, false);
}

}  // namespace sonde

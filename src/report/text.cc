#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/facts/steady.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "report/annotations.h"
#include "report/cgroups.h"
#include "report/devices.h"
#include "report/functions.h"
#include "report/head.h"
#include "report/lines.h"
#include "report/shape.h"
#include "report/words.h"

namespace sonde {
namespace {

constexpr size_t kSummaryLines = 25;
constexpr size_t kThreadRows = 5;
constexpr size_t kProcessColumns = 26;

Lines LossLines(const Report& report, size_t most) {
  Lines out;
  const Store& store = *report.facts.store;
  if (const std::string end = UnfinishedText(store); !end.empty())
    Append(out, Wrap("Lost: ", end));
  size_t shown = 0;
  for (const Loss& loss : report.losses) {
    // One at least; what is damaged matters more than how many there are.
    if (shown > 0 && out.size() >= most) {
      out.push_back(fmt::format("Lost: and {} more (see --json)",
                                report.losses.size() - shown));
      break;
    }
    ++shown;
    Append(out, Wrap("Lost: ", LossText(report, loss)));
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
  if (f.gain) Append(out, Wrap("  Gain: ", PhraseGain(*f.gain)));
  return out;
}

// The findings behind the first one, each in at most that many lines.
Lines MoreLines(const Report& report, size_t lines_of_each) {
  const std::vector<Finding>& findings = report.judgement.findings;
  if (findings.size() < 2) return {};
  const size_t more = findings.size() - 1;
  Lines out = {fmt::format("{} more finding{}:", more, more == 1 ? "" : "s")};
  for (size_t i = 1; i < findings.size(); ++i) {
    const std::string text =
        fmt::format("{}: {}", findings[i].rule, findings[i].summary);
    Lines lines = Wrap("  - ", text);
    if (lines.size() > lines_of_each) lines = {Cut("  - " + text, kColumns)};
    Append(out, std::move(lines));
  }
  return out;
}

Lines NotJudgedLines(const Report& report) {
  if (report.facts.EndedInDelay()) return {};  // the verdict says it
  Lines out;
  for (const auto& [why, rules] : NotJudged(report.judgement))
    Append(out, Wrap("Not judged: ", rules + ": " + why));
  return out;
}

// The same for a summary whose verdict rests on what the other rules say. Of a
// run that none could judge the verdict says why.
Lines NotJudgedSummary(const Report& report) {
  if (!report.judgement.findings.empty() ||
      !SteadyOf(report.facts).not_enough_data.empty())
    return {};
  std::string all;
  for (const auto& [why, rules] : NotJudged(report.judgement))
    all += (all.empty() ? "" : ", ") + rules;
  if (all.empty()) return {};
  return Wrap("Not judged: ", all + "; `sonde report` says why");
}

Lines RunLines(const Report& report) {
  const std::string command = CommandText(report);
  const std::string watched = WatchedText(report);
  Lines out;
  if (!command.empty()) out.push_back(Cut("Command  " + command, kColumns));
  if (!watched.empty()) out.push_back(Cut("Watched  " + watched, kColumns));
  Append(out, Wrap("Run      ", RunText(report)));
  return out;
}

Lines MachineLines(const Facts& facts, bool brief) {
  return Wrap("Machine  ", MachineText(facts, brief));
}

Lines OverheadLines(const Report& report) {
  return Wrap("Sonde    ", OverheadText(report));
}

// A row of a table of CPU time: a process, short ones of one name, a thread.
struct CpuRow {
  std::vector<std::string> cells;
  MaybeNs cpu_ns;
  MaybeNumber share;
  uint64_t count = 1;
};

// About `top` rows, and one of all others together.
void PutRows(const std::vector<Column>& table, const std::vector<CpuRow>& rows,
             size_t top, Lines& out) {
  const size_t shown = RowsShown(rows.size(), top);
  for (size_t i = 0; i < shown; ++i) out.push_back(RowOf(table, rows[i].cells));
  if (shown == rows.size()) return;
  CpuRow rest{{}, {}, {}, 0};
  for (size_t i = shown; i < rows.size(); ++i) {
    rest.count += rows[i].count;
    if (rows[i].cpu_ns) rest.cpu_ns = rest.cpu_ns.value_or(0) + *rows[i].cpu_ns;
    if (rows[i].share) rest.share = rest.share.value_or(0) + *rows[i].share;
  }
  out.push_back(RowOf(table, {fmt::format("and {} more", rest.count),
                              Duration(rest.cpu_ns), Share(rest.share)}));
}

// Where a row begins with a number it is that of a process, so these do not;
// how many there are is told whatever their name is.
std::string CallShort(const ShortProcesses& s) {
  const std::string many = fmt::format(" ({} short)", s.count);
  return Cut(Printable(s.name, 60), kProcessColumns - many.size()) + many;
}

std::vector<CpuRow> ProcessRows(const Facts& facts) {
  std::vector<CpuRow> rows;
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
    rows.push_back({{CallShort(s), Duration(s.cpu_ns), Share(s.cpu_share),
                     Cores(s.cores_used), "-", "-", "-", ExitsOf(s)},
                    s.cpu_ns,
                    s.cpu_share,
                    s.count});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const CpuRow& a, const CpuRow& b) {
                     return a.cpu_ns.value_or(-1) > b.cpu_ns.value_or(-1);
                   });
  return rows;
}

Lines ProcessLines(const Facts& facts, size_t top) {
  static const std::vector<Column> kTable = {{"Process", kProcessColumns},
                                             {"CPU", 8},
                                             {"share", 8},
                                             {"cores", 7},
                                             {"max RSS", 8},
                                             {"read", 8},
                                             {"written", 8},
                                             {"exit", 7}};
  const std::vector<CpuRow> rows = ProcessRows(facts);
  Lines out;
  if (rows.empty()) return out;
  out.push_back(TitlesOf(kTable));
  PutRows(kTable, rows, top, out);
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
  const std::string title = fmt::format("Thread of {}", p.row.number);
  const std::vector<Column> table = {{title.c_str(), 26},
                                     {"CPU", 8},
                                     {"share", 8},
                                     {"cores", 7},
                                     {"waited for a core", 19}};
  std::vector<CpuRow> rows;
  for (const ThreadFacts& t : p.threads)
    rows.push_back({{fmt::format("{} {}", t.row.tid, Printable(t.name, 40)),
                     Duration(t.cpu_ns), Share(t.cpu_share),
                     Cores(t.cores_used), Duration(t.wait_ns)},
                    t.cpu_ns,
                    t.cpu_share,
                    1});
  out.push_back(TitlesOf(table));
  PutRows(table, rows, kThreadRows, out);
  return out;
}

Lines MissingLines(const Report& report) {
  Lines out;
  for (const NotCollected& m : report.not_collected)
    Append(out,
           Wrap("Not collected: ",
                fmt::format(
                    "{}: {}{}", Printable(m.source, 40), Printable(m.why),
                    m.cure.empty() ? ""
                                   : fmt::format(" ({})", Printable(m.cure)))));
  return out;
}

// The same for a summary: some of them in full, more by their names.
Lines MissingSummary(const Report& report) {
  constexpr size_t kInFull = 2;
  if (report.not_collected.size() <= kInFull) return MissingLines(report);
  std::string names;
  for (const NotCollected& m : report.not_collected)
    names += (names.empty() ? "" : ", ") + Printable(m.source, 40);
  return Wrap("Not collected: ", names + "; `sonde report` says why");
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
  parts.push_back(FunctionLines(facts, options.top));
  parts.push_back(WaitLines(facts, options.top));
  parts.push_back(DeviceLines(facts));
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
  parts.push_back(NotJudgedSummary(report));
  const size_t more = parts.size();
  parts.push_back(MoreLines(report, SIZE_MAX));
  parts.push_back(RunLines(report));
  parts.push_back(CgroupLines(facts, true));
  parts.push_back(MachineLines(facts, true));
  parts.push_back(SliceSummary(facts));
  parts.push_back(OverheadLines(report));
  const size_t table = parts.size();
  parts.push_back(ProcessLines(facts, 3));
  Lines next = MissingSummary(report);
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
  if (count() > kSummaryLines) parts[more] = MoreLines(report, 1);
  while (count() > kSummaryLines) {
    Lines& longest = *std::max_element(
        parts.begin(), parts.end(),
        [](const Lines& a, const Lines& b) { return a.size() < b.size(); });
    longest.pop_back();
  }
  return Joined(parts, false);
}

}  // namespace sonde

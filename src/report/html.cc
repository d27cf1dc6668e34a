#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "analyze/facts/steady.h"
#include "base/text.h"
#include "base/version.h"
#include "export/chart/markup.h"
#include "export/chart/svg.h"
#include "report/cgroups.h"
#include "report/flame.h"
#include "report/functions.h"
#include "report/head.h"
#include "report/page.h"
#include "report/sources.h"
#include "report/words.h"

namespace sonde {
namespace {

constexpr size_t kMaxRows = 500;    // of a table
constexpr size_t kMaxLosses = 100;  // listed one by one
constexpr size_t kMaxShort = 20;    // names of short processes
constexpr size_t kNameChars = 300;

// A cell: what is shown, and the number it is sorted by if it is one.
struct Cell {
  std::string text;
  MaybeNumber number = {};
};

Cell OfDuration(const MaybeNs& ns) {
  return {Duration(ns), ns ? MaybeNumber(static_cast<double>(*ns)) : -1};
}
Cell OfBytes(const MaybeNumber& bytes) {
  return {Bytes(bytes), bytes.value_or(-1)};
}
Cell OfShare(const MaybeNumber& share) {
  return {Share(share), share.value_or(-1)};
}
Cell OfCores(const MaybeNumber& cores) {
  return {Cores(cores), cores.value_or(-1)};
}
Cell OfCount(const MaybeNumber& count) {
  return {count ? fmt::format("{:.6g}", *count) : "-", count.value_or(-1)};
}

class Page {
 public:
  Page(const Report& report, const Charts& charts)
      : report_(report), facts_(report.facts), charts_(charts) {}

  std::string Write() {
    const std::string command = CommandText(report_);
    out_ = PageHead("sonde: " + (command.empty() ? facts_.store->path()
                                                 : Printable(command, 80)));
    out_ += "<main>\n";
    for (const std::string& line : HeadLines(report_))
      Put("<p class=\"card lost\">{}</p>\n", Escaped(line));
    Losses();
    Verdict(command);
    Tiles();
    Pictures();
    Code();
    Patterns();
    Devices();
    Processes();
    Threads();
    Slices();
    Counters();
    Marks();
    NotCollected();
    out_ += "</main>\n";
    Put("<footer>sonde {}: {}</footer>\n", kSondeVersion,
        Escaped(OverheadText(report_)));
    return out_ + PageScript() + "</body>\n</html>\n";
  }

 private:
  template <typename... T>
  void Put(fmt::format_string<T...> format, T&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(args)...);
  }

  void Losses() {
    const std::string end = UnfinishedText(*facts_.store);
    if (end.empty() && report_.losses.empty()) return;
    out_ += "<section class=\"card lost\"><h2>Lost</h2>\n<ul>\n";
    if (!end.empty()) Put("<li>{}</li>\n", Escaped(end));
    const size_t shown = std::min(kMaxLosses, report_.losses.size());
    for (size_t i = 0; i < shown; ++i)
      Put("<li>{}</li>\n", Escaped(LossText(report_, report_.losses[i])));
    if (shown < report_.losses.size())
      Put("<li>and {} more</li>\n", report_.losses.size() - shown);
    out_ += "</ul></section>\n";
  }

  void Verdict(const std::string& command) {
    const Judgement& judgement = report_.judgement;
    Put("<section class=\"card verdict {}\">\n<h1>{}</h1>\n",
        judgement.findings.empty() ? ""
                                   : NameOf(judgement.findings[0].severity),
        Escaped(judgement.verdict));
    if (judgement.findings.empty())
      Put("<p><strong>Do:</strong> {}</p>\n", Escaped(judgement.advice));
    if (!command.empty())
      Put("<p class=\"command soft\">{}</p>\n", Escaped(command));
    if (const std::string watched = WatchedText(report_); !watched.empty())
      Put("<p class=\"soft\">Watched: {}</p>\n", Escaped(watched));
    Put("<p class=\"soft\">{}</p>\n</section>\n", Escaped(RunText(report_)));
    for (const Finding& finding : judgement.findings) OneFinding(finding);
    for (const auto& [why, rules] : NotJudged(judgement))
      Put("<p class=\"soft\">Not judged: {}: {}</p>\n", Escaped(rules),
          Escaped(why));
  }

  void OneFinding(const Finding& finding) {
    Put("<article class=\"card\"><h3>{0} <span class=\"badge {1}\">{1}</span> "
        "<span class=\"soft\">{2:.0f} % sure</span></h3>\n",
        Escaped(finding.rule), NameOf(finding.severity),
        finding.confidence * 100);
    if (finding.summary != report_.judgement.verdict)
      Put("<p>{}</p>\n", Escaped(finding.summary));
    out_ += "<ul>\n";
    for (const Evidence& e : finding.evidence)
      Put("<li>{}<span class=\"soft\">{}</span></li>\n", Escaped(e.text),
          Escaped(Stretch(facts_.run, e.from_ns, e.to_ns)));
    Put("</ul>\n<p><strong>Do:</strong> {}</p>\n", Escaped(finding.advice));
    if (finding.gain)
      Put("<p><strong>Gain:</strong> {}</p>\n",
          Escaped(PhraseGain(*finding.gain)));
    out_ += "</article>\n";
  }

  void Tile(const char* name, const std::string& value) {
    Put("<div><dt>{}</dt><dd>{}</dd></div>\n", name, Escaped(value));
  }

  void Tiles() {
    const RunFacts& run = facts_.run;
    out_ += "<h2>The run</h2>\n<dl class=\"tiles\">\n";
    Tile("Time", FormatDuration(run.wall_ns));
    Tile("CPU time",
         run.cpu_ns ? FormatDuration(*run.cpu_ns) : "not collected");
    if (run.cores_used) Tile("Cores used", CoresUsedText(run));
    Tile("Memory, largest process",
         run.max_rss_bytes ? FormatBytes(*run.max_rss_bytes) : "not collected");
    Tile("Processes", fmt::format("{}", facts_.store->processes().size()));
    out_ += "</dl>\n";
    std::string cgroups;
    for (const std::string& line : CgroupLines(facts_, false))
      cgroups += line + " ";
    if (!cgroups.empty()) Put("<p class=\"soft\">{}</p>\n", Escaped(cgroups));
    Put("<p class=\"soft\">Machine: {}</p>\n",
        Escaped(MachineText(facts_, false)));
  }

  void Pictures() {
    if (charts_.groups.empty()) return;
    out_ += "<h2>Over time</h2>\n";
    for (const ChartGroup& group : charts_.groups) {
      const bool folded = group.name == "cores" || group.name == "program" ||
                          group.name == "machine";
      if (folded) Put("<details><summary>{}</summary>\n", Escaped(group.title));
      out_ += SvgOf(group, charts_, /*standalone=*/false);
      if (folded) out_ += "</details>\n";
    }
  }

  // Where in the code the time went, if that was sampled.
  void Code() {
    const auto sums = RunningStacks(*facts_.store);
    if (!sums.ok()) return;
    out_ += FlameSection(*facts_.store, sums.value());
    out_ += SourceSection(*facts_.store, sums.value());
    const std::vector<FunctionFacts>& functions = facts_.code.functions;
    Table(
        "Functions", {"Function", "of process", "self", "total", "samples"},
        functions.size(),
        [&](size_t i) -> std::vector<Cell> {
          const FunctionFacts& f = functions[i];
          return {{CallFunction(f)},
                  OfCount(f.process),
                  OfShare(CpuShare(facts_, f.self_ns)),
                  OfShare(CpuShare(facts_, f.total_ns)),
                  OfCount(static_cast<double>(f.samples))};
        },
        "self, total: of the run's CPU time.");
  }

  // Rows are made one by one: `row` of each index below `count`.
  void Table(const char* title, const std::vector<const char*>& columns,
             size_t count, const std::function<std::vector<Cell>(size_t)>& row,
             const std::string& note = "") {
    if (count == 0) return;
    Put("<h2>{}</h2>\n<div class=\"table\"><table>\n<thead><tr>", title);
    for (const char* column : columns)
      Put("<th scope=\"col\"><button type=\"button\">{}</button></th>", column);
    out_ += "</tr></thead>\n<tbody>\n";
    for (size_t i = 0; i < std::min(count, kMaxRows); ++i) {
      out_ += "<tr>";
      for (const Cell& cell : row(i)) {
        if (cell.number)
          Put("<td data-v=\"{}\">{}</td>", *cell.number, Escaped(cell.text));
        else
          Put("<td>{}</td>", Escaped(cell.text));
      }
      out_ += "</tr>\n";
    }
    out_ += "</tbody></table></div>\n";
    if (count > kMaxRows)
      Put("<p class=\"soft\">and {} more (sonde query)</p>\n",
          count - kMaxRows);
    if (!note.empty()) Put("<p class=\"soft\">{}</p>\n", Escaped(note));
  }

  void Patterns() {
    std::vector<const SeriesShape*> known;
    for (const SeriesShape& one : report_.shape.series)
      if (one.pattern.kind != PatternKind::kUnknown &&
          one.pattern.kind != PatternKind::kIdle)
        known.push_back(&one);
    const std::string phases = PhrasePhases(report_.shape.phases);
    Table(
        "What it looks like over time", {"Series and its pattern", "sure"},
        known.size(),
        [&](size_t i) -> std::vector<Cell> {
          const Pattern& p = known[i]->pattern;
          return {{known[i]->series->name + ": " + p.text},
                  OfShare(p.confidence)};
        },
        phases.empty() ? "" : "Phases: " + phases);
  }

  void Devices() {
    Table("Accelerators",
          {"Device", "busy", "p5", "p95", "max memory", "of", "throttled"},
          facts_.devices.size(), [&](size_t i) -> std::vector<Cell> {
            const DeviceFacts& d = facts_.devices[i];
            return {
                {fmt::format("{} {}", d.index, Printable(d.name, kNameChars))},
                OfShare(d.busy_mean),
                OfShare(d.busy_p5),
                OfShare(d.busy_p95),
                OfBytes(d.memory_peak_bytes),
                OfBytes(d.memory_total_bytes),
                OfShare(d.throttled_share)};
          });
  }

  void Processes() {
    const RunFacts& run = facts_.run;
    std::string note =
        "cores: used on average while it lived; max RSS: as sampled.";
    const size_t named = std::min(kMaxShort, facts_.short_processes.size());
    for (size_t i = 0; i < named; ++i) {
      const ShortProcesses& s = facts_.short_processes[i];
      note += fmt::format(" {} short: {} ({} CPU).", s.count,
                          Printable(s.name, 60), Duration(s.cpu_ns));
    }
    if (named < facts_.short_processes.size())
      note += fmt::format(" And {} more names of short ones.",
                          facts_.short_processes.size() - named);
    if (run.unattributed_cpu_ns.value_or(0) > 0)
      note += fmt::format(" Unattributed: {} CPU.",
                          FormatDuration(*run.unattributed_cpu_ns));
    Table(
        "Processes",
        {"Process", "CPU", "share", "cores", "max RSS", "read", "written",
         "exit"},
        facts_.processes.size(),
        [&](size_t i) -> std::vector<Cell> {
          const ProcessFacts& p = facts_.processes[i];
          return {
              {fmt::format("{} {}", p.row.number, CallProcess(p, kNameChars))},
              OfDuration(p.cpu_ns),
              OfShare(p.cpu_share),
              OfCores(p.cores_used),
              OfBytes(p.rss_peak_bytes),
              OfBytes(p.io.read_bytes),
              OfBytes(p.io.write_bytes),
              {ExitOf(p.row)}};
        },
        note);
  }

  void Threads() {
    std::vector<std::pair<const ProcessFacts*, const ThreadFacts*>> threads;
    for (const ProcessFacts& p : facts_.processes)
      for (const ThreadFacts& t : p.threads) threads.emplace_back(&p, &t);
    std::stable_sort(
        threads.begin(), threads.end(), [](const auto& a, const auto& b) {
          return a.second->cpu_ns.value_or(-1) > b.second->cpu_ns.value_or(-1);
        });
    Table(
        "Threads",
        {"Thread", "of process", "CPU", "share", "cores", "waited for a core"},
        threads.size(), [&](size_t i) -> std::vector<Cell> {
          const auto& [p, t] = threads[i];
          return {{fmt::format("{} {}", t->row.tid,
                               Printable(t->name, kNameChars))},
                  OfCount(p->row.number),
                  OfDuration(t->cpu_ns),
                  OfShare(t->cpu_share),
                  OfCores(t->cores_used),
                  OfDuration(t->wait_ns)};
        });
  }

  void Slices() {
    const auto ns = [](uint64_t value) {
      return OfDuration(
          static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX)));
    };
    Table("Slices of the program",
          {"Slice", "count", "total", "self", "mean", "p50", "p99", "share"},
          facts_.said.slices.size(), [&](size_t i) -> std::vector<Cell> {
            const SliceFacts& s = facts_.said.slices[i];
            return {{Printable(s.name, kNameChars)},
                    OfCount(static_cast<double>(s.count)),
                    ns(s.total_ns),
                    OfDuration(s.self_ns),
                    ns(s.mean_ns()),
                    ns(s.p50_ns),
                    ns(s.p99_ns),
                    OfShare(s.share)};
          });
  }

  void Counters() {
    Table("Counters of the program",
          {"Counter", "process", "values", "min", "mean", "max", "last"},
          facts_.said.counters.size(), [&](size_t i) -> std::vector<Cell> {
            const CounterFacts& c = facts_.said.counters[i];
            return {{Printable(c.name, kNameChars)},
                    OfCount(c.process),
                    OfCount(static_cast<double>(c.values)),
                    OfCount(c.min),
                    OfCount(c.mean),
                    OfCount(c.max),
                    OfCount(c.last)};
          });
  }

  void Marks() {
    Table("Marks", {"Mark", "at"}, facts_.marks.size(),
          [&](size_t i) -> std::vector<Cell> {
            const Mark& mark = facts_.marks[i];
            return {{Printable(mark.text, kNameChars)},
                    OfDuration(Elapsed(facts_.run.begin_ns, mark.time_ns))};
          });
  }

  void NotCollected() {
    if (report_.not_collected.empty()) return;
    out_ += "<h2>Not collected</h2>\n<ul>\n";
    for (const sonde::NotCollected& m : report_.not_collected)
      Put("<li>{}: {}{}</li>\n", Escaped(m.source), Escaped(m.why),
          m.cure.empty() ? "" : " (" + Escaped(m.cure) + ")");
    out_ += "</ul>\n";
  }

  const Report& report_;
  const Facts& facts_;
  const Charts& charts_;
  std::string out_;
};

}  // namespace

std::string ReportHtml(const Report& report, const Charts& charts) {
  return Page(report, charts).Write();
}

}  // namespace sonde

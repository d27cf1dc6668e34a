#include "analyze/verdict/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyze/facts/steady.h"
#include "base/text.h"

namespace sonde {
namespace {

// A trace may have any number of series; what is drawn of them is limited, and
// what is left out is told.
constexpr size_t kTopUsers = 6;     // processes and threads with a line
constexpr size_t kMaxDevices = 32;  // with a group
constexpr size_t kMaxPlots = 32;    // of a group: cores, disks, counters
constexpr size_t kMaxLines = 32;    // of a plot: a label each
constexpr size_t kMaxInAll = 600;   // lines, each as long as the grid
constexpr size_t kMaxUsers = 200;   // that are read before the top is known
constexpr size_t kNameChars = 32;

using SeriesRows = std::vector<const Series*>;

// The unit of a series' line, and what makes the one of the other.
struct ShownUnit {
  std::string text;
  double factor = 1;
};

ShownUnit UnitOf(const Store& store, const Series& row) {
  std::string unit = Printable(store.Str(row.unit), 12);
  if (unit == "1") unit.clear();
  const bool gauge = row.kind == Series::Kind::kGauge;
  if (unit == "ns") return {gauge ? "s" : "share", 1e-9};
  return {gauge ? unit : unit + "/s", 1};
}

// "minor_faults" to "Minor faults".
std::string TitleOf(std::string_view name) {
  std::string out = Printable(name, kNameChars);
  std::replace(out.begin(), out.end(), '_', ' ');
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z')
    out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

// A label as a line's name. Paths differ at their ends: of a long one the end
// is kept, from a slash on if there is one.
std::string NameOfLabel(std::string_view label) {
  if (!label.starts_with('/')) return Printable(label, kNameChars);
  const std::string whole = Printable(label, label.size());
  size_t from = whole.size(), chars = 0;
  while (from > 0 && chars < kNameChars) {
    --from;
    if ((whole[from] & 0xc0) != 0x80) ++chars;  // a character begins here
  }
  if (from == 0) return whole;
  const size_t slash = whole.find('/', from);
  return "…" + whole.substr(slash == whole.npos ? from : slash);
}

}  // namespace

// Collects what is to be drawn, reads it in one pass, and leaves out what has
// no values.
class ChartMaker {
 public:
  ChartMaker(const Facts& facts, const Grid& grid)
      : facts_(facts), store_(*facts.store) {
    out_.grid = grid;
    for (const auto& [id, row] : store_.series()) {
      if (store_.OfProgram(row))
        counters_.push_back(&row);
      else if (row.scope == Series::Scope::kMachine)
        machine_[store_.Str(row.name)].push_back(&row);
      else if (row.scope == Series::Scope::kProcess)
        processes_[store_.Str(row.name)].push_back(&row);
      else if (row.scope == Series::Scope::kThread)
        threads_[row.scope_id].push_back(&row);
      else
        devices_[row.scope_id].push_back(&row);
    }
  }

  Charts Make(const std::vector<Finding>& findings, ChartLines* lines) {
    if (facts_.windows.empty()) return out_;
    Collect();
    PlaceLines(Read(lines));
    out_.marks = MarksOf(facts_, findings);
    out_.left_out = LeftOut();
    return std::move(out_);
  }

  // What Make() will ask for, as far as that is known before the facts are.
  std::vector<LineSpec> Plan() {
    planning_ = true;
    Collect();
    SeriesRows users = processes_["cpu_ns"];
    for (const Series* row : processes_["rss_bytes"]) users.push_back(row);
    for (const auto& [thread, rows] : threads_)
      for (const Series* row : rows)
        if (store_.Str(row->name) == "cpu_ns") users.push_back(row);
    if (users.size() > kMaxUsers) users.clear();
    for (const Series* row : users) {
      const bool cpu = store_.Str(row->name) == "cpu_ns";
      specs_.push_back({"", "", row->kind, false, {{row->id, cpu ? 1e-9 : 1}}});
    }
    return std::move(specs_);
  }

 private:
  void Collect() {
    Cpu();
    size_t devices = 0;
    for (const auto& [device, rows] : devices_)
      if (devices++ < kMaxDevices) Device(device, rows);
    Memory();
    Disks();
    Network();
    Pressure();
    Users();
    Counters();
    Cores();
    Rest();
  }

  std::vector<RegularSeries> Read(ChartLines* lines) const {
    if (lines == nullptr || lines->reader_ == nullptr)
      return ReadLines(store_, facts_.run, out_.grid, specs_);
    std::vector<RegularSeries> read = lines->reader_->Take();
    lines->reader_.reset();
    return ReadLines(store_, facts_.run, out_.grid, specs_, lines->specs_,
                     std::move(read));
  }

  void Group(std::string name, std::string title) {
    out_.groups.push_back({std::move(name), std::move(title), {}});
  }
  void Plot(std::string title, std::string unit,
            std::optional<double> full_scale = {}) {
    ChartGroup& group = out_.groups.back();
    lines_ = 0;
    skips_ = group.plots.size() == kMaxPlots;
    if (skips_)
      ++plots_left_out_[out_.groups.size() - 1];
    else
      group.plots.push_back(
          {std::move(title), std::move(unit), full_scale, {}});
  }

  // A line of the last plot.
  void Line(std::string name, Series::Kind kind,
            std::vector<LineSpec::Member> members, bool holds = false) {
    if (members.empty() || skips_) return;
    const Place place(out_.groups.size() - 1,
                      out_.groups.back().plots.size() - 1);
    if (specs_.size() == kMaxInAll) {
      ++lines_left_out_;
    } else if (++lines_ > kMaxLines) {
      ++left_out_[place];
    } else {
      specs_.push_back({std::move(name), out_.groups.back().plots.back().unit,
                        kind, holds, std::move(members)});
      places_.push_back(place);
    }
  }

  std::vector<LineSpec::Member> All(const SeriesRows& rows,
                                    double factor = 1) const {
    std::vector<LineSpec::Member> out;
    for (const Series* row : rows) out.push_back({row->id, factor});
    return out;
  }
  // All processes' series of a name.
  std::vector<LineSpec::Member> Tree(const char* name, double factor = 1) {
    seen_.insert(name);
    return All(processes_[name], factor);
  }
  // The machine's series of a name, by label.
  std::map<std::string_view, SeriesRows> Labelled(const char* name) {
    seen_.insert(name);
    std::map<std::string_view, SeriesRows> out;
    if (const auto at = machine_.find(name); at != machine_.end())
      for (const Series* row : at->second)
        out[store_.Str(row->label)].push_back(row);
    return out;
  }
  std::vector<LineSpec::Member> Machine(const char* name, double factor = 1) {
    std::vector<LineSpec::Member> out;
    for (const auto& [label, rows] : Labelled(name))
      for (const LineSpec::Member& m : All(rows, factor)) out.push_back(m);
    return out;
  }
  // One line for each label that has this series.
  void Labels(const char* name, const std::string& what, double factor) {
    for (const auto& [label, rows] : Labelled(name))
      Line(label.empty()
               ? what
               : NameOfLabel(label) + (what.empty() ? "" : " " + what),
           rows[0]->kind, All(rows, factor));
  }

  RegularSeries OfWindows(std::string name, bool CpuWindow::*known,
                          double CpuWindow::*value) const {
    RegularSeries out{std::move(name), "cores", out_.grid, {}, {}};
    for (const CpuWindow& w : facts_.windows) {
      out.known.push_back(w.*known);
      out.values.push_back(w.*known ? w.*value : 0);
    }
    out.values.resize(out_.grid.size());
    out.known.resize(out_.grid.size());
    return out;
  }

  void Cpu() {
    using W = CpuWindow;
    Group("cpu", "CPU");
    Plot("Cores in use", "cores",
         facts_.run.capacity_cores ? facts_.run.capacity_cores
                                   : facts_.run.cores);
    ChartPlot& plot = out_.groups.back().plots.back();
    plot.lines = {
        OfWindows("the program", &W::known, &W::tree_cores),
        OfWindows("its busiest thread", &W::known, &W::thread_cores),
        OfWindows("the whole machine", &W::machine_known, &W::busy_cores),
        OfWindows("waiting for disks", &W::machine_known, &W::iowait_cores)};
    if (facts_.machine.steal_cores.value_or(0) > 0.005)
      plot.lines.push_back(OfWindows("stolen by other guests",
                                     &W::machine_known, &W::steal_cores));
    Plot("The program, in its own code and in the kernel", "cores");
    Line("own code", Series::Kind::kTotal, Tree("cpu_user_ns", 1e-9));
    Line("kernel", Series::Kind::kTotal, Tree("cpu_system_ns", 1e-9));
  }

  void Cores() {
    // 2 before 10.
    std::map<std::pair<size_t, std::string_view>, SeriesRows> cores;
    for (const char* name : {"cpu_user_ns", "cpu_nice_ns", "cpu_system_ns",
                             "cpu_irq_ns", "cpu_steal_ns"})
      for (const auto& [label, rows] : Labelled(name))
        for (const Series* row : rows)
          cores[{label.size(), label}].push_back(row);
    for (const char* name : {"cpu_idle_ns", "cpu_iowait_ns"}) Labelled(name);
    Group("cores", "Cores");
    for (const auto& [core, rows] : cores) {
      Plot("Core " + NameOfLabel(core.second), "share", 1);
      Line("busy", Series::Kind::kTotal, All(rows, 1e-9));
    }
  }

  void Memory() {
    const auto gauge = Series::Kind::kGauge;
    Group("memory", "Memory");
    Plot("The program", "bytes");
    Line("resident, shared pages counted in each process", gauge,
         Tree("rss_bytes"));
    Line("resident, shared pages counted once", gauge, Tree("pss_bytes"));
    Line("of the first, pages of files", gauge, Tree("rss_file_bytes"));
    Plot("The machine", "bytes", facts_.machine.mem_total_bytes);
    std::vector<LineSpec::Member> used = Machine("mem_total_bytes");
    for (const auto& m : Machine("mem_available_bytes", -1)) used.push_back(m);
    if (used.size() > 1) Line("in use", gauge, std::move(used));
    Line("file cache", gauge, Machine("mem_cached_bytes"));
    Line("free", gauge, Machine("mem_free_bytes"));
    Plot("Swap", "bytes", facts_.machine.swap_total_bytes);
    std::vector<LineSpec::Member> swap = Machine("swap_total_bytes");
    for (const auto& m : Machine("swap_free_bytes", -1)) swap.push_back(m);
    if ((planning_ || facts_.machine.swap_total_bytes.value_or(0) > 0) &&
        swap.size() > 1)
      Line("in use", gauge, std::move(swap));
  }

  void Disks() {
    Group("disk", "Disks");
    Plot("The program, from and to storage", "bytes/s");
    Line("read", Series::Kind::kTotal, Tree("read_bytes"));
    Line("written", Series::Kind::kTotal, Tree("write_bytes"));
    Plot("Time busy", "share", 1);
    Labels("disk_busy_ns", "", 1e-9);
    Plot("Read", "bytes/s");
    Labels("disk_read_bytes", "", 1);
    Plot("Written", "bytes/s");
    Labels("disk_write_bytes", "", 1);
  }

  void Network() {
    Group("network", "Network");
    Plot("Received", "bytes/s");
    Labels("net_rx_bytes", "", 1);
    Plot("Sent", "bytes/s");
    Labels("net_tx_bytes", "", 1);
  }

  void Pressure() {
    Group("pressure", "Pressure");
    Plot("Time in which something waited", "share", 1);
    Labels("psi_cpu_some_ns", "for a core", 1e-9);
    Labels("psi_io_some_ns", "for a disk", 1e-9);
    Labels("psi_memory_some_ns", "for memory", 1e-9);
    Plot("Time in which everything waited", "share", 1);
    Labels("psi_io_full_ns", "for a disk", 1e-9);
    Labels("psi_memory_full_ns", "for memory", 1e-9);
  }

  // An accelerator: known names in their places, any other in its own plot.
  void Device(uint32_t device, const SeriesRows& rows) {
    struct Known {
      const char *name, *plot, *line, *unit;
    };
    static constexpr Known kKnown[] = {
        {"gpu_busy_pct", "Time busy", "computing", "%"},
        {"gpu_mem_busy_pct", "Time busy", "memory", "%"},
        {"gpu_mem_used_bytes", "Memory", "in use", "bytes"},
        {"gpu_mem_total_bytes", "Memory", "there is", "bytes"},
        {"gpu_power_w", "Power", "power", "W"},
        {"gpu_temp_c", "Temperature", "temperature", "°C"},
        {"gpu_clock_mhz", "Clocks", "cores", "MHz"},
        {"gpu_mem_clock_mhz", "Clocks", "memory", "MHz"},
        {"gpu_throttle", "Held back (reasons, as bits)", "reasons", ""}};
    std::string name;
    std::map<std::string_view, const Series*> by_name;
    for (const Series* row : rows) {
      by_name[store_.Str(row->name)] = row;
      if (name.empty()) name = Printable(store_.Str(row->label), kNameChars);
    }
    Group(fmt::format("gpu{}", device),
          fmt::format("Accelerator {}{}{}", device, name.empty() ? "" : ": ",
                      name));
    std::string last;
    for (const Known& k : kKnown) {
      const auto at = by_name.find(k.name);
      if (at == by_name.end()) continue;
      if (last != k.plot)
        Plot(last = k.plot, k.unit,
             std::string_view(k.unit) == "%" ? std::optional(100.0)
                                             : std::nullopt);
      Line(k.line, at->second->kind, {{at->second->id, 1}});
      by_name.erase(at);
    }
    for (const auto& [other, row] : by_name) {
      const ShownUnit unit = UnitOf(store_, *row);
      Plot(TitleOf(other), unit.text);
      Line(TitleOf(other), row->kind, {{row->id, unit.factor}});
    }
  }

  // Those that used most CPU time.
  void Users() {
    Group("processes", "Processes that used most");
    const size_t count = std::min(kTopUsers, facts_.processes.size());
    for (const char* name : {"cpu_ns", "rss_bytes"}) {
      const bool cpu = std::string_view(name) == "cpu_ns";
      Plot(cpu ? "Cores in use" : "Resident memory", cpu ? "cores" : "bytes");
      seen_.insert(name);
      std::unordered_map<uint32_t, const Series*> of;
      for (const Series* row : processes_[name]) of[row->scope_id] = row;
      for (size_t i = 0; i < count; ++i) {
        const ProcessFacts& p = facts_.processes[i];
        if (const auto at = of.find(p.row.number); at != of.end())
          Line(fmt::format("{} {}", p.row.number, CallProcess(p, kNameChars)),
               at->second->kind, {{at->second->id, cpu ? 1e-9 : 1}});
      }
    }
    Group("threads", "Threads that used most");
    Plot("Cores in use", "cores");
    std::vector<const ThreadFacts*> threads;
    for (const ProcessFacts& p : facts_.processes)
      for (const ThreadFacts& t : p.threads) threads.push_back(&t);
    std::stable_sort(threads.begin(), threads.end(),
                     [](const ThreadFacts* a, const ThreadFacts* b) {
                       return a->cpu_ns.value_or(-1) > b->cpu_ns.value_or(-1);
                     });
    threads.resize(std::min(kTopUsers, threads.size()));
    for (const ThreadFacts* t : threads)
      for (const Series* row : threads_[t->row.number])
        if (store_.Str(row->name) == "cpu_ns")
          Line(fmt::format("{} {}", t->row.tid, Printable(t->name, kNameChars)),
               row->kind, {{row->id, 1e-9}});
  }

  void Counters() {
    Group("counters", "Counters the program keeps");
    for (const Series* row : counters_) {
      const ShownUnit unit = UnitOf(store_, *row);
      const std::string name = Printable(store_.Str(row->name), kNameChars);
      Plot(name, unit.text);
      Line(fmt::format("process {}", row->scope_id), row->kind,
           {{row->id, unit.factor}}, /*holds=*/true);
    }
  }

  // What has no place above: one plot for each name.
  void Rest() {
    Group("program", "The program, other");
    for (const auto& [name, rows] : processes_) {
      if (seen_.contains(name)) continue;
      const ShownUnit unit = UnitOf(store_, *rows[0]);
      Plot(TitleOf(name), unit.text);
      Line("all processes", rows[0]->kind, All(rows, unit.factor));
    }
    RestOfMachine("cgroup", "Cgroup", true);
    RestOfMachine("machine", "The machine, other", false);
  }

  void RestOfMachine(const char* group, const char* title, bool of_cgroup) {
    Group(group, title);
    for (const auto& [name, rows] : machine_) {
      if (seen_.contains(name) || name.starts_with("cgroup_") != of_cgroup)
        continue;
      const ShownUnit unit = UnitOf(store_, *rows[0]);
      Plot(TitleOf(name), unit.text);
      Labels(std::string(name).c_str(), "", unit.factor);
    }
  }

  void PlaceLines(std::vector<RegularSeries> lines) {
    for (size_t i = 0; i < lines.size(); ++i)
      out_.groups[places_[i].first].plots[places_[i].second].lines.push_back(
          std::move(lines[i]));
    for (const auto& [place, count] : left_out_) {
      ChartPlot& plot = out_.groups[place.first].plots[place.second];
      plot.title += fmt::format(" ({})", FirstOf(kMaxLines, kMaxLines + count));
    }
    for (const auto& [group, count] : plots_left_out_)
      out_.groups[group].title +=
          fmt::format(" ({})", FirstOf(kMaxPlots, kMaxPlots + count));
    for (ChartGroup& group : out_.groups) {
      for (ChartPlot& plot : group.plots)
        std::erase_if(plot.lines, [](const RegularSeries& line) {
          return line.KnownCount() == 0;
        });
      std::erase_if(group.plots,
                    [](const ChartPlot& plot) { return plot.lines.empty(); });
    }
    std::erase_if(out_.groups,
                  [](const ChartGroup& group) { return group.plots.empty(); });
  }

  // What no single plot or group can tell.
  std::string LeftOut() {
    std::string out = CutMarks(out_.marks);
    const auto also = [&](std::string text) {
      out += (out.empty() ? "" : ", ") + text;
    };
    if (devices_.size() > kMaxDevices)
      also(FirstOf(kMaxDevices, devices_.size()) + " accelerators");
    if (lines_left_out_ > 0)
      also(FirstOf(kMaxInAll, kMaxInAll + lines_left_out_) + " lines");
    return out.empty() ? out : "Drawn: " + out;
  }

  using Place = std::pair<size_t, size_t>;  // group and plot

  const Facts& facts_;
  const Store& store_;
  bool planning_ = false;  // the facts are not yet known
  Charts out_;
  std::map<std::string_view, SeriesRows> machine_, processes_;
  std::unordered_map<uint32_t, SeriesRows> threads_;
  std::map<uint32_t, SeriesRows> devices_;
  SeriesRows counters_;
  std::set<std::string, std::less<>> seen_;  // names that have their place
  std::vector<LineSpec> specs_;
  std::vector<Place> places_;  // of each spec
  size_t lines_ = 0;           // of the last plot
  bool skips_ = false;         // its group is full
  std::map<Place, size_t> left_out_;
  std::map<size_t, size_t> plots_left_out_;  // by group
  size_t lines_left_out_ = 0;                // because there were kMaxInAll
};

AlsoRead ChartLines::Of(std::shared_ptr<const Store> store) {
  return [this, store = std::move(store)](const RunSpan& run, const Grid& grid,
                                          CounterReplay& replay) {
    Facts none;
    none.store = store;
    specs_ = ChartMaker(none, grid).Plan();
    reader_ = std::make_unique<LineReader>(*store, run, grid, specs_);
    reader_->Join(replay);
  };
}

Charts ChartsOf(const Facts& facts, const std::vector<Finding>& findings,
                ChartLines* lines) {
  Grid grid;
  if (!facts.windows.empty())
    grid = {facts.run.begin_ns, facts.run.end_ns,
            std::max<int64_t>(facts.windows[0].to_ns - facts.windows[0].from_ns,
                              1)};
  return ChartMaker(facts, grid).Make(findings, lines);
}

}  // namespace sonde

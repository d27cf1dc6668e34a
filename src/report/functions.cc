#include "report/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "analyze/facts/steady.h"
#include "base/text.h"
#include "report/words.h"
#include "store/stack_names.h"

namespace sonde {
namespace {

constexpr size_t kMostProcesses = 3;
const std::vector<Column> kFunctionTable = {{"", 39},     {"own", 8},
                                            {"error", 8}, {"self", 8},
                                            {"total", 8}, {"samples", 9}};
const std::vector<Column> kWaitTable = {
    {"", 56}, {"for", 8}, {"threads", 8}, {"time", 8}};

// The whole that shares are of.
double AllNs(const Facts& facts) {
  const auto sampled = static_cast<double>(facts.code.sampled_ns);
  return std::max(
      {1.0, sampled, static_cast<double>(facts.run.cpu_ns.value_or(0))});
}

// One standard error of the share of the samples that is the function's own.
double ErrorOf(const Facts& facts, const FunctionFacts& f) {
  const auto all = static_cast<double>(facts.code.samples);
  const double share =
      static_cast<double>(f.own_ns) /
      static_cast<double>(std::max<uint64_t>(facts.code.sampled_ns, 1));
  return std::sqrt(share * (1 - share) / std::max(all, 1.0));
}

std::string CallNumber(const Facts& facts, uint32_t process) {
  if (const ProcessFacts* const p = facts.FindProcess(process))
    return fmt::format("{} {}", process, CallProcess(*p, 60));
  // Too short to be among the facts, but not to be sampled once.
  const auto& rows = facts.store->processes();
  const auto row = rows.find(process);
  return row == rows.end()
             ? "a process that is not known"
             : fmt::format("{} {}", process,
                           Printable(facts.store->Str(row->second.name), 60));
}

Lines LinesOfProcess(const Facts& facts, uint32_t process,
                     const std::vector<const FunctionFacts*>& functions,
                     size_t top) {
  std::vector<Column> titled = kFunctionTable;
  const std::string title = "Function of " + CallNumber(facts, process);
  titled[0].title = title.c_str();
  Lines out = {TitlesOf(titled)};
  const size_t shown = RowsShown(functions.size(), top);
  const auto own = [](uint64_t sum, const FunctionFacts* f) {
    return sum + f->own_ns;
  };
  for (size_t i = 0; i < shown; ++i) {
    const FunctionFacts& f = *functions[i];
    out.push_back(
        RowOf(kFunctionTable,
              {CallFunction(f), FormatShare(CpuShare(facts, f.own_ns)),
               fmt::format("± {:.1f}", ErrorOf(facts, f) * 100),
               FormatShare(CpuShare(facts, f.self_ns)),
               FormatShare(CpuShare(facts, f.total_ns)),
               std::to_string(std::max(f.samples, f.own_samples))}));
  }
  if (shown < functions.size())
    out.push_back(RowOf(
        kFunctionTable,
        {fmt::format("and {} more", functions.size() - shown),
         FormatShare(CpuShare(
             facts,
             std::accumulate(functions.begin() + static_cast<ptrdiff_t>(shown),
                             functions.end(), uint64_t{0}, own)))}));
  return out;
}

// How the samples were taken, and what that leaves out.
std::string PhraseBy(std::string_view by) {
  if (by == "proc") return "; by reading memory (proc): Python only";
  if (by == "perf") return "; by perf";
  if (by == "bpf") return "; by perf and BPF";
  return "";
}

// Threads that wait at one place.
struct WaitRow {
  explicit WaitRow(const WaitFacts& one) : wait(&one) {}

  const WaitFacts* wait;
  uint64_t ns = 0;
  std::set<uint32_t> threads;
};

Lines WaitsOfProcess(const Facts& facts, uint32_t process, size_t top) {
  std::map<std::string, WaitRow> by_place;
  for (const WaitFacts& wait : facts.code.waits) {
    if (wait.process != process) continue;
    WaitRow& row =
        by_place.try_emplace(CallWaitPlace(wait) + NameOf(wait.kind), wait)
            .first->second;
    row.ns += wait.ns;
    row.threads.insert(wait.thread);
  }
  std::vector<const WaitRow*> rows;
  for (const auto& [place, row] : by_place) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const WaitRow* a, const WaitRow* b) {
                     return std::pair(a->wait->own.known(), a->ns) >
                            std::pair(b->wait->own.known(), b->ns);
                   });
  std::vector<Column> titled = kWaitTable;
  const std::string title = "Waiting of " + CallNumber(facts, process);
  titled[0].title = title.c_str();
  Lines out = {TitlesOf(titled)};
  const size_t shown = RowsShown(rows.size(), top);
  const auto add = [&](const std::string& what, const char* kind,
                       const std::string& threads, uint64_t ns) {
    out.push_back(RowOf(kWaitTable,
                        {what, kind, threads,
                         FormatDuration(static_cast<int64_t>(std::min<uint64_t>(
                             ns, static_cast<uint64_t>(INT64_MAX))))}));
  };
  for (size_t i = 0; i < shown; ++i)
    add(CallWaitPlace(*rows[i]->wait), NameOf(rows[i]->wait->kind),
        std::to_string(rows[i]->threads.size()), rows[i]->ns);
  uint64_t rest = 0;
  for (size_t i = shown; i < rows.size(); ++i) rest += rows[i]->ns;
  if (shown < rows.size())
    add(fmt::format("and {} more", rows.size() - shown), "", "", rest);
  return out;
}

}  // namespace

Lines WaitLines(const Facts& facts, size_t top) {
  // Threads that are in no function of the program's own mostly wait for work,
  // in pools.
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> ns;  // own, of libraries
  for (const WaitFacts& wait : facts.code.waits)
    if (wait.own.known())
      ns[wait.process].first += wait.ns;
    else if (wait.library.known())
      ns[wait.process].second += wait.ns;
  std::vector<uint32_t> processes;
  for (const auto& [process, sum] : ns) processes.push_back(process);
  std::stable_sort(processes.begin(), processes.end(),
                   [&](uint32_t a, uint32_t b) { return ns[a] > ns[b]; });
  Lines out;
  const size_t shown = RowsShown(processes.size(), kMostProcesses);
  for (size_t i = 0; i < shown; ++i)
    Append(out, WaitsOfProcess(facts, processes[i], top));
  if (shown < processes.size())
    out.push_back(
        fmt::format("and {} more processes", processes.size() - shown));
  return out;
}

std::string CallFunction(const FunctionFacts& f) {
  if (f.name.empty()) return "other functions";
  return Printable(CallPlace({f.name, f.file, f.module, f.language}, f.line),
                   120);
}

double CpuShare(const Facts& facts, uint64_t ns) {
  return static_cast<double>(ns) / AllNs(facts);
}

Lines FunctionLines(const Facts& facts, size_t top) {
  const CodeFacts& code = facts.code;
  if (code.functions.empty()) return {};
  std::map<uint32_t, std::vector<const FunctionFacts*>> by_process;
  std::map<uint32_t, uint64_t> self_ns;
  for (const FunctionFacts& f : code.functions) {
    by_process[f.process].push_back(&f);
    self_ns[f.process] += f.self_ns;
  }
  std::vector<uint32_t> processes;
  for (auto& [process, functions] : by_process) {
    processes.push_back(process);
    // A function of Python stands before what it calls.
    const auto most = [](const FunctionFacts* f) {
      return std::max(f->own_ns, f->self_ns);
    };
    std::stable_sort(functions.begin(), functions.end(),
                     [&](const FunctionFacts* a, const FunctionFacts* b) {
                       return most(a) > most(b);
                     });
  }
  std::stable_sort(
      processes.begin(), processes.end(),
      [&](uint32_t a, uint32_t b) { return self_ns[a] > self_ns[b]; });
  Lines out;
  const size_t shown = RowsShown(processes.size(), kMostProcesses);
  for (size_t i = 0; i < shown; ++i)
    Append(out,
           LinesOfProcess(facts, processes[i], by_process[processes[i]], top));
  uint64_t others = 0;
  for (size_t i = shown; i < processes.size(); ++i)
    others += self_ns[processes[i]];
  const auto rest = [&](const std::string& what, double share) {
    if (share > 0)
      out.push_back(RowOf(kFunctionTable, {what, FormatShare(share)}));
  };
  rest(fmt::format("{} more processes", processes.size() - shown),
       CpuShare(facts, others));
  rest("stack not known", CpuShare(facts, code.unknown_ns));
  rest("not sampled", 1 - CpuShare(facts, code.sampled_ns));
  Append(out,
         Wrap("", fmt::format("shares of the run's CPU time; own: the function "
                              "and native code that a function of Python "
                              "called; error: one standard error of own; {} "
                              "of {} samples approximate{}",
                              code.approximate, code.samples,
                              PhraseBy(facts.store->Meta("stacks_by")))));
  return out;
}

}  // namespace sonde

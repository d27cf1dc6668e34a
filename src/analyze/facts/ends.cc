#include "analyze/facts/ends.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/facts/steady.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr size_t kPoints = 4;

}  // namespace

std::vector<ProcessFacts> EndedWhere(
    const Facts& facts, const std::function<bool(const Process&)>& test) {
  std::vector<ProcessFacts> out;
  for (const auto& [number, row] : facts.store->processes()) {
    if (row.end_ns == kNoTime || row.exit == Process::Exit::kRunning ||
        !test(row))
      continue;
    if (const ProcessFacts* const known = facts.FindProcess(number)) {
      out.push_back(*known);
      continue;
    }
    ProcessFacts process;
    process.row = row;
    process.name = facts.store->Str(row.name);
    process.cmdline = facts.store->Str(row.cmdline);
    out.push_back(std::move(process));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const ProcessFacts& a, const ProcessFacts& b) {
                     return a.row.end_ns < b.row.end_ns;
                   });
  return out;
}

bool EndedBySignal(const Process& row, int signal) {
  return row.exit == Process::Exit::kSignaled && row.exit_code == signal;
}

std::string CallWithPid(const ProcessFacts& process) {
  return fmt::format("{} (pid {})", CallProcess(process), process.row.pid);
}

double SecondsAt(const Facts& facts, int64_t time_ns) {
  return static_cast<double>(Elapsed(facts.run.begin_ns, time_ns)) / 1e9;
}

std::string WhenOf(const Facts& facts, int64_t time_ns) {
  return fmt::format("{:.1f} s", SecondsAt(facts, time_ns));
}

std::string CurveUntil(const Facts& facts, const RegularSeries& series,
                       int64_t until_ns) {
  std::vector<size_t> known;
  for (size_t i = 0; i < series.size(); ++i)
    if (series.known[i] && series.grid.TimeOf(i) <= until_ns)
      known.push_back(i);
  if (known.size() < 2) return "";
  const size_t points = std::min(kPoints, known.size());
  std::string out;
  for (size_t i = 0; i < points; ++i) {
    const size_t at = known[i * (known.size() - 1) / (points - 1)];
    out += fmt::format("{}{} at {}", out.empty() ? "" : ", ",
                       FormatBytes(series.values[at]),
                       WhenOf(facts, series.grid.TimeOf(at)));
  }
  return out;
}

}  // namespace sonde

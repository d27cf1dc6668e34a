// memory_leak: does its memory grow without end?
//
// Evidence: over the steady part the memory of all its processes, or else of
// one of them, climbs all the time, or in kMinSteps steps and more
// (analyze/pattern/trend.h), by kMinGrowth of where it began and by kMinBytes;
// and that is no chance: by the Mann-Kendall test on the medians of equal
// stretches it happens to noise in less than kMaxP of the cases. Others that
// come and go or shrink hide the growth of one from the sum.
//
// Pages of files that it maps are no memory of its own: the system takes them
// back whenever it wants. They are left out.
//
// Loading data climbs too, so a run shorter than kMinRun is not judged, and
// growth at about the rate at which data comes in is worth knowing only.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "analyze/command_words.h"
#include "analyze/pattern/part_series.h"
#include "analyze/pattern/trend.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "analyze/steady_series.h"
#include "base/text.h"
#include "base/time.h"

namespace sonde {
namespace {

constexpr double kMinGrowth = 0.10;
constexpr double kMinBytes = 16e6;
constexpr size_t kMinSteps = 3;
constexpr double kMaxP = 0.01;
constexpr size_t kMinWindows = 24;
constexpr size_t kMaxStretches = 20;
constexpr int64_t kMinRunNs = 5 * kNsPerSec;
// Then it ends by itself before it is looked at again.
constexpr double kSoonSeconds = 86400;
// Growth by what comes in: what a byte takes in memory.
constexpr double kMinKept = 0.5, kMaxKept = 2;

// How probable it is that noise climbs as much, by the order of the medians of
// equal stretches: memory keeps its value from one window to the next, so
// single windows would count the same growth many times.
double ChanceOf(const std::vector<double>& values) {
  const size_t n = std::min(kMaxStretches, values.size() / 3);
  std::vector<double> medians;
  for (size_t i = 0; i < n; ++i)
    medians.push_back(Quantile(
        {values.begin() + static_cast<ptrdiff_t>(i * values.size() / n),
         values.begin() + static_cast<ptrdiff_t>((i + 1) * values.size() / n)},
        0.5));
  double sum = 0;
  for (size_t i = 0; i < n; ++i)
    for (size_t k = i + 1; k < n; ++k)
      sum += medians[k] > medians[i] ? 1 : medians[k] < medians[i] ? -1 : 0;
  if (sum <= 0) return 1;
  const double count = static_cast<double>(n);
  const double variance = count * (count - 1) * (2 * count + 5) / 18;
  return 0.5 * std::erfc((sum - 1) / std::sqrt(2 * variance));
}

// What is left until memory ends, and of what.
struct Room {
  double bytes;
  std::string of;
};

std::optional<Room> RoomOf(const Facts& facts) {
  std::optional<Room> out;
  for (const CgroupFacts& c : facts.cgroups)
    if (c.memory_limit_bytes && c.memory_peak_bytes) {
      // Files that it keeps in memory are given up first.
      const double used =
          std::max(0.0, *c.memory_peak_bytes - c.cache_peak_bytes.value_or(0));
      const double left = std::max(0.0, *c.memory_limit_bytes - used);
      if (!out || left < out->bytes)
        out = Room{left, fmt::format("the container's limit of {}",
                                     FormatBytes(*c.memory_limit_bytes))};
    }
  const MachineFacts& machine = facts.machine;
  if (machine.mem_total_bytes && machine.mem_peak_bytes) {
    const double left =
        std::max(0.0, *machine.mem_total_bytes - *machine.mem_peak_bytes);
    if (!out || left < out->bytes)
      out = Room{left, fmt::format("the machine's memory of {}",
                                   FormatBytes(*machine.mem_total_bytes))};
  }
  return out;
}

// Files are asked after more seldom: they count as when they were last, and
// before that as when they were first.
RegularSeries WithoutFiles(RegularSeries memory, const RegularSeries& files) {
  const auto first = std::find(files.known.begin(), files.known.end(), 1);
  if (first == files.known.end()) return memory;
  double bytes = files.values[static_cast<size_t>(first - files.known.begin())];
  for (size_t i = 0; i < memory.size() && i < files.size(); ++i) {
    if (files.known[i]) bytes = files.values[i];
    memory.values[i] = std::max(0.0, memory.values[i] - bytes);
  }
  return memory;
}

// Memory that climbs.
struct Growth {
  Trend trend;
  double chance;
  double bytes_per_s;
  const ProcessFacts* process = nullptr;  // null: of all together
};

std::optional<Growth> GrowthOf(const RegularSeries& part) {
  const std::vector<double> values = part.KnownValues();
  const auto trend =
      TrendOf(part, std::max(kMinBytes, kMinGrowth * values.front()));
  if (!trend || trend->to <= trend->from) return std::nullopt;
  if (trend->steps > 0 && trend->steps < kMinSteps) return std::nullopt;
  const double chance = ChanceOf(values);
  if (chance >= kMaxP) return std::nullopt;
  // From the middle of the first known window to that of the last.
  const auto [from, to] = part.KnownRange();
  const double seconds =
      part.grid.SecondsOf(static_cast<double>(to - from - 1));
  return Growth{*trend, chance, (trend->to - trend->from) / seconds};
}

// Of the process that grows fastest, of those that live for most of the time.
std::optional<Growth> GrowthOfOne(const Facts& facts,
                                  const SteadySeries& series) {
  std::optional<Growth> out;
  for (const ProcessMemory& one : MemoryOf(facts, kMinBytes)) {
    const SeriesView memory =
        series.Of(WithoutFiles(one.bytes, one.file_bytes));
    const size_t known = memory.part().KnownCount();
    if (known < kMinWindows ||
        static_cast<double>(known) <
            kMostOfTheTime * static_cast<double>(series.size()))
      continue;
    std::optional<Growth> growth = GrowthOf(memory.part());
    if (!growth || (out && growth->bytes_per_s <= out->bytes_per_s)) continue;
    growth->process = one.process;
    out = growth;
  }
  return out;
}

// It keeps about as much as it reads or receives.
bool KeepsItsInput(const Growth& growth, const SteadySeries& series) {
  for (const char* const name : {"tree_read_chars", "net_receive"}) {
    const double kept = growth.bytes_per_s / series.Find(name).Mean();
    if (kept >= kMinKept && kept <= kMaxKept) return true;
  }
  return false;
}

// Who had most memory; null if nobody was sampled.
const ProcessFacts* Largest(const Facts& facts) {
  const ProcessFacts* best = nullptr;
  for (const ProcessFacts& p : facts.processes)
    if (p.rss_peak_bytes.value_or(0) >
        (best != nullptr ? *best->rss_peak_bytes : 0))
      best = &p;
  return best;
}

std::string InWords(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} seconds", seconds);
  if (seconds < 2 * 3600) return fmt::format("{:.0f} minutes", seconds / 60);
  if (seconds < 2 * 86400) return fmt::format("{:.0f} hours", seconds / 3600);
  return fmt::format("{:.0f} days", seconds / 86400);
}

}  // namespace

Outcome MemoryLeak(const Facts& facts) {
  const Steady steady = SteadyOf(facts);
  if (!steady.not_enough_data.empty())
    return Outcome::NotEnough(steady.not_enough_data);
  const SteadySeries series(facts, steady);
  const SeriesView memory = series.Find("tree_memory");
  if (!memory.collected())
    return Outcome::NotEnough("memory of processes was not collected");
  if (facts.run.wall_ns < kMinRunNs || memory.part().KnownCount() < kMinWindows)
    return Outcome::NotEnough(
        fmt::format("growth is not judged in less than {} and {} samples",
                    FormatDuration(kMinRunNs), kMinWindows));

  std::optional<Growth> growth = GrowthOf(
      WithoutFiles(memory.part(), series.Find("tree_file_memory").part()));
  if (!growth) growth = GrowthOfOne(facts, series);
  if (!growth) return {};

  const Trend& trend = growth->trend;
  const double slope = growth->bytes_per_s;
  const bool loads = KeepsItsInput(*growth, series);
  const std::optional<Room> room = RoomOf(facts);
  Finding f = FindingOf("memory_leak", steady);
  f.severity = Severity::kInfo;
  f.summary = fmt::format("{} memory grows without end: by {}/s",
                          growth->process != nullptr ? "One process's" : "Its",
                          FormatBytes(slope));
  Say(f, fmt::format("It grew from {} to {}{} and did not fall (p < {:.0e}).",
                     FormatBytes(trend.from), FormatBytes(trend.to),
                     trend.steps > 0 ? fmt::format(" in {} steps", trend.steps)
                                     : " steadily",
                     std::max(growth->chance, 1e-9)));
  if (loads)
    Say(f, "That is about what it read or received: it may be loading data.");
  if (room) {
    const double left = room->bytes / slope;
    f.summary += fmt::format("; {} is reached in {}", room->of, InWords(left));
    Say(f,
        fmt::format("{} were left of {}.", FormatBytes(room->bytes), room->of));
    if (left < kSoonSeconds && !loads)
      PutGain(f, 1,
              "at most: a program that is killed for lack of memory has run in "
              "vain");
  }
  f.summary += ".";
  const ProcessFacts* const process =
      growth->process != nullptr ? growth->process : Largest(facts);
  if (process != nullptr) {
    PutWhere(f, *process);
    Say(f, fmt::format("{} {}, with {} at most.",
                       growth->process != nullptr ? "It is" : "Most of it is",
                       CallProcess(*process),
                       FormatBytes(*process->rss_peak_bytes)));
  }
  f.advice = fmt::format(
      "If it is not still loading its data, it keeps what it no longer needs: "
      "lists and caches without a bound, results or tensors with their history "
      "(in PyTorch: add loss.item(), not loss). See what grows: {}",
      MemoryToolFor(*facts.store, process == nullptr ? ""
                                  : process->cmdline.empty()
                                      ? process->name
                                      : process->cmdline));
  f.confidence = 0.9 * std::clamp(trend.confidence, 0.5, 1.0);
  return {{std::move(f)}, ""};
}

}  // namespace sonde

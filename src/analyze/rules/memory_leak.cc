// memory_leak: does its memory grow without end?
//
// Evidence: over the steady part, what is never given back (the least that is
// held from a moment on) of all its processes, or else of one of them, climbs
// all the time, or in kMinSteps steps and more (analyze/pattern/trend.h), by
// kMinGrowth of where it began and by kMinBytes, and by kOverUps of what comes
// and goes; and that is no chance: by the Mann-Kendall test on the medians of
// equal stretches it happens to noise in less than kMaxP of the cases. Others
// that come and go or shrink hide the growth of one from the sum, and processes
// that are added to it are not its growth.
//
// Pages of files that it maps are no memory of its own: the system takes them
// back whenever it wants. They are left out. While more of them come in the
// first kMaxStartNs, it loads its libraries and starts up: that is not judged.
//
// Loading data climbs too, so a run shorter than kMinRun is not judged. Growth
// at about the rate at which data comes in is none in a short run, and worth
// knowing only in a long one.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "analyze/facts/command_words.h"
#include "analyze/facts/part_series.h"
#include "analyze/facts/steady_series.h"
#include "analyze/pattern/trend.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"
#include "base/time.h"

namespace sonde {
namespace {

constexpr double kMinGrowth = 0.10;
constexpr double kMinBytes = 16e6;
constexpr size_t kMinSteps = 3;
constexpr double kMaxP = 0.01;
constexpr double kOverUps = 2;
constexpr size_t kMinWindows = 24;
constexpr size_t kMaxStretches = 20;
constexpr int64_t kMinRunNs = 5 * kNsPerSec;
constexpr int64_t kMinPartNs = 4 * kNsPerSec;  // of it, after the start-up
// Memory at its end is being given back.
constexpr double kEnding = 0.05;
constexpr int64_t kMaxStartNs = 60 * kNsPerSec;
// Mapped files that come while it starts up, between two looks.
constexpr double kLoadsFiles = 2e6, kLoadsShare = 0.03;
// Then it ends by itself before it is looked at again.
constexpr double kSoonSeconds = 86400;
constexpr double kAtOnceSeconds = 2;
// Growth by what comes in: what a byte takes in memory.
// In a short run all may be loading, and what is read is unpacked.
constexpr double kMinKept = 0.5, kMaxKept = 2, kMaxUnpacked = 4;
constexpr int64_t kShortRunNs = 60 * kNsPerSec;

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
  const auto take = [&](double all, double used, const char* of) {
    const double left = std::max(0.0, all - used);
    if (!out || left < out->bytes)
      out = Room{left, fmt::format("{} of {}", of, FormatBytes(all))};
  };
  for (const CgroupFacts& c : facts.cgroups)
    // Files that it keeps in memory are given up first.
    if (c.memory_limit_bytes && c.memory_peak_bytes)
      take(*c.memory_limit_bytes,
           std::max(0.0, *c.memory_peak_bytes - c.cache_peak_bytes.value_or(0)),
           "the container's limit");
  const MachineFacts& machine = facts.machine;
  if (machine.mem_total_bytes && machine.mem_peak_bytes)
    take(*machine.mem_total_bytes, *machine.mem_peak_bytes,
         "the machine's memory");
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

// For each window the least that it had from then on: what it kept.
RegularSeries KeptOf(RegularSeries memory) {
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = memory.size(); i-- > 0;)
    if (memory.known[i])
      memory.values[i] = least = std::min(least, memory.values[i]);
  return memory;
}

// What comes and goes on top of what is kept.
double UpsOf(const RegularSeries& memory, const RegularSeries& kept) {
  std::vector<double> ups;
  for (size_t i = 0; i < memory.size(); ++i)
    if (memory.known[i]) ups.push_back(memory.values[i] - kept.values[i]);
  return Quantile(std::move(ups), 0.95);
}

// The first window after the last in which many pages of files came in, of the
// windows that begin before `until_ns`.
size_t AfterStart(const RegularSeries& files, int64_t until_ns) {
  size_t out = 0;
  double before = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < files.size() && files.grid.TimeOf(i) < until_ns; ++i) {
    if (!files.known[i]) continue;
    const double more = std::max(kLoadsFiles, kLoadsShare * before);
    if (files.values[i] > before + more) out = i + 1;
    before = files.values[i];
  }
  return out;
}

// Without the pages of files, and without its start-up and its end.
RegularSeries JudgedMemory(const RegularSeries& memory,
                           const RegularSeries& files, int64_t start_ns) {
  const auto [first, last] = memory.KnownRange();
  const size_t from =
      std::max(first, AfterStart(files, start_ns + kMaxStartNs));
  const size_t end =
      last - static_cast<size_t>(static_cast<double>(last - first) * kEnding);
  return WithoutFiles(memory, files).Part(from, std::max(from, end));
}

bool LongEnough(const RegularSeries& part) {
  return part.KnownCount() >= kMinWindows &&
         static_cast<int64_t>(part.size()) * part.grid.step_ns >= kMinPartNs;
}

// What processes brought that began in this part and are there at its end.
double BroughtByNew(const Facts& facts, const RegularSeries& part) {
  const int64_t from_ns = part.grid.TimeOf(0);
  const int64_t to_ns = part.grid.TimeOf(part.size());
  double bytes = 0;
  for (const ProcessFacts& p : facts.processes)
    if (p.row.start_ns > from_ns &&
        (p.row.end_ns == kNoTime || p.row.end_ns >= to_ns))
      bytes += p.rss_peak_bytes.value_or(0);
  return bytes;
}

std::optional<Growth> GrowthOf(const RegularSeries& part, double new_bytes) {
  if (!LongEnough(part)) return std::nullopt;
  const RegularSeries kept = KeptOf(part);
  const std::vector<double> values = kept.KnownValues();
  const double least = std::max(
      {kMinBytes, kMinGrowth * values.front(), kOverUps * UpsOf(part, kept)});
  if (values.back() - values.front() - new_bytes < least) return std::nullopt;
  const auto trend = TrendOf(kept, least);
  if (!trend || trend->to <= trend->from) return std::nullopt;
  if (trend->steps > 0 && trend->steps < kMinSteps) return std::nullopt;
  const double chance = ChanceOf(part.KnownValues());
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
    const SeriesView memory = series.Of(one.bytes);
    if (static_cast<double>(memory.part().KnownCount()) <
        kMostOfTheTime * static_cast<double>(series.size()))
      continue;
    std::optional<Growth> growth = GrowthOf(
        JudgedMemory(memory.part(), series.Of(one.file_bytes).part(),
                     std::max(one.process->row.start_ns, facts.run.begin_ns)),
        0);
    if (!growth || (out && growth->bytes_per_s <= out->bytes_per_s)) continue;
    growth->process = one.process;
    out = growth;
  }
  return out;
}

// It keeps about as much as it reads or receives.
bool KeepsItsInput(const Growth& growth, const SteadySeries& series,
                   bool short_run) {
  for (const char* const name : {"tree_read_chars", "net_receive"}) {
    const double kept = growth.bytes_per_s / series.Find(name).Mean();
    if (kept >= kMinKept && kept <= (short_run ? kMaxUnpacked : kMaxKept))
      return true;
  }
  return false;
}

// Pages that they share may matter in the sum.
bool SeveralAreLarge(const Facts& facts) {
  return std::count_if(facts.processes.begin(), facts.processes.end(),
                       [](const ProcessFacts& p) {
                         return p.rss_peak_bytes.value_or(0) >= kMinBytes;
                       }) > 1;
}

// Java and .NET fill their heap before they collect all of it: what it holds
// then is not known from outside. Their own threads have such names.
bool FillsAHeap(const ProcessFacts& process) {
  return std::any_of(
      process.threads.begin(), process.threads.end(), [](const ThreadFacts& t) {
        return t.name == "VM Thread" || t.name.starts_with(".NET ");
      });
}

std::string InWords(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} seconds", seconds);
  if (seconds < 2 * 3600) return fmt::format("{:.0f} minutes", seconds / 60);
  if (seconds < 2 * 86400) return fmt::format("{:.0f} hours", seconds / 3600);
  return fmt::format("{:.0f} days", seconds / 86400);
}

std::string AdviceOn(const Facts& facts, const ProcessFacts* process) {
  return fmt::format(
      "If the program is not still loading its data, it keeps what it no "
      "longer needs: lists and caches without a bound, results or tensors "
      "with their history (in PyTorch: add loss.item(), not loss). See what "
      "grows: {}",
      MemoryToolFor(*facts.store, process == nullptr ? ""
                                  : process->cmdline.empty()
                                      ? process->name
                                      : process->cmdline));
}

void SayRoom(Finding& f, const Room& room, double bytes_per_s, bool loads) {
  const double left = room.bytes / bytes_per_s;
  if (left < kAtOnceSeconds)
    f.summary += fmt::format("; {} is all but reached", room.of);
  else
    f.summary += fmt::format("; {} is reached in {}", room.of, InWords(left));
  Say(f, fmt::format("{} were left of {}.", FormatBytes(room.bytes), room.of));
  PutNumber(f, "left", room.bytes, Unit::kBytes);
  PutNumber(f, "full_in", left, Unit::kSeconds);
  if (left < kSoonSeconds && !loads) f.severity = Severity::kCritical;
}

}  // namespace

Outcome MemoryLeak(const Case& about) {
  const Facts& facts = about.facts();
  const Steady& steady = about.steady();
  const SteadySeries& series = about.series();
  const SeriesView memory = series.Find("tree_memory");
  if (facts.run.wall_ns < kMinRunNs || memory.part().KnownCount() < kMinWindows)
    return Outcome::NotEnough(
        fmt::format("growth is not judged in less than {} and {} samples",
                    FormatDuration(kMinRunNs), kMinWindows));

  const RegularSeries judged =
      JudgedMemory(memory.part(), series.Find("tree_file_memory").part(),
                   facts.run.begin_ns);
  std::optional<Growth> growth = GrowthOf(judged, BroughtByNew(facts, judged));
  if (!growth) growth = GrowthOfOne(facts, series);
  if (!growth) return {};
  const ProcessFacts* const process =
      growth->process != nullptr ? growth->process
                                 : WhoHasMost(facts, [](const ProcessFacts& p) {
                                     return p.rss_peak_bytes.value_or(0);
                                   });
  if (process != nullptr && FillsAHeap(*process)) return {};
  const bool short_run = facts.run.wall_ns < kShortRunNs;
  const bool loads = KeepsItsInput(*growth, series, short_run);
  if (loads && short_run) return {};

  const Trend& trend = growth->trend;
  const bool of_sum = growth->process == nullptr && SeveralAreLarge(facts);
  Finding f = FindingIn(steady.from_ns, steady.to_ns);
  f.severity = Severity::kInfo;
  f.summary = fmt::format("{} memory grows without end: by {}/s",
                          growth->process != nullptr ? "One process's" : "Its",
                          FormatBytes(growth->bytes_per_s));
  Say(f, fmt::format("{} grew from {} to {}{} and did not fall (p < {:.0e}).",
                     of_sum ? "The memory of its processes, with shared "
                              "pages counted in each,"
                            : "It",
                     FormatBytes(trend.from), FormatBytes(trend.to),
                     trend.steps > 0 ? fmt::format(" in {} steps", trend.steps)
                                     : " steadily",
                     std::max(growth->chance, 1e-9)));
  PutNumber(f, "growth", growth->bytes_per_s, Unit::kBytesPerSecond);
  PutNumber(f, "from", trend.from, Unit::kBytes);
  PutNumber(f, "to", trend.to, Unit::kBytes);
  PutNumber(f, "chance", growth->chance, Unit::kShare);
  if (loads)
    Say(f,
        "The program read or received about as much: it may be loading "
        "data.");
  if (const std::optional<Room> room = RoomOf(facts))
    SayRoom(f, *room, growth->bytes_per_s, loads);
  f.summary += ".";
  if (process != nullptr) {
    PutWhere(f, *process);
    Say(f, fmt::format("{} {}, with {} at most.",
                       growth->process != nullptr ? "It is" : "Most of it is",
                       CallProcess(*process),
                       FormatBytes(*process->rss_peak_bytes)));
  }
  f.advice = AdviceOn(facts, process);
  f.confidence = 0.9 * std::clamp(trend.confidence, 0.5, 1.0);
  return {{std::move(f)}, ""};
}

}  // namespace sonde

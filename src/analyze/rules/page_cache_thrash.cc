// page_cache_thrash: does it read files again because its memory limit pushes
// them out?
//
// Evidence: a cgroup of the run was at its memory limit (kFull) for
// kMostOfTheTime of the steady part, most of that (kCache) was files, and the
// kernel counted pages that were read again soon after they had to be given up:
// at least kMinReread of what the program read, and kMinBytesPerSec. A file
// that is read once fills the cache as well, but nothing of it comes again.
//
// What the cgroup reads again may be others' work: the program must have read
// its part of it. A program that computes all the time does not wait for it.

#include <fmt/format.h>

#include <algorithm>

#include "analyze/facts/part_series.h"
#include "analyze/facts/steady_series.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "analyze/series/counter_pass.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kFull = 0.90;
constexpr double kCache = 0.50;
constexpr double kMinReread = 0.30;
constexpr double kMinBytesPerSec = 4e6;
constexpr double kComputes = 0.40;  // of the cores it may use
constexpr double kPageBytes = 4096;

// One cgroup in the steady part.
struct Thrash {
  const CgroupFacts* cgroup;
  double full_time, memory_bytes, cache_bytes, reread_per_s;
};

Thrash ThrashOf(const Facts& facts, const SteadySeries& series,
                const CgroupFacts& c) {
  const auto sum = [&](const char* counter, double scale) {
    return CounterSum{counter, "bytes", Series::Scope::kMachine,
                      counter, scale,   std::nullopt,
                      c.path};
  };
  const std::vector<RegularSeries> all = SumCounters(
      facts, facts.series->grid,
      {sum("cgroup_memory_bytes", 1), sum("cgroup_memory_cache_bytes", 1),
       sum("cgroup_refaulted_pages", 1e9)});
  const SeriesView memory = series.Of(all[0]);
  const double full_time = series.ShareWhere(
      [&](size_t i) { return memory.At(i) >= kFull * *c.memory_limit_bytes; });
  return {&c, full_time, memory.Mean(), series.Of(all[1]).Mean(),
          series.Of(all[2]).Mean() * kPageBytes};
}

Finding FindingOn(const Facts& facts, const Steady& steady, double read,
                  const Thrash& t) {
  const double limit = *t.cgroup->memory_limit_bytes;
  Finding f = FindingIn(steady.from_ns, steady.to_ns);
  f.summary = fmt::format(
      "The page cache thrashes: the files of the program do not fit into its "
      "memory limit of {}; it reads {}/s, {} of that again.",
      FormatBytes(limit), FormatBytes(read),
      FormatShare(std::min(1.0, t.reread_per_s / read)));
  Say(f, fmt::format("Cgroup {} was full ({} of {} on average, {} of it files "
                     "kept in memory) for {:.0f} % of the steady time.",
                     Printable(t.cgroup->path, 60), FormatBytes(t.memory_bytes),
                     FormatBytes(limit), FormatBytes(t.cache_bytes),
                     t.full_time * 100));
  Say(f, fmt::format("{}/s were read again soon after the limit had pushed "
                     "them out.",
                     FormatBytes(t.reread_per_s)));
  double total = 0;
  for (const ProcessFacts& p : facts.processes)
    total += p.io.read_bytes.value_or(0);
  Say(f, fmt::format("In all the program read {} from storage, {:.1f} times "
                     "the limit.",
                     FormatBytes(total), total / limit));
  PutTime(f, t.full_time);
  PutNumber(f, "read", read, Unit::kBytesPerSecond);
  PutNumber(f, "read_again", t.reread_per_s, Unit::kBytesPerSecond);
  PutNumber(f, "limit", limit, Unit::kBytes);
  PutNumber(f, "cached", t.cache_bytes, Unit::kBytes);
  if (const ProcessFacts* const reader = WhoHasMost(
          facts,
          [](const ProcessFacts& p) { return p.io.read_bytes.value_or(0); })) {
    PutWhere(f, *reader);
    Say(f, fmt::format("Most bytes were read by {}.", CallProcess(*reader)));
  }
  f.advice =
      "What is read is gone from memory before it is wanted again. Raise the "
      "memory limit so that the files fit (docker run --memory, "
      "resources.limits.memory in Kubernetes), make them smaller (compressed, "
      "columnar, a subset), or read them in order and use each piece fully "
      "before the next, instead of here and there. Reading ahead or a faster "
      "disk only makes the same reading quicker.";
  f.confidence = SureOf(t.full_time, 0.95);
  return f;
}

}  // namespace

Outcome PageCacheThrash(const Case& about) {
  const Facts& facts = about.facts();
  const SteadySeries& series = about.series();
  const double read = series.Find("tree_read").Mean();
  const double cores = facts.run.capacity_cores.value_or(1);
  if (series.Computing().Mean() > kComputes * cores) return {};
  for (const CgroupFacts& c : facts.cgroups) {
    if (c.memory_limit_bytes.value_or(0) <= 0 || !c.refaulted_pages) continue;
    const Thrash t = ThrashOf(facts, series, c);
    if (t.full_time >= kMostOfTheTime &&
        t.cache_bytes >= kCache * *c.memory_limit_bytes &&
        t.reread_per_s >= kMinBytesPerSec &&
        t.reread_per_s >= kMinReread * read &&
        read >= kMinReread * t.reread_per_s)
      return {{FindingOn(facts, about.steady(), read, t)}, ""};
  }
  return {};
}

}  // namespace sonde

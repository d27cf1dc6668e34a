// small_files: does it read in many small pieces?
//
// Evidence: for at least kMostOfTheTime of the steady part it made kMinCalls
// read calls a second that brought less than kSmallBytes each, and paid for it:
// a call costs the kernel at most kCallSeconds, and what the calls may have
// cost is kMinCost of its CPU time (who copies files, by kAllKernel in the
// kernel, has the copies made there too, which costs more); or something waited
// for I/O meanwhile, and the reads are what it waited for: kFromDisk of them
// came from storage, and less was written. Programs read a little of something
// all the time, so calls alone are no finding.
//
// Who pays must be who works: processes that spend kMinCost of their time in
// the kernel must have half of the CPU time (kMinPayers). A filter that
// computes at the end of a pipe is not held up by those that fill it. Of
// processes too short to be sampled the kernel's part is not known: if they
// have more than kMaxShort of the CPU time, what the calls may have cost is not
// held to it.
//
// Reads past the page cache are whole blocks, all of them come from storage
// (kNear), and they leave nothing in the cache (kKept). They are no small
// files; how long they take is the disk's matter. So is the time of a large
// file that is read in small pieces: the kernel reads ahead, in requests of
// kSmallBytes and more. And who waits for what it writes does not wait for the
// little that it reads before.
//
// Who sleeps for each call (kSleepsPerCall) is a service: what it reads is a
// request, and comes by a socket or a pipe.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/facts/command_words.h"
#include "analyze/facts/part_series.h"
#include "analyze/facts/steady_series.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kMinCalls = 1000;  // a second
constexpr double kSmallBytes = 64 * 1024;
constexpr double kCallSeconds = 20e-6;  // open, look, read and close a file
constexpr double kMinCost = 0.25;       // of the CPU time
constexpr double kAllKernel = 0.80;     // of the CPU time
constexpr double kCopied = 0.50;        // of what it read, and back
constexpr double kMaxShort = 0.50;      // of the CPU time
constexpr double kMinPayers = 0.50;     // of the CPU time
constexpr double kMinCores = 0.25;      // that it used or was ready to use
constexpr double kWaits = 0.25;
constexpr double kFromDisk = 0.25;
constexpr double kSleepsPerCall = 0.50;
constexpr double kBlock = 4096;
constexpr double kNear = 0.02;
constexpr double kKept = 0.50;

bool Near(double a, double b) { return std::abs(a - b) <= kNear * b; }

// By medians: a program that was itself loaded, or wrote its data first, has
// read otherwise for a while.
bool ReadsBlocks(const SeriesView& calls, const SeriesView& chars,
                 const SeriesView& from_disk) {
  const double bytes = chars.QuantileAt(0.5);
  const double each = bytes / calls.QuantileAt(0.5);
  return Near(from_disk.QuantileAt(0.5), bytes) &&
         Near(each, kBlock * std::max(1.0, std::round(each / kBlock)));
}

// The disks were asked for large pieces.
bool ReadsAhead(const MachineFacts& machine) {
  return machine.disk_reads.value_or(0) > 0 &&
         machine.disk_read_bytes.value_or(0) >=
             kSmallBytes * *machine.disk_reads;
}

// What it reads stays in the page cache, by the second half of the time: at
// first it may have written its data.
bool FillsCache(const Facts& facts, const SteadySeries& series,
                const SeriesView& from_disk) {
  const SeriesView cached =
      series.Of(BytesOfMachine(facts, "mem_cached_bytes"));
  if (!cached.collected() || series.size() < 2) return false;
  const size_t half = series.size() / 2;
  double read = 0;
  for (size_t i = half; i < series.size(); ++i) read += from_disk.At(i);
  read *= facts.series->grid.SecondsOf(1);
  return cached.At(series.size() - 1) - cached.At(half) >= kKept * read;
}

// The processes whose time in the kernel was sampled had most of the CPU time.
bool KernelKnown(const Facts& facts) {
  double shorts = 0;
  for (const ShortProcesses& s : facts.short_processes)
    shorts += s.cpu_share.value_or(0);
  return shorts <= kMaxShort;
}

// The share of the sampled processes' CPU time that those have who spend much
// of theirs in the kernel.
double Payers(const Facts& facts) {
  double paid = 0, all = 0;
  for (const ProcessFacts& p : facts.processes) {
    if (!p.user_ns || !p.system_ns) continue;
    const double system = static_cast<double>(*p.system_ns);
    const double cpu = static_cast<double>(*p.user_ns) + system;
    all += cpu;
    if (system >= kMinCost * cpu) paid += cpu;
  }
  return all > 0 ? paid / all : 1;
}

}  // namespace

Outcome SmallFiles(const Case& about) {
  const Facts& facts = about.facts();
  const Steady& steady = about.steady();
  const SteadySeries& series = about.series();
  const SeriesView calls = series.Find("tree_read_calls");
  const SeriesView chars = series.Find("tree_read_chars");
  const SeriesView system = series.Find("tree_system");

  const double time = series.ShareWhere([&](size_t i) {
    return calls.At(i) >= kMinCalls && chars.At(i) < kSmallBytes * calls.At(i);
  });
  if (time < kMostOfTheTime) return {};
  const double cores = series.Find("tree_cpu").Mean();
  const double ready = cores + series.Find("tree_wait").Mean();
  const double written = series.Find("tree_write").Mean();
  const bool kernel_known = KernelKnown(facts);
  const bool copies = kernel_known && system.Mean() >= kAllKernel * cores &&
                      written >= kCopied * chars.Mean() &&
                      chars.Mean() >= kCopied * written;
  const double limit = kernel_known ? system.Mean() : cores;
  const double cost =
      copies ? limit : std::min(limit, calls.Mean() * kCallSeconds);
  const double cost_share = cores > 0 ? std::min(1.0, cost / cores) : 0;
  const double stalled =
      std::min(1.0, std::max(series.OwnPressure().Mean(),
                             series.Find("cgroup_psi_io").Mean()));
  const double from_disk = series.Find("tree_read").Mean();
  const double each = chars.Mean() / calls.Mean();
  if (ReadsBlocks(calls, chars, series.Find("tree_read")) &&
      !FillsCache(facts, series, series.Find("tree_read")))
    return {};
  if (stalled >= kWaits && written > from_disk &&
      written >= kCopied * chars.Mean())
    return {};
  const bool computes = ready >= kMinCores && cost_share >= kMinCost &&
                        (!kernel_known || Payers(facts) >= kMinPayers) &&
                        (WakeUps(facts) < kSleepsPerCall * calls.Mean() ||
                         from_disk >= kFromDisk * chars.Mean());
  const bool waits = stalled >= kWaits &&
                     from_disk >= kFromDisk * chars.Mean() &&
                     from_disk >= written && !ReadsAhead(facts.machine);
  if (!computes && !waits) return {};

  Finding f = FindingIn(steady.from_ns, steady.to_ns);
  f.summary = fmt::format(
      "Held up by small reads: {:.0f} read calls a second brought {} each.",
      calls.Mean(), FormatBytes(each));
  Say(f, fmt::format("For {:.0f} % of the steady time the program made more "
                     "than {:.0f} calls a second of less than {} each, {}/s "
                     "together.",
                     time * 100, kMinCalls, FormatBytes(kSmallBytes),
                     FormatBytes(chars.Mean())));
  if (computes && kernel_known)
    Say(f, fmt::format("{} of the program's CPU time was spent in the kernel, "
                       "which opens and reads for it.",
                       FormatShare(std::min(1.0, system.Mean() / cores))));
  if (waits)
    Say(f, fmt::format("Something waited for storage {} of the time.",
                       FormatShare(stalled)));
  PutTime(f, time);
  PutNumber(f, "read_calls", calls.Mean(), Unit::kPerSecond);
  PutNumber(f, "bytes_a_call", each, Unit::kBytes);
  PutNumber(f, "read", chars.Mean(), Unit::kBytesPerSecond);
  PutNumber(f, "call_cost", cost_share, Unit::kShare);
  PutNumber(f, "waited", stalled, Unit::kShare);
  if (const ProcessFacts* const caller = WhoHasMost(
          facts,
          [](const ProcessFacts& p) { return p.io.read_calls.value_or(0); })) {
    PutWhere(f, *caller);
    Say(f, fmt::format("Most calls were made by {}.", CallProcess(*caller)));
  }
  f.advice = fmt::format(
      "Opening and reading costs as much as the data itself. Pack the files "
      "into a few large ones (tar, a shard or record format, a database), "
      "keep what is read again in memory, or read larger pieces at once. See "
      "which files the program reads: strace -f -e trace=openat,read {}",
      CommandForShell(*facts.store));
  PutGain(f,
          (cost_share * std::min(1.0, ready) + (waits ? stalled : 0)) *
              series.OfRun(),
          "if the same data came in large pieces");
  f.confidence = SureOf(time, 0.9);
  return {{std::move(f)}, ""};
}

}  // namespace sonde

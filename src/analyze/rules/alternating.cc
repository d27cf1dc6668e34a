// alternating: do computing and I/O take turns?
//
// Evidence: in the steady part, two or more of what a program works with
// (computing, disks, network, accelerator) go up and down in opposition
// (analyze/pattern/alternation.h), and each of them is used to a degree that
// matters. Computing is time in the program's own code: the kernel's part
// belongs to the I/O that it is spent for. What is written counts when it goes
// to the page cache, and fsync waits for it later: so there is also the time
// that the kernel works or something waits for storage, if the disks' work is
// the program's.

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "analyze/facts/steady_series.h"
#include "analyze/pattern/alternation.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"

namespace sonde {
namespace {

// With less to gain, the longest of them is the limit, not that they take
// turns.
constexpr double kMinGain = 0.20;
constexpr double kMinShare = 0.10;  // of the time, each of them
// What counts as use, in its busiest tenth of the time.
constexpr double kMinCores = 0.25;
constexpr double kMinBytesPerSec = 1e6;
constexpr double kMinBusy = 0.10;

constexpr std::string_view kComputing = "tree_cpu";
constexpr std::string_view kStorage = "psi_io";

// One thing that may take turns with others.
struct Player {
  std::string_view name;  // of the series
  const char* call;       // in a sentence
  const char* number;     // as a name of a number
  double least;
  bool loads = false;  // data comes in by it
};
constexpr Player kPlayers[] = {
    {kComputing, "computing", "computing", kMinCores},
    {"tree_read", "reading", "reading", kMinBytesPerSec, true},
    {"tree_write", "writing", "writing", kMinBytesPerSec},
    {kStorage, "the disk", "disk", kMinCores},
    {"net_receive", "receiving", "receiving", kMinBytesPerSec, true},
    {"net_send", "sending", "sending", kMinBytesPerSec},
    {"accelerator", "the accelerator", "accelerator", kMinBusy, true},
};

// Of each moment, the part in which something waits for storage or the kernel
// works for it. Without pressure: in which the disks are busy.
SeriesView Storage(const SteadySeries& series) {
  const SeriesView psi = series.Find(kStorage);
  const SeriesView waits = psi.collected() ? psi : series.Find("disk_busy");
  // Else the kernel works for something else.
  if (waits.QuantileAt(0.9) < kMinBusy) return SeriesView();
  RegularSeries out = waits.part();
  const SeriesView system = series.Find("tree_system");
  for (size_t i = 0; i < out.size(); ++i)
    out.values[i] = std::min(1.0, out.values[i] + system.At(i));
  return SeriesView(std::move(out));
}

SeriesView ViewOf(const SteadySeries& series, std::string_view name) {
  if (name == kComputing) return series.Computing();
  if (name == kStorage) return Storage(series);
  return series.Find(name);
}

// It writes, and nothing comes in.
bool Stores(const SteadySeries& series, const Turns& turns,
            const std::vector<const Player*>& players) {
  for (const size_t member : turns.members)
    if (players[member]->loads) return false;
  return series.Find("tree_write").Mean() > series.Find("tree_read").Mean();
}

const char* AdviceOn(bool stores) {
  return stores
             ? "Let computing and writing overlap: hand what is computed to "
               "another thread or process that writes it, and go on with the "
               "next piece meanwhile. Two buffers and a thread are enough "
               "(in Python: concurrent.futures; in C: io_uring or a second "
               "thread). Or write less: half the precision, compressed, less "
               "often."
             : "Let computing and I/O overlap: load the next piece, or store "
               "the last one, in the background while this one is computed. "
               "Two buffers and a thread are enough (in PyTorch: DataLoader "
               "with num_workers and prefetch_factor; in Python: "
               "concurrent.futures; in C: io_uring or a second thread).";
}

}  // namespace

Outcome Alternating(const Case& about) {
  const Steady& steady = about.steady();
  const SteadySeries& series = about.series();
  std::vector<RegularSeries> parts;
  std::vector<const Player*> players;
  for (const Player& player : kPlayers) {
    if (player.name == kStorage && !series.OwnsDisks()) continue;
    const SeriesView view = ViewOf(series, player.name);
    if (!view.collected()) continue;
    if (view.QuantileAt(0.9) < player.least) continue;
    parts.push_back(view.part());
    players.push_back(&player);
  }
  if (parts.size() < 2) return {};
  const Turns turns = TurnsOf(parts);
  if (turns.members.size() < 2 || turns.gain < kMinGain) return {};
  for (const double share : turns.shares)
    if (share < kMinShare) return {};

  std::string who, times;
  for (size_t i = 0; i < turns.members.size(); ++i) {
    const char* const call = players[turns.members[i]]->call;
    if (i > 0) who += i + 1 == turns.members.size() ? " and " : ", ";
    who += call;
    times += fmt::format("{}{} {}", i > 0 ? ", " : "", call,
                         FormatShare(turns.shares[i]));
  }
  Finding f = FindingIn(steady.from_ns, steady.to_ns);
  f.summary = fmt::format("Takes turns: {} wait for each other.", who);
  f.summary[0] = 'T';
  Say(f, fmt::format("Of the steady time: {}; two at once {}.", times,
                     FormatShare(turns.overlap_share)));
  if (turns.period_s)
    Say(f, fmt::format(
               "One round takes {}.",
               FormatDuration(static_cast<int64_t>(*turns.period_s * 1e9))));
  for (size_t i = 0; i < turns.members.size(); ++i)
    PutNumber(f, players[turns.members[i]]->number, turns.shares[i],
              Unit::kShare);
  PutNumber(f, "two_at_once", turns.overlap_share, Unit::kShare);
  PutNumber(f, "period", turns.period_s, Unit::kSeconds);
  f.advice = AdviceOn(Stores(series, turns, players));
  PutGain(f, turns.gain * series.OfRun(),
          "if the shorter parts ran beside the longest");
  f.confidence = 0.95 * turns.confidence;
  return {{std::move(f)}, ""};
}

}  // namespace sonde

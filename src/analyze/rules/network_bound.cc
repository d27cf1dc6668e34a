// network_bound: does it wait for the network?
//
// Evidence: for at least kMostOfTheTime of the steady part what an interface
// (or all together) receives or sends lies within kBand of one rate, its
// ceiling, while no thread of the program computes or waits for disks.
// What an interface could carry is often not known (a virtual one says 10
// Gbit/s whatever it is cut to), but a flat ceiling with nobody else to blame
// is the network or who is at its other end. Packets come in bursts of up to 64
// kB, so that at low rates the mean of several windows counts (kSmoothBytes);
// below kSmoothFrom it does not, or the mean of many small requests would look
// like a ceiling. Loopback is not counted. An
// interface alone comes first: with a bridge, a bond or both ends in the run
// the same bytes pass several, and others may be busy with something else. The
// counters are of all programs in the network namespaces, so this one must wake
// up often and use some CPU time, as one that moves so much does.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "analyze/facts/part_series.h"
#include "analyze/facts/steady_series.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "analyze/series/counter_scan.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kBand = 0.10;
constexpr double kMinBytesPerSec = 100e3;
constexpr double kSmoothFrom = 250e3;  // bytes/s
constexpr double kSmoothBytes = 640e3;
constexpr size_t kMinSmoothParts = 4;  // of the steady part
constexpr double kComputes = 0.60;     // of a core: a thread that works
constexpr double kWaits = 0.25;
constexpr double kDiskBusy = 0.50;
// It wakes up once for so many bytes at least, and as often as this a second
// where that would be more.
constexpr double kMostBytesAWakeUp = 64e3;
constexpr double kMinWakeUps = 20;
constexpr double kSecondsPerByte = 1e-10;  // of CPU time, at the very least

// A rate that was kept to.
struct Ceiling {
  double bytes_per_s;
  double time;       // share of the steady part
  bool receives;     // else it sends
  std::string link;  // empty: all interfaces together
};

// What else would hold it up, in a window.
struct Blame {
  SeriesView thread, psi, disk;

  explicit Blame(const SteadySeries& series)
      : thread(series.Find("busiest_thread")), psi(series.OwnPressure()) {
    // Of disks that others keep busy the program feels nothing but pressure.
    if (series.OwnsDisks()) disk = series.Find("disk_busy");
  }
  bool Nobody(size_t i) const {
    return thread.At(i) < kComputes && psi.At(i) < kWaits &&
           disk.At(i) < kDiskBusy;
  }
};

// Each window with those before it, as many as bring kSmoothBytes.
SeriesView Smooth(const SeriesView& series) {
  const RegularSeries& part = series.part();
  const double rate = series.Mean();
  const double window_bytes = rate * part.grid.SecondsOf(1);
  if (rate < kSmoothFrom || window_bytes >= kSmoothBytes) return series;
  const size_t count =
      std::min(part.size() / kMinSmoothParts,
               static_cast<size_t>(std::ceil(kSmoothBytes / window_bytes)));
  std::vector<double> sums = {0}, known = {0};
  for (size_t i = 0; i < part.size(); ++i) {
    sums.push_back(sums[i] + series.At(i));
    known.push_back(known[i] + part.known[i]);
  }
  RegularSeries out = part;
  for (size_t i = 0; i < part.size(); ++i) {
    // The first ones with those behind them.
    const size_t to = std::min(part.size(), std::max(i + 1, count));
    const size_t from = to - std::min(to, count);
    out.values[i] =
        (sums[to] - sums[from]) / std::max(1.0, known[to] - known[from]);
  }
  return SeriesView(std::move(out));
}

std::optional<Ceiling> CeilingOf(const SteadySeries& series, const Blame& blame,
                                 const SeriesView& receive,
                                 const SeriesView& send, std::string link) {
  const bool receives = receive.Mean() >= send.Mean();
  const SeriesView main = Smooth(receives ? receive : send);
  const double rate = main.QuantileAt(0.5);
  if (rate < kMinBytesPerSec) return std::nullopt;
  const double time = series.ShareWhere([&](size_t i) {
    return std::abs(main.At(i) - rate) <= kBand * rate && blame.Nobody(i);
  });
  // Nothing may lie far above: then it is no ceiling.
  if (time < kMostOfTheTime || main.QuantileAt(0.95) > (1 + 2 * kBand) * rate)
    return std::nullopt;
  return Ceiling{rate, time, receives, std::move(link)};
}

// Links in other network namespaces than the command's own, which are not in
// the sums of all.
bool HasOtherNetworks(const Facts& facts) {
  const Store& store = *facts.store;
  const auto all = store.Sampled(Series::Scope::kMachine, "net_rx_bytes");
  return std::any_of(all.begin(), all.end(), [&](const Series* row) {
    return !OfOwnNetwork(store.Str(row->label));
  });
}

std::optional<Ceiling> FindCeiling(const Facts& facts,
                                   const SteadySeries& series,
                                   const SeriesView& receive,
                                   const SeriesView& send) {
  const Blame blame(series);
  if (HasOtherNetworks(facts) ||
      std::max(receive.Mean(), send.Mean()) >= kMostOfTheTime * kMinBytesPerSec)
    for (const Link& link : LinksOf(facts))
      if (auto found = CeilingOf(series, blame, series.Of(link.receive),
                                 series.Of(link.send), link.name))
        return found;
  return CeilingOf(series, blame, receive, send, "");
}

}  // namespace

Outcome NetworkBound(const Case& about) {
  const Facts& facts = about.facts();
  const Steady& steady = about.steady();
  const SteadySeries& series = about.series();
  const SeriesView receive = series.Find("net_receive");
  const SeriesView send = series.Find("net_send");
  const std::optional<Ceiling> ceiling =
      FindCeiling(facts, series, receive, send);
  if (!ceiling) return {};
  const double rate = ceiling->bytes_per_s;
  const double time = ceiling->time;
  const double cores = series.Find("tree_cpu").Mean();
  if (cores < kSecondsPerByte * rate ||
      WakeUps(facts) < std::min(kMinWakeUps, rate / kMostBytesAWakeUp))
    return {};

  Finding f = FindingIn(steady.from_ns, steady.to_ns);
  f.summary = fmt::format(
      "Limited by the network: the program {} {}/s all the time, and not "
      "more.",
      ceiling->receives ? "receives" : "sends", FormatBytes(rate));
  Say(f, fmt::format(
             "For {:.0f} % of the steady time the rate {}was within {:.0f} "
             "% of {}/s ({:.0f} Mbit/s).",
             time * 100,
             ceiling->link.empty()
                 ? ""
                 : fmt::format("of {} ", Printable(ceiling->link, 40)),
             kBand * 100, FormatBytes(rate), rate * 8 / 1e6));
  const bool disks_known =
      series.Find("psi_io").collected() || series.Find("disk_busy").collected();
  Say(f, fmt::format("Meanwhile the program used {:.2f} cores{}.", cores,
                     disks_known ? " and did not wait for disks" : ""));
  PutTime(f, time);
  PutNumber(f, ceiling->receives ? "received" : "sent", rate,
            Unit::kBytesPerSecond);
  PutNumber(f, "own_cores", cores, Unit::kCores);
  f.advice = fmt::format(
      "More cores or faster disks will not help. Move less (compress, cache "
      "what is fetched again, fetch only what is needed), bring the data "
      "nearer, or get a faster link: `ethtool INTERFACE` shows its rate, `tc "
      "qdisc` a limit that was set. If the link could carry more, ask who is "
      "at the other end, or use several connections at once.");
  PutGain(f, time * series.OfRun() * (1 - std::min(1.0, cores)),
          "if the data were there already");
  // A program may send at a fixed rate because it means to.
  f.confidence = SureOf(time, 0.8);
  return {{std::move(f)}, ""};
}

}  // namespace sonde

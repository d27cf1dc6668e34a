// checkpoint_stall: does it stand still while it saves?
//
// Evidence: kMinTimes moments and more, each longer than a window, in which
// what the run mainly uses (accelerator or CPU) falls below kDown of what it
// uses when it works, and in which the program writes: kMinBytes at least,
// several times what it writes otherwise, and more than it reads or receives,
// which would be loading. They are kMinShare of the run at least and kMaxShare
// at most, have most of what it writes, and it works for the disk in them: a
// program that writes and then sleeps does not save all the while. The kernel's
// work counts as saving, and a thread that is ready without a core as
// computing.
//
// Turns of less than kShortNs that are kTurns of the run may be those of a
// program that hands on what it computes: `alternating` tells of them, unless
// fsync says that the data was to be kept.

#include <fmt/format.h>

#include <algorithm>

#include "analyze/facts/part_series.h"
#include "analyze/facts/steady_series.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"
#include "base/time.h"

namespace sonde {
namespace {

constexpr size_t kMinTimes = 2;
constexpr double kMinShare = 0.05, kMaxShare = 0.80;  // of the run
constexpr double kMinBytes = 4e6;                     // a save
constexpr double kMinRate = 5e6;  // a second, if nobody knows whether it slept
constexpr double kWritesMore = 3;
constexpr double kMostBytes = 0.5;   // of all that it writes
constexpr double kMostLoaded = 0.5;  // of what it writes: read or received
constexpr double kDown = 0.6;
constexpr double kAtWork = 0.4;  // of a save's time: on a core or blocked
constexpr double kMinSynced = 0.1;
constexpr double kTurns = 0.27;
constexpr int64_t kShortNs = kNsPerSec;
constexpr size_t kMinWindows = 24;
constexpr double kAcceleratorWorks = 0.1;  // share, in its busiest tenth
constexpr double kMinCores = 0.25;         // and cores
constexpr double kOnCore = 0.02;  // with less, what it would do is not known

// Windows [from, to).
struct Stretch {
  size_t from = 0, to = 0;
  size_t size() const { return to - from; }
};

double At(const RegularSeries* series, size_t i) {
  return series != nullptr && i < series->size() && series->known[i]
             ? series->values[i]
             : 0;
}

// The cores that the program's own code uses or would use: of a ready thread's
// waiting as much is computing as of the time that it has.
RegularSeries ComputingAlone(const RunSeries& series) {
  RegularSeries out = ComputingOf(series);
  const RegularSeries* const cpu = series.Find("tree_cpu");
  const RegularSeries* const wait = series.Find("tree_wait");
  for (size_t i = 0; i < out.size(); ++i) {
    const double all = At(cpu, i);
    out.values[i] += At(wait, i) * (all > kOnCore ? out.values[i] / all : 1);
  }
  return out;
}

// Finds the saves of a run.
class Finder {
 public:
  explicit Finder(const Facts& facts) : run_(*facts.series) {
    const RegularSeries* const device = run_.Find("accelerator");
    on_device = device != nullptr && device->KnownCount() >= kMinWindows &&
                Quantile(device->KnownValues(), 0.9) >= kAcceleratorWorks;
    main_ = JudgedOf(facts, on_device ? *device : ComputingAlone(run_));
    work_ = Quantile(main_.KnownValues(), 0.9);
    written_ = run_.Find("tree_write");
    read_ = run_.Find("tree_read_chars") != nullptr
                ? run_.Find("tree_read_chars")
                : run_.Find("tree_read");
    received_ = run_.Find("net_receive");
  }

  bool EnoughKnown() const { return main_.KnownCount() >= kMinWindows; }
  bool Works() const { return on_device || work_ >= kMinCores; }

  void Find() {
    const std::vector<Stretch> dips = Dips();
    outside_.assign(main_.size(), 1);
    for (const Stretch& dip : dips)
      for (size_t i = Around(dip).from; i < Around(dip).to; ++i)
        outside_[i] = 0;
    for (const Stretch& dip : dips)
      if (IsSave(dip)) saves.push_back(dip);
    // What comes last may be the result of the run. It is one more save if
    // there are others.
    if (!saves.empty() && saves.back().to == KnownEnd() &&
        saves.size() <= kMinTimes)
      saves.pop_back();
  }

  // In the series' unit times seconds.
  double Sum(const RegularSeries* series, const Stretch& s) const {
    double sum = 0;
    for (size_t i = s.from; i < s.to; ++i) sum += At(series, i);
    return sum * main_.grid.SecondsOf(1);
  }
  double SumOfSaves(const char* name) const {
    double sum = 0;
    for (const Stretch& s : saves) sum += Sum(run_.Find(name), s);
    return sum;
  }
  double BytesOf(const Stretch& s) const { return Sum(written_, Around(s)); }
  double AllBytes() const { return Sum(written_, {0, main_.size()}); }
  double SecondsOf(const Stretch& s) const {
    return main_.grid.SecondsOf(static_cast<double>(s.size()));
  }
  int64_t BeginOf(const Stretch& s) const { return main_.grid.TimeOf(s.from); }
  int64_t EndOf(const Stretch& s) const {
    return std::min(main_.grid.TimeOf(s.to), main_.grid.end_ns);
  }

  std::vector<Stretch> saves;
  bool on_device = false;

 private:
  size_t KnownEnd() const { return main_.KnownRange().second; }

  // Where it works less, from the first time that it works on. One window of
  // work does not end it.
  std::vector<Stretch> Dips() const {
    std::vector<Stretch> out;
    bool worked = false;
    for (size_t i = 0; i < main_.size(); ++i) {
      if (!main_.known[i]) continue;
      if (main_.values[i] >= kDown * work_) {
        worked = true;
      } else if (worked) {
        if (!out.empty() && i <= out.back().to + 1)
          out.back().to = i + 1;
        else
          out.push_back({i, i + 1});
      }
    }
    std::erase_if(out, [](const Stretch& s) { return s.size() < 2; });
    return out;
  }

  // With a window on each side: what is written may be counted a tick early or
  // late.
  Stretch Around(const Stretch& s) const {
    return {s.from > 0 ? s.from - 1 : 0, std::min(main_.size(), s.to + 1)};
  }

  // A second, outside of the dips.
  double Otherwise(const RegularSeries* series) const {
    double sum = 0, count = 0;
    for (size_t i = 0; i < outside_.size(); ++i) {
      if (!outside_[i] || !main_.known[i]) continue;
      sum += At(series, i);
      ++count;
    }
    return count > 0 ? sum / count : 0;
  }

  bool IsSave(const Stretch& s) const {
    const double seconds = SecondsOf(Around(s));
    const double bytes = BytesOf(s);
    if (bytes < kMinBytes ||
        bytes < kWritesMore * Otherwise(written_) * SecondsOf(s))
      return false;
    for (const RegularSeries* const loaded : {read_, received_})
      if (Sum(loaded, Around(s)) - Otherwise(loaded) * seconds >
          kMostLoaded * bytes)
        return false;
    return true;
  }

  const RunSeries& run_;
  RegularSeries main_;
  double work_ = 0;  // what it uses when it works
  const RegularSeries *written_ = nullptr, *read_ = nullptr,
                      *received_ = nullptr;
  std::vector<uint8_t> outside_;  // by window: of no dip
};

// Somebody looked in which state its threads are.
bool StatesKnown(const Facts& facts) {
  const Store& store = *facts.store;
  for (const auto& [id, row] : store.series())
    if (row.scope == Series::Scope::kThread &&
        store.Str(row.name) == "sleeps_in")
      return true;
  return facts.series->Find("tree_blocked") != nullptr;
}

// The saves together.
struct Total {
  double seconds = 0, longest_s = 0, bytes = 0;
  double blocked_s = 0, synced_s = 0;
};

Total TotalOf(const Finder& finder) {
  Total out;
  for (const Stretch& s : finder.saves) {
    out.seconds += finder.SecondsOf(s);
    out.longest_s = std::max(out.longest_s, finder.SecondsOf(s));
    out.bytes += finder.BytesOf(s);
  }
  out.blocked_s = std::min(out.seconds, finder.SumOfSaves("tree_blocked"));
  out.synced_s = std::min(out.blocked_s, finder.SumOfSaves("tree_sync"));
  return out;
}

// It is on a core or waits for a disk while it saves, and does not sleep.
bool WorksForTheDisk(const Facts& facts, const Finder& finder,
                     const Total& sum) {
  if (!StatesKnown(facts)) return sum.bytes >= kMinRate * sum.seconds;
  return finder.SumOfSaves("tree_cpu") + finder.SumOfSaves("tree_wait") +
             sum.blocked_s >=
         kAtWork * sum.seconds;
}

std::string Seconds(double seconds) {
  return FormatDuration(static_cast<int64_t>(seconds * 1e9));
}

Finding Tell(const Finder& finder, const Steady& steady, const Total& sum,
             double share) {
  const size_t times = finder.saves.size();
  const double count = static_cast<double>(times);
  Finding f = FindingIn(steady.from_ns, steady.to_ns);
  f.summary = fmt::format(
      "Stands still while saving: {} times, {} of the time, for {}.", times,
      FormatShare(share), FormatBytes(sum.bytes));
  Say(f, fmt::format("The {} had less to do {} times while {} each were "
                     "written: for {} each and {} at most, at {}/s.",
                     finder.on_device ? "accelerator" : "CPU", times,
                     FormatBytes(sum.bytes / count),
                     Seconds(sum.seconds / count), Seconds(sum.longest_s),
                     FormatBytes(sum.bytes / sum.seconds)));
  const Stretch& first = finder.saves[0];
  f.evidence.push_back({fmt::format("The first save took {} for {}.",
                                    Seconds(finder.SecondsOf(first)),
                                    FormatBytes(finder.BytesOf(first))),
                        finder.BeginOf(first), finder.EndOf(first)});
  PutNumber(f, "saves", count, Unit::kCount);
  PutNumber(f, "of_run", share, Unit::kShare);
  PutNumber(f, "saved", sum.bytes, Unit::kBytes);
  PutNumber(f, "each", sum.seconds / count, Unit::kSeconds);
  PutNumber(f, "longest", sum.longest_s, Unit::kSeconds);
  PutNumber(f, "in_fsync", sum.synced_s / sum.seconds, Unit::kShare);
  const bool synced = sum.synced_s >= kMinSynced * sum.seconds;
  if (synced)
    Say(f, fmt::format("The program waited in fsync for {} of this time.",
                       FormatShare(sum.synced_s / sum.seconds)));
  f.advice = fmt::format(
      "Save in the background: copy the state to memory, go on, and let "
      "another thread or process write it (in PyTorch: "
      "torch.distributed.checkpoint.async_save). Or save less often, less "
      "(shards, no optimizer state every time), or to a faster disk{}.",
      synced ? ", and do not fsync each file" : "");
  // What it waits for the disk another thread can wait for; what it computes
  // for the save may slow down the rest.
  PutGain(f, share, "if the program went on while it saves",
          share * sum.blocked_s / sum.seconds);
  f.confidence = 0.8;
  return f;
}

}  // namespace

Outcome CheckpointStall(const Case& about) {
  const Facts& facts = about.facts();
  const Steady& steady = about.steady();
  Finder finder(facts);
  if (!finder.EnoughKnown())
    return Outcome::NotEnough("too few moments are known");
  if (!finder.Works()) return {};
  finder.Find();
  const Total sum = TotalOf(finder);
  const double share = std::min(1.0, sum.seconds * 1e9 / facts.JudgedNs());
  if (finder.saves.size() < kMinTimes || share < kMinShare ||
      share > kMaxShare || sum.bytes < kMostBytes * finder.AllBytes() ||
      !WorksForTheDisk(facts, finder, sum))
    return {};
  const double each_ns =
      sum.seconds * 1e9 / static_cast<double>(finder.saves.size());
  if (share >= kTurns && each_ns < static_cast<double>(kShortNs) &&
      sum.synced_s < kMinSynced * sum.seconds && about.Found(Alternating))
    return {};
  return {{Tell(finder, steady, sum, share)}, ""};
}

}  // namespace sonde

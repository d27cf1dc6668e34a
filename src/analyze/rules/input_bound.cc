// input_bound, input_cpu_saturated, input_storage_bound and
// input_storage_latency: does the accelerator wait for data, and why?
//
// They share one question, so they share a file. Evidence for the first: one
// accelerator or more have nothing to do for kMinIdle of the time; the thread
// that feeds them waits as well (kMaxConsumer; or kMaxConsumerIdle of the idle
// time: while the accelerator works it may wait for it on a core, as CUDA
// does); and meanwhile others load, which is seen by their CPU time or by what
// they read. Those that are busier are left out: one of eight that waits is not
// hidden by the others. Where the time is known to be waited for the input
// itself, 5 % is worth a word; an idle device may have other reasons, and one
// that is 90 % busy is well, so here it is 10 %.
//
// Or nobody loads but that thread itself, between the steps: then it is on a
// core about as long as the accelerators idle (kSelfNear), and never fills it
// (kMaxSelf). Turns that samples can tell apart are left to `alternating`.
//
// The other three say what loading itself is short of: cores (kBusy of them for
// kMinTime of the time), the disk (kDiskBusy, or kIoWait), or answers (reads of
// less than kSmallRead that take kSlowReadS each). How long a read takes is not
// recorded: it is the loaders' time off the CPU by the number of reads, and
// only believed if they slept about as often as they read (kSleepsPerRead) and
// something waited for storage (kWaitsAtAll).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/facts/accelerators.h"
#include "analyze/facts/input_work.h"
#include "analyze/facts/steady.h"
#include "analyze/facts/steady_series.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr double kMinIdle = 0.10;
constexpr double kHighIdle = 0.20;
constexpr double kMaxConsumer = 0.70;
constexpr double kMaxConsumerIdle = 0.50;  // of the idle time
constexpr double kMaxSelf = 0.90;
constexpr double kSelfNear = 0.30;  // of the idle time
constexpr double kLoaderCores = 0.30;
constexpr double kReadBytes = 1e6;  // a second, from storage
constexpr double kReadChars = 64e3;
constexpr double kReadCalls = 10;
constexpr double kBusy = 0.90;
constexpr double kMinTime = 0.60;
constexpr double kDiskBusy = 0.80;
constexpr double kIoWait = 0.50;
constexpr double kSmallRead = 64 * 1024;
constexpr double kSlowReadS = 0.005;
constexpr double kSleepsPerRead = 0.5;
constexpr double kWaitsAtAll = 0.10;  // of the time, by pressure

// What all four look at. `found` is the first one's answer.
struct Feed {
  Accelerators devices;  // that idle, and tell how busy they are
  InputWork work;
  double idle = 0;
  bool by_cpu = false, by_disk = false, by_reads = false, by_self = false;
  bool found = false;
};

Feed FeedOf(const Case& about) {
  Feed in;
  in.devices = about.accelerators();
  in.devices.Keep([](const Accelerator& d) {
    return d.busy_known() && 1 - d.busy_mean >= kMinIdle;
  });
  if (in.devices.used.empty()) return in;
  in.idle = in.devices.IdleShare();
  in.work = InputWorkOf(about.facts(), in.devices);
  in.by_cpu = in.work.loader_cores >= kLoaderCores;
  in.by_disk = in.work.read_bytes_s.value_or(0) >= kReadBytes;
  in.by_reads = in.work.read_chars_s.value_or(0) >= kReadChars &&
                in.work.read_calls_s.value_or(0) >= kReadCalls;
  if (!in.work.consumer_cores) return in;
  const double consumer = *in.work.consumer_cores;
  const bool waits = consumer < kMaxConsumer ||
                     consumer - (1 - in.idle) < kMaxConsumerIdle * in.idle;
  in.found = waits && (in.by_cpu || in.by_disk || in.by_reads);
  in.by_self = !in.found && !in.by_cpu && !in.by_reads && consumer < kMaxSelf &&
               std::abs(consumer - in.idle) <= kSelfNear * in.idle &&
               !about.Found(Alternating);
  in.found |= in.by_self;
  return in;
}

// What they all begin with.
Finding Begin(const Facts& facts, const Feed& in) {
  Finding f = FindingIn(in.devices.from_ns, in.devices.to_ns);
  if (in.idle >= kHighIdle) f.severity = Severity::kCritical;
  for (const Accelerator& d : in.devices.used)
    Say(f, fmt::format("{} was busy {} of the time.", d.Call(),
                       FormatShare(d.busy_mean)));
  const ProcessFacts& consumer = *in.work.consumers[0];
  SayOfRun(
      f, facts,
      fmt::format("The main thread of {} was on a core {} of the time: it {}.",
                  CallProcess(consumer),
                  FormatShare(in.work.consumer_cores.value_or(0)),
                  in.by_self ? "prepares the data itself, between the steps"
                             : "waits as well"));
  PutWhere(f, consumer);
  PutNumber(f, "idle", in.idle, Unit::kShare);
  PutNumber(f, "main_thread_cores", in.work.consumer_cores, Unit::kCores);
  PutNumber(f, "own_cores", in.work.tree_cores, Unit::kCores);
  PutNumber(f, "loader_cores", in.work.loader_cores, Unit::kCores);
  PutNumber(f, "read", in.work.read_bytes_s, Unit::kBytesPerSecond);
  PutNumber(f, "read_calls", in.work.read_calls_s, Unit::kPerSecond);
  f.gain = Gain{in.idle * in.devices.OfRun(facts),
                "if the accelerator never waited"};
  f.confidence = (in.by_cpu ? 0.85 : 0.7) * std::min(1.0, 0.7 + in.idle);
  return f;
}

std::string Waiters(const Feed& in) {
  std::vector<const Accelerator*> all;
  for (const Accelerator& d : in.devices.used) all.push_back(&d);
  return CallDevices(all);
}

std::string Verb(const Feed& in) {
  return in.devices.used.size() == 1 ? "waits" : "wait";
}

// "1.2 cores load data (python3, 2 processes)": what goes on meanwhile.
std::string Loading(const Feed& in) {
  if (in.by_self) return "the main thread prepares data";
  if (in.by_cpu)
    return fmt::format("{:.1f} cores prepare data", in.work.loader_cores);
  if (in.by_disk)
    return fmt::format("{}/s are read from storage",
                       FormatBytes(*in.work.read_bytes_s));
  return fmt::format("{:.0f} reads a second are made", *in.work.read_calls_s);
}

void AddLoaders(const Facts& facts, const Feed& in, Finding& f) {
  if (in.work.loader_cores > 0)
    Say(f,
        fmt::format(
            "While the accelerator idled, {:.2f} cores worked, {:.2f} of "
            "them outside the main thread{}.",
            in.work.tree_cores, in.work.loader_cores,
            in.work.loader_names.empty() ? "" : ": " + in.work.loader_names));
  if (in.work.read_bytes_s.value_or(0) > 0)
    Say(f, fmt::format("Meanwhile {}/s came from storage.",
                       FormatBytes(*in.work.read_bytes_s)));
  if (in.work.read_calls_s.value_or(0) > 0 && in.work.read_chars_s)
    SayOfRun(f, facts,
             fmt::format(
                 "The loaders made {:.0f} reads a second of {} each.",
                 *in.work.read_calls_s,
                 FormatBytes(*in.work.read_chars_s / *in.work.read_calls_s)));
}

// What to do about it: by what loading itself is short of, if that is known.
std::string AdviceOn(const Case& about) {
  for (const RuleFunction why :
       {InputStorageBound, InputStorageLatency, InputCpuSaturated})
    if (about.Found(why)) return about.Of(why).findings[0].advice;
  const double cores = about.facts().run.capacity_cores.value_or(0);
  return fmt::format(
      "Data comes too slowly. Prepare more data at the same time and ahead "
      "of its use: PyTorch's DataLoader(num_workers={}, prefetch_factor=4, "
      "pin_memory=True, persistent_workers=True), tf.data's "
      "map(num_parallel_calls=AUTOTUNE).prefetch(AUTOTUNE). Then do less for "
      "each sample: decode and resize once, store the result.",
      cores >= 2 ? fmt::format("{:.0f}", cores) : "2");
}

}  // namespace

Outcome InputBound(const Case& about) {
  const Facts& facts = about.facts();
  const Feed& in = about.Once(FeedOf);
  if (!in.found) return {};
  Finding f = Begin(facts, in);
  f.summary =
      fmt::format("Limited by its input: {} {} {} of the time while {}.",
                  Waiters(in), Verb(in), FormatShare(in.idle), Loading(in));
  AddLoaders(facts, in, f);
  f.advice = AdviceOn(about);
  return {{std::move(f)}, ""};
}

Outcome InputCpuSaturated(const Case& about) {
  const Facts& facts = about.facts();
  const Feed& in = about.Once(FeedOf);
  if (!in.found || !in.by_cpu) return {};
  const double capacity = *facts.run.capacity_cores;
  const double time =
      in.devices
          .ShareWhere(facts, "tree_cpu",
                      [&](double cores) { return cores >= kBusy * capacity; })
          .value_or(0);
  if (time < kMinTime) return {};
  Finding f = Begin(facts, in);
  f.summary = fmt::format(
      "Limited by the CPU that prepares its input: {} {} {} of the time while "
      "all {:g} cores work.",
      Waiters(in), Verb(in), FormatShare(in.idle), capacity);
  Say(f, fmt::format("At least {:.0f} % of {:g} cores were busy for "
                     "{:.0f} % of the time.",
                     kBusy * 100, capacity, time * 100));
  PutTime(f, time);
  PutNumber(f, "allowed_cores", capacity, Unit::kCores);
  AddLoaders(facts, in, f);
  f.advice =
      "More loaders will not help: there is no core left for them. Make each "
      "sample cheaper (decode and augment once and store the result, use a "
      "faster codec), move the augmentation to the accelerator "
      "(torchvision's transforms.v2 on CUDA tensors, NVIDIA DALI), or use a "
      "machine with more cores.";
  return {{std::move(f)}, ""};
}

Outcome InputStorageBound(const Case& about) {
  const Facts& facts = about.facts();
  const Feed& in = about.Once(FeedOf);
  if (!in.found || !in.by_disk) return {};
  const MaybeNumber disk = in.devices.WhileIdle(facts, "disk_busy");
  const MaybeNumber pressure = in.devices.WhileIdle(facts, "psi_io");
  MaybeNumber iowait = in.devices.WhileIdle(facts, "iowait");
  if (iowait)
    *iowait /= std::max(1.0, static_cast<double>(facts.machine.cores));
  if (disk.value_or(0) < kDiskBusy && pressure.value_or(0) < kIoWait &&
      iowait.value_or(0) < kIoWait)
    return {};
  // Disks and pressure are the machine's: somebody else may keep them busy.
  if (!about.series().OwnsDisks()) return {};
  Finding f = Begin(facts, in);
  f.summary = fmt::format(
      "Limited by the storage its input comes from: {} {} {} of the time while "
      "{}/s are read.",
      Waiters(in), Verb(in), FormatShare(in.idle),
      FormatBytes(*in.work.read_bytes_s));
  const auto say = [&](const MaybeNumber& share, const char* what) {
    if (share)
      Say(f, fmt::format("While the accelerator idled, {} {} of the time.",
                         what, FormatShare(std::min(1.0, *share))));
  };
  PutNumber(f, "disk_busy", disk, Unit::kShare);
  PutNumber(f, "waited", pressure, Unit::kShare);
  PutNumber(f, "iowait", iowait, Unit::kShare);
  say(disk, "the busiest disk was busy");
  say(pressure, "something waited for storage");
  say(iowait, "the cores idled for that reason");
  AddLoaders(facts, in, f);
  f.advice =
      "The disk is the bottleneck. Keep the data nearer (copy it to a local "
      "NVMe disk or to /dev/shm before the run), store it smaller, or pack "
      "many samples into large files that are read from front to back "
      "(WebDataset, TFRecord, Parquet). `iostat -x 1` shows the disk at work.";
  return {{std::move(f)}, ""};
}

Outcome InputStorageLatency(const Case& about) {
  const Facts& facts = about.facts();
  const Feed& in = about.Once(FeedOf);
  const InputWork& w = in.work;
  if (!in.found || !in.by_reads || w.loaders == 0 || !w.sleeps_s) return {};
  const double size = *w.read_chars_s / *w.read_calls_s;
  // Reads of a pipe, such as a queue, make nobody wait for storage.
  if (in.devices.WhileIdle(facts, "psi_io").value_or(1) < kWaitsAtAll)
    return {};
  const double off_cpu =
      std::max(0.0, static_cast<double>(w.loaders) - w.loader_cores);
  const double each_s = off_cpu / *w.read_calls_s;
  if (size >= kSmallRead || each_s < kSlowReadS ||
      *w.sleeps_s < kSleepsPerRead * *w.read_calls_s)
    return {};
  Finding f = Begin(facts, in);
  f.summary = fmt::format(
      "Limited by slow answers of its storage: {} {} {} of the time for reads "
      "of {} that take about {} each.",
      Waiters(in), Verb(in), FormatShare(in.idle), FormatBytes(size),
      FormatDuration(static_cast<int64_t>(each_s * 1e9)));
  AddLoaders(facts, in, f);
  SayOfRun(
      f, facts,
      fmt::format("{} loader{} slept {:.0f} times a second, and used {:.2f} "
                  "cores.",
                  w.loaders, w.loaders == 1 ? "" : "s", *w.sleeps_s,
                  w.loader_cores));
  PutNumber(f, "bytes_a_call", size, Unit::kBytes);
  PutNumber(f, "call_time", each_s, Unit::kSeconds);
  PutNumber(f, "sleeps", w.sleeps_s, Unit::kPerSecond);
  f.advice =
      "Each read waits for its answer. Read more at a time: pack samples into "
      "large files (WebDataset, TFRecord, Parquet), ask for several at once "
      "(more loaders, they only wait), or copy the data to a local disk first. "
      "`strace -f -T -e trace=read,pread64,openat COMMAND` shows how long each "
      "read takes.";
  f.confidence *= 0.8;
  return {{std::move(f)}, ""};
}

}  // namespace sonde

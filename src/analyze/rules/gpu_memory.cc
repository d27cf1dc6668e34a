// device_memory_full, gpu_memory_uneven, gpu_and_memory_free and
// gpu_memory_full_gpu_free: is the accelerators' memory used well?
//
// Four short questions about one series, so one file. The first looks at the
// peak (kFull). The others cut the judged time into stretches of ten seconds,
// or ten of them if that is less, and let each vote; a finding needs
// kSeveral of the votes and is a warning from kMost on. Every device is judged,
// not the first one only.
//  - uneven: of two devices or more, the fullest and the emptiest differ by
//    kUneven of their memory, or by kUneven of the fullest; not if even the
//    fullest has less than kEmpty.
//  - free: busy by less than kBusy, and memory below kMemory.
//  - full, but free: busy by less than kBusy, and memory from kMemory on.

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "analyze/facts/accelerators.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"
#include "base/time.h"

namespace sonde {
namespace {

constexpr double kFull = 0.90;
constexpr double kUneven = 0.15;
constexpr double kEmpty = 0.01;
constexpr double kBusy = 0.85;
constexpr double kMemory = 0.80;
constexpr double kSeveral = 0.30;
constexpr double kMost = 0.80;
constexpr int64_t kStretchNs = 10 * kNsPerSec;
constexpr size_t kStretches = 10;
constexpr double kRounding = 1e-9;  // of a mean of equal values

// What each device did in one stretch.
struct Use {
  const Accelerator* device;
  double busy, memory;
};

// A share of the votes, with the means over the stretches that voted for it.
struct Votes {
  size_t yes = 0, all = 0;
  double share() const {
    return all == 0 ? 0 : static_cast<double>(yes) / static_cast<double>(all);
  }
};

// Calls `judge` with each stretch, which answers for the devices it is given:
// those whose memory, and if `busy` is asked for also that, is known there.
Votes VotesOf(const Accelerators& devices,
              const std::vector<const Accelerator*>& asked, bool busy,
              const std::function<bool(const std::vector<Use>&)>& judge) {
  const size_t size = devices.idle.size();
  const size_t in_ten_s = static_cast<size_t>(
      std::max<int64_t>(1, kStretchNs / devices.grid.step_ns));
  const size_t length =
      std::max<size_t>(1, std::min(in_ten_s, size / kStretches));
  Votes votes;
  for (size_t from = 0; from + length <= size; from += length) {
    std::vector<Use> uses;
    for (const Accelerator* const d : asked) {
      const RegularSeries memory = d->memory.Part(from, from + length);
      const RegularSeries work = d->busy.Part(from, from + length);
      if (memory.KnownCount() == 0 || (busy && work.KnownCount() == 0))
        continue;
      uses.push_back({d, work.Mean(), memory.Mean()});
    }
    if (uses.empty()) continue;
    ++votes.all;
    votes.yes += judge(uses);
  }
  return votes;
}

std::string Words(const Votes& votes) {
  return fmt::format("The finding held in {} of {} stretches of the time.",
                     votes.yes, votes.all);
}

Finding Begin(const Accelerators& devices, const Votes& votes) {
  Finding f = FindingIn(devices.from_ns, devices.to_ns);
  if (votes.share() < kMost) f.severity = Severity::kInfo;
  f.confidence = std::min(0.9, 0.4 + 0.5 * votes.share());
  PutNumber(f, "stretches", votes.share(), Unit::kShare);
  return f;
}

void SayUse(Finding& f, const Accelerator& d) {
  Say(f, d.busy_known()
             ? fmt::format("{}: busy {} of the time, {} of its memory used.",
                           d.Call(), FormatShare(d.busy_mean),
                           FormatShare(d.memory_mean))
             : fmt::format("{}: {} of its memory used.", d.Call(),
                           FormatShare(d.memory_mean)));
}

// Devices that are less than kBusy busy while their memory is `full`, or not.
Outcome Free(const Case& about, bool full) {
  const Accelerators& devices = about.accelerators();
  std::vector<const Accelerator*> found;
  Votes most;
  for (const Accelerator& d : devices.used) {
    const Votes votes =
        VotesOf(devices, {&d}, true, [&](const std::vector<Use>& uses) {
          return uses[0].busy < kBusy - kRounding &&
                 (uses[0].memory >= kMemory - kRounding) == full;
        });
    if (votes.share() < kSeveral) continue;
    found.push_back(&d);
    if (votes.share() > most.share()) most = votes;
  }
  if (found.empty()) return {};
  Finding f = Begin(devices, most);
  f.summary =
      full ? fmt::format("The memory of {} is full, but {} could compute more.",
                         CallDevices(found), found.size() == 1 ? "it" : "they")
           : fmt::format("Both {} and {} memory have room to spare.",
                         CallDevices(found),
                         found.size() == 1 ? "its" : "their");
  for (const Accelerator* const d : found) SayUse(f, *d);
  PutNumber(f, "busy", found[0]->busy_mean, Unit::kShare);
  PutNumber(f, "memory_share", found[0]->memory_mean, Unit::kShare);
  Say(f, Words(most));
  f.advice =
      full ? "A larger batch does not fit. Make what is in memory smaller: "
             "lower precision (torch.autocast), activation checkpointing, an "
             "optimiser with less state; then raise the batch. Or overlap the "
             "input with the computation."
           : "Raise the batch size, or let the compiler fuse small operations "
             "(torch.compile, XLA), so that the accelerator has more to do at "
             "once.";
  return {{std::move(f)}, ""};
}

}  // namespace

Outcome DeviceMemoryFull(const Case& about) {
  const Accelerators& devices = about.accelerators();
  std::vector<const Accelerator*> full;
  Finding f = FindingIn(devices.from_ns, devices.to_ns);
  for (const Accelerator& d : devices.used) {
    const double peak = d.facts->memory_peak_share.value_or(0);
    if (!d.memory_known() || peak <= kFull) continue;
    if (full.empty()) {
      PutNumber(f, "memory_peak_share", peak, Unit::kShare);
      PutNumber(f, "memory_share", d.memory_mean, Unit::kShare);
      PutNumber(f, "memory_total", d.facts->memory_total_bytes, Unit::kBytes);
    }
    full.push_back(&d);
    Say(f, fmt::format("{} used at most {} of its {} ({}), {} on average.",
                       d.Call(), FormatBytes(*d.facts->memory_peak_bytes),
                       FormatBytes(*d.facts->memory_total_bytes),
                       FormatShare(peak), FormatShare(d.memory_mean)));
  }
  if (full.empty()) return {};
  f.summary = fmt::format(
      "The memory of {} is at its limit: a little more, and the run fails or "
      "slows down.",
      CallDevices(full));
  f.advice =
      "Lower the batch size, or what each sample takes: lower precision "
      "(torch.autocast), activation checkpointing, gradient accumulation, "
      "offloading of optimiser state. Frameworks that reserve all memory at "
      "once (TensorFlow, JAX) look the same and may be fine: ask them "
      "(torch.cuda.memory_summary(), XLA_PYTHON_CLIENT_PREALLOCATE=false).";
  f.confidence = 0.7;
  return {{std::move(f)}, ""};
}

Outcome GpuMemoryUneven(const Case& about) {
  const Accelerators& devices = about.accelerators();
  std::vector<const Accelerator*> all;
  for (const Accelerator& d : devices.used)
    if (d.memory_known()) all.push_back(&d);
  if (all.size() < 2) return {};
  const Votes votes =
      VotesOf(devices, all, false, [](const std::vector<Use>& uses) {
        const auto [least, most] = std::minmax_element(
            uses.begin(), uses.end(),
            [](const Use& a, const Use& b) { return a.memory < b.memory; });
        const double apart = most->memory - least->memory;
        return most->memory >= kEmpty &&
               (apart > kUneven || apart > kUneven * most->memory);
      });
  if (votes.share() < kSeveral) return {};
  const auto [least, most] = std::minmax_element(
      all.begin(), all.end(), [](const Accelerator* a, const Accelerator* b) {
        return a->memory_mean < b->memory_mean;
      });
  Finding f = Begin(devices, votes);
  f.summary = fmt::format(
      "The work is spread unevenly: GPU {} uses {} of its memory, GPU {} only "
      "{}.",
      (*most)->facts->index, FormatShare((*most)->memory_mean),
      (*least)->facts->index, FormatShare((*least)->memory_mean));
  PutNumber(f, "fullest", (*most)->memory_mean, Unit::kShare);
  PutNumber(f, "emptiest", (*least)->memory_mean, Unit::kShare);
  for (const Accelerator* const d : all) SayUse(f, *d);
  Say(f, Words(votes));
  f.advice =
      "The fullest device limits the batch of all. Give each device the "
      "same: with PyTorch use DistributedDataParallel (torchrun) instead of "
      "DataParallel, which keeps more on the first device; with model "
      "parallelism, move layers from the fullest to the emptiest. Horovod "
      "does the same for other frameworks.";
  return {{std::move(f)}, ""};
}

Outcome GpuAndMemoryFree(const Case& about) { return Free(about, false); }
Outcome GpuMemoryFullGpuFree(const Case& about) { return Free(about, true); }

}  // namespace sonde

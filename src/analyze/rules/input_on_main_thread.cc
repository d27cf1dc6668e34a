// input_on_main_thread: does the thread that trains load the data itself?
//
// Evidence: the main thread of a Python process was below the function by which
// PyTorch's DataLoader fetches a batch, without workers, for kMinShare of the
// time, at work or asleep. What it called there longest, of the program's own
// functions and of torchvision's transforms, is the transform to look at.
//
// The gain: workers fetch meanwhile, and the thread has its other work left;
// and all of the CPU time still has to be done on the cores that there are.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analyze/facts/steady.h"
#include "analyze/rules/rules.h"
#include "analyze/rules/weigh.h"
#include "base/text.h"
#include "store/stack_names.h"
#include "store/stack_sums.h"

namespace sonde {
namespace {

constexpr double kMinShare = 0.3;
constexpr uint64_t kFewestSamples = 20;
constexpr std::string_view kFetch = "/torch/utils/data/_utils/fetch.py";
constexpr std::string_view kWorker = "/torch/utils/data/_utils/worker.py";

// Part of the function around it, to people.
bool IsInner(std::string_view name) {
  for (const std::string_view one :
       {"<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>"})
    if (name.ends_with(one)) return true;
  return false;
}

bool IsTransform(const Function& f) {
  return f.language == "python" && !IsInner(f.name) &&
         (!IsLibrary(f.file) ||
          f.file.find("/torchvision/transforms/") != std::string_view::npos);
}

// What one main thread fetched.
struct Fetched {
  double ns = 0;
  uint64_t samples = 0;
  // Function, and the line with the most time in it.
  std::map<uint32_t, std::map<uint32_t, double>> transforms;
};

// Finds the fetching in stacks, by thread.
std::map<uint32_t, Fetched> FetchedIn(const Store& store, StackNames& names) {
  std::map<uint32_t, Fetched> out;
  std::vector<StackPlace> places;
  for (const StackSum& sum : SumStacks(store)) {
    names.Of(sum.stack, places);
    size_t fetch = places.size();
    bool worker = false;
    for (size_t i = 0; i < places.size(); ++i) {
      const std::string_view file = names.functions()[places[i].function].file;
      if (file.ends_with(kFetch)) fetch = i;
      worker |= file.ends_with(kWorker);
    }
    if (fetch == places.size() || worker) continue;
    const double ns = static_cast<double>(sum.running_ns) +
                      static_cast<double>(sum.waiting_ns);
    Fetched& one = out[sum.thread];
    one.ns += ns;
    one.samples += sum.running + sum.waiting;
    for (size_t i = 0; i < fetch; ++i) {
      if (!IsTransform(names.functions()[places[i].function])) continue;
      one.transforms[places[i].function][places[i].line] += ns;
      break;
    }
  }
  return out;
}

// The transform with the most time, and that time.
std::pair<CodeLine, double> Costliest(const Fetched& fetched,
                                      const StackNames& names) {
  std::pair<CodeLine, double> best;
  for (const auto& [function, lines] : fetched.transforms) {
    double sum = 0, most = 0;
    uint32_t hottest = 0;
    for (const auto& [line, ns] : lines) {
      sum += ns;
      if (ns <= most) continue;
      most = ns;
      hottest = line;
    }
    if (sum <= best.second) continue;
    const Function& f = names.functions()[function];
    best = {{f.name, std::string(f.file), hottest}, sum};
  }
  return best;
}

}  // namespace

Outcome InputOnMainThread(const Case& about) {
  const Facts& facts = about.facts();
  StackNames names(*facts.store);
  const std::map<uint32_t, Fetched> all = FetchedIn(*facts.store, names);
  const ProcessFacts* process = nullptr;
  const Fetched* fetched = nullptr;
  for (const ProcessFacts& p : facts.processes)
    for (const ThreadFacts& t : p.threads) {
      const auto at = all.find(t.row.number);
      if (t.row.tid != p.row.pid || at == all.end() ||
          (fetched != nullptr && at->second.ns <= fetched->ns))
        continue;
      process = &p;
      fetched = &at->second;
    }
  if (fetched == nullptr || fetched->samples < kFewestSamples) return {};
  const double wall = static_cast<double>(
      std::max<int64_t>(1, std::min(process->wall_ns, facts.run.sampled_ns)));
  const double share = std::min(1.0, fetched->ns / wall);
  if (share < kMinShare) return {};
  const auto [transform, transform_ns] = Costliest(*fetched, names);
  const double cores = *facts.run.capacity_cores;

  Finding f = FindingIn(about.steady().from_ns, about.steady().to_ns);
  PutWhere(f, *process);
  for (const ThreadFacts& t : process->threads)
    if (t.row.tid == process->row.pid) {
      f.where.thread = t.row.number;
      f.where.tid = t.row.tid;
      f.where.thread_name = t.name;
    }
  f.summary = fmt::format(
      "Input on the main thread: {} loads its data itself for {} of the "
      "time{}.",
      CallProcess(*process), FormatShare(share),
      transform.known() ? ", most of all in " + CallLine(transform) : "");
  SayOfRun(f, facts,
           fmt::format("The main thread fetched batches (DataLoader without "
                       "workers) for {} of {}.",
                       FormatDuration(static_cast<int64_t>(fetched->ns)),
                       FormatDuration(static_cast<int64_t>(wall))));
  PutNumber(f, "fetching", share, Unit::kShare);
  if (transform.known()) {
    const double of_time = std::min(1.0, transform_ns / wall);
    SayOfRun(f, facts,
             fmt::format("{} took {} of the time, the most of all transforms.",
                         CallLine(transform), FormatShare(of_time)));
    PutNumber(f, "in_transform", of_time, Unit::kShare);
    f.where.function = transform.function;
    f.where.file = transform.file;
    f.where.line = transform.line;
  }
  f.advice = fmt::format(
      "Let processes load while this one trains: "
      "DataLoader(num_workers={:.0f}, "
      "persistent_workers=True).{}",
      std::max(1.0, std::floor(cores)),
      transform.known()
          ? fmt::format(" Then make {} cheaper: whole arrays at once instead "
                        "of loops, or its results kept for the next epoch.",
                        CallLine(transform))
          : "");
  PutGain(f, std::max(0.0, std::min(share, 1 - 1 / std::max(1.0, cores))),
          "if workers loaded all data meanwhile");
  f.confidence = 0.95;
  return {{std::move(f)}, ""};
}

}  // namespace sonde

#include "store/stack_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "trace/work.h"

namespace sonde {
namespace {

class StackSummer {
 public:
  explicit StackSummer(const Store& store) : store_(store) {}

  void Add(uint32_t thread, uint32_t stack, uint32_t flags, uint64_t count,
           uint64_t weight_ns) {
    StackSum& sum = Of(thread, stack);
    const bool waits = (flags & Sample::kWaiting) != 0;
    (waits ? sum.waiting_ns : sum.running_ns) += weight_ns;
    (waits ? sum.waiting : sum.running) += count;
    if (!waits && (flags & Sample::kApproximate) != 0) sum.approximate += count;
  }

  std::vector<StackSum> Take() { return std::move(sums_); }

 private:
  static uint64_t Key(uint32_t thread, uint32_t stack) {
    return uint64_t{thread} << 32 | stack;
  }
  StackSum& Of(uint32_t thread, uint32_t stack) {
    if (const auto at = places_.find(Key(thread, stack)); at != places_.end())
      return sums_[at->second];
    const uint32_t known = store_.threads().contains(thread) ? thread : 0;
    const bool whole =
        sums_.size() < kMostStackSums && store_.stacks().Find(stack) != nullptr;
    const auto [at, fresh] =
        places_.try_emplace(Key(known, whole ? stack : 0), sums_.size());
    if (fresh) sums_.push_back({known, whole ? stack : 0});
    return sums_[at->second];
  }

  const Store& store_;
  std::unordered_map<uint64_t, size_t> places_;
  std::vector<StackSum> sums_;
};

Error NoSamples(const Store& store) {
  return {Error::Kind::kNotFound,
          Printable(store.path()) + ": has no samples of stacks",
          "sonde run --stacks 199 -- COMMAND takes them"};
}

}  // namespace

std::vector<StackSum> SumStacks(const Store& store) {
  StackSummer summer(store);
  for (const SampleSum& s : store.rows().given_up_samples)
    summer.Add(s.thread, s.stack, s.flags, s.count, s.weight_ns);
  std::vector<Sample> samples;
  for (const FrameRef& chunk : store.sample_chunks()) {
    if (!store.ReadSamples(chunk, samples)) continue;
    for (const Sample& s : samples)
      summer.Add(s.thread, s.stack, s.flags, 1, s.weight_ns);
  }
  return summer.Take();
}

Result<std::vector<StackSum>> RunningStacks(const Store& store) {
  TRY_OK(CheckWork(store.reader(), kJudging));
  std::vector<StackSum> sums = SumStacks(store);
  std::erase_if(sums, [](const StackSum& s) { return s.running_ns == 0; });
  if (sums.empty()) return NoSamples(store);
  std::sort(sums.begin(), sums.end(), [](const StackSum& a, const StackSum& b) {
    return std::tie(b.running_ns, a.thread, a.stack) <
           std::tie(a.running_ns, b.thread, b.stack);
  });
  return sums;
}

void SortByThread(std::vector<StackSum>& sums) {
  std::sort(sums.begin(), sums.end(), [](const StackSum& a, const StackSum& b) {
    return std::tie(a.thread, a.stack) < std::tie(b.thread, b.stack);
  });
}

Result<std::vector<RunningSample>> RunningSamples(const Store& store) {
  TRY_OK(CheckWork(store.reader(), kJudging));
  std::vector<RunningSample> out;
  const auto add = [&](int64_t time_ns, uint32_t thread, uint32_t stack,
                       uint32_t flags, uint64_t weight_ns) {
    if ((flags & Sample::kWaiting) != 0 || weight_ns == 0) return true;
    if (out.size() == kMostRunningSamples) return false;
    out.push_back({time_ns, store.threads().contains(thread) ? thread : 0,
                   store.stacks().Find(stack) != nullptr ? stack : 0,
                   weight_ns});
    return true;
  };
  bool all = true;
  for (const SampleSum& s : store.rows().given_up_samples)
    all = all &&
          add(store.range().begin_ns, s.thread, s.stack, s.flags, s.weight_ns);
  std::vector<Sample> samples;
  for (const FrameRef& chunk : store.sample_chunks()) {
    if (!all || !store.ReadSamples(chunk, samples)) continue;
    for (const Sample& s : samples)
      all = all && add(s.time_ns, s.thread, s.stack, s.flags, s.weight_ns);
  }
  if (!all)
    return Error{Error::Kind::kUnsupported,
                 fmt::format("{}: has more than {} samples of stacks",
                             Printable(store.path()), kMostRunningSamples),
                 "formats without times take any number: flame, folded, pprof"};
  if (out.empty()) return NoSamples(store);
  std::stable_sort(out.begin(), out.end(),
                   [](const RunningSample& a, const RunningSample& b) {
                     return std::tie(a.thread, a.time_ns) <
                            std::tie(b.thread, b.time_ns);
                   });
  return out;
}

}  // namespace sonde

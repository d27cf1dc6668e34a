#include "analyze/facts/function_facts.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "store/stack_names.h"
#include "store/stack_sums.h"

namespace sonde {
namespace {

// Steps up the stacks of one trace; with more, only the innermost function of a
// stack is looked at. A second of work.
constexpr uint64_t kMostSteps = 50'000'000;
// No sample stands for more: ten years.
constexpr uint64_t kMostWeightNs = 315'000'000'000'000'000;

// Which of several numbers a function has most time with.
class Votes {
 public:
  void Add(size_t function, uint32_t choice, uint64_t ns) {
    if (choice == 0) return;
    const uint64_t key = uint64_t{function} << 32 | choice;
    if (votes_.size() < kMost || votes_.contains(key)) votes_[key] += ns;
  }
  // Calls `take(function, choice)` with the choice that has most, the smallest
  // of those that have the same.
  template <typename Take>
  void ForEachBest(Take take) const {
    std::unordered_map<uint32_t, std::pair<uint64_t, uint32_t>> best;
    for (const auto& [key, ns] : votes_) {
      const std::pair vote(ns, ~static_cast<uint32_t>(key));
      auto& at = best[static_cast<uint32_t>(key >> 32)];
      at = std::max(at, vote);
    }
    for (const auto& [function, vote] : best) take(function, ~vote.second);
  }

 private:
  static constexpr size_t kMost = 1 << 20;
  std::unordered_map<uint64_t, uint64_t> votes_;
};

class CodeReader {
 public:
  explicit CodeReader(const Store& store)
      : store_(store),
        names_(store),
        waits_(names_),
        spins_(names_),
        garbage_(names_) {}

  CodeFacts Read() {
    for (const StackSum& sum : SumStacks(store_)) Add(sum);
    TakeBelow();
    callers_.ForEachBest([&](size_t i, uint32_t line) { At(i).line = line; });
    lines_.ForEachBest([&](size_t i, uint32_t line) { At(i).line = line; });
    threads_.ForEachBest([&](size_t i, uint32_t t) { At(i).thread = t; });
    std::stable_sort(
        code_.functions.begin(), code_.functions.end(),
        [](const FunctionFacts& a, const FunctionFacts& b) {
          return std::tie(b.self_ns, b.total_ns, a.process, a.name, a.file) <
                 std::tie(a.self_ns, a.total_ns, b.process, b.name, b.file);
        });
    code_.waits = waits_.Take();
    code_.spins = spins_.Take();
    code_.garbage = garbage_.Take();
    return std::move(code_);
  }

 private:
  FunctionFacts& At(size_t i) { return code_.functions[i]; }

  void Add(const StackSum& sum) {
    code_.approximate += sum.approximate;
    names_.Of(sum.stack, places_,
              steps_ < kMostSteps ? StackNames::kMostPlaces : 1);
    steps_ += places_.size();
    const auto thread = store_.threads().find(sum.thread);
    const uint32_t process =
        thread == store_.threads().end() ? 0 : thread->second.process;
    if (sum.waiting > 0)
      waits_.Add(process, sum.thread, places_, sum.waiting_ns, sum.waiting);
    if (sum.running == 0) return;
    code_.sampled_ns += sum.running_ns;
    code_.samples += sum.running;
    if (places_.empty()) {
      code_.unknown_ns += sum.running_ns;
      return;
    }
    spins_.Add(process, sum.thread, places_, sum.running_ns, sum.running);
    garbage_.Add(process, places_, sum.running_ns, sum.running);
    const size_t leaf = FunctionOf(process, places_[0].function);
    At(leaf).self_ns += sum.running_ns;
    At(leaf).samples += sum.running;
    lines_.Add(leaf, places_[0].line, sum.running_ns);
    threads_.Add(leaf, sum.thread, sum.running_ns);
    AddOwn(process, leaf, sum);
    ++sums_;
    for (size_t i = 0; i < places_.size(); ++i) {
      const size_t at = FunctionOf(process, places_[i].function);
      if (seen_in_[at] == sums_) continue;  // it called itself
      seen_in_[at] = sums_;
      At(at).total_ns += sum.running_ns;
      if (i == 0) continue;
      callers_.Add(at, places_[i].line, sum.running_ns);
      threads_.Add(at, sum.thread, 0);
    }
  }

  void AddOwn(uint32_t process, size_t leaf, const StackSum& sum) {
    const StackPlace& at = places_[OwnPlace(names_, places_)];
    const size_t own = FunctionOf(process, at.function);
    At(own).own_ns += sum.running_ns;
    At(own).own_samples += sum.running;
    if (own == leaf) return;
    lines_.Add(own, at.line, sum.running_ns);
    threads_.Add(own, sum.thread, sum.running_ns);
    below_[uint64_t{own} << 32 | leaf] += sum.running_ns;
  }
  // The longest below each, of those that are as long the first by name.
  void TakeBelow() {
    for (const auto& [key, ns] : below_) {
      FunctionFacts& own = At(key >> 32);
      const FunctionFacts& leaf = At(static_cast<uint32_t>(key));
      if (ns < own.below_ns || (ns == own.below_ns && leaf.name >= own.below))
        continue;
      own.below_ns = ns;
      own.below = leaf.name;
      own.below_module = leaf.module;
    }
  }

  // The index of a function in a process.
  size_t FunctionOf(uint32_t process, uint32_t function) {
    const uint64_t key = uint64_t{process} << 32 | function;
    if (const auto at = places_of_.find(key); at != places_of_.end())
      return at->second;
    const bool full = code_.functions.size() >= CodeFacts::kMostFunctions;
    const auto [at, fresh] = places_of_.try_emplace(
        full ? uint64_t{process} << 32 | kOther : key, code_.functions.size());
    if (fresh) {
      FunctionFacts f;
      f.process = process;
      if (!full) {
        const Function& known = names_.functions()[function];
        f.name = known.name;
        f.file = known.file;
        f.module = known.module;
        f.language = known.language;
      }
      code_.functions.push_back(std::move(f));
      seen_in_.push_back(0);
    }
    return at->second;
  }

  static constexpr uint32_t kOther = UINT32_MAX;

  const Store& store_;
  StackNames names_;
  WaitReader waits_;
  SpinReader spins_;
  GarbageReader garbage_;
  CodeFacts code_;
  std::unordered_map<uint64_t, size_t> places_of_;  // process, function
  std::vector<uint64_t> seen_in_;                   // by function: of sums_
  Votes lines_, callers_, threads_;
  std::unordered_map<uint64_t, uint64_t> below_;  // own, leaf: ns
  std::vector<StackPlace> places_;                // of a stack
  uint64_t sums_ = 0, steps_ = 0;
};

}  // namespace

CodeFacts CodeOf(const Store& store) { return CodeReader(store).Read(); }

std::vector<WaitFacts> WaitsIn(const Store& store, int64_t from_ns,
                               int64_t to_ns) {
  struct Slept {
    uint64_t ns = 0, samples = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, Slept> slept;  // thread, stack
  std::vector<Sample> samples;
  for (const FrameRef& chunk : store.sample_chunks()) {
    if (!store.ReadSamples(chunk, samples)) continue;
    for (const Sample& s : samples) {
      if ((s.flags & Sample::kWaiting) == 0) continue;
      // It stands for the time before it.
      const uint64_t weight = std::min<uint64_t>(s.weight_ns, kMostWeightNs);
      const int64_t begin =
          std::max(from_ns, s.time_ns - static_cast<int64_t>(weight));
      const int64_t end = std::min(to_ns, s.time_ns);
      if (end <= begin || slept.size() >= kMostStackSums) continue;
      Slept& one = slept[{s.thread, s.stack}];
      one.ns += static_cast<uint64_t>(end - begin);
      ++one.samples;
    }
  }
  StackNames names(store);
  WaitReader waits(names);
  std::vector<StackPlace> places;
  uint64_t steps = 0;
  for (const auto& [key, one] : slept) {
    const auto thread = store.threads().find(key.first);
    names.Of(key.second, places,
             steps < kMostSteps ? StackNames::kMostPlaces : 1);
    steps += places.size();
    waits.Add(thread == store.threads().end() ? 0 : thread->second.process,
              key.first, places, one.ns, one.samples);
  }
  return waits.Take();
}

}  // namespace sonde

#include "analyze/rules/lock_waits.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "store/stack_names.h"
#include "store/stack_sums.h"

namespace sonde {
namespace {

constexpr size_t kMostPlacesRead = 64;

using LineKey = std::tuple<std::string, std::string, uint32_t>;

bool IsOf(const Store& store, uint32_t thread, uint32_t process) {
  const auto at = store.threads().find(thread);
  return at != store.threads().end() && at->second.process == process;
}

}  // namespace

std::optional<LockWait> LongestLockWait(const Facts& facts, uint32_t process) {
  struct Sum {
    double ns = 0;
    std::set<uint32_t> threads;
  };
  std::map<LineKey, Sum> sums;
  std::map<std::pair<std::string, std::string>, double> functions;
  for (const WaitFacts& wait : facts.code.waits) {
    // What a library waits for is its own affair: an event, a pool.
    if (wait.process != process || wait.kind != WaitKind::kLock ||
        !wait.own.known() || wait.library.known())
      continue;
    Sum& sum = sums[{wait.own.function, wait.own.file, wait.own.line}];
    sum.ns += static_cast<double>(wait.ns);
    sum.threads.insert(wait.thread);
    functions[{wait.own.function, wait.own.file}] +=
        static_cast<double>(wait.ns);
  }
  const auto best = std::max_element(
      sums.begin(), sums.end(),
      [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });
  if (best == sums.end()) return std::nullopt;
  LockWait out;
  std::tie(out.at.function, out.at.file, out.at.line) = best->first;
  out.threads = best->second.threads.size();
  out.ns = best->second.ns;
  out.function_ns = functions[{out.at.function, out.at.file}];
  return out;
}

LockHeld HeldBeside(const Facts& facts, uint32_t process,
                    const CodeLine& lock) {
  LockHeld out;
  std::map<uint32_t, double> lines;
  StackNames names(*facts.store);
  std::vector<StackPlace> places;
  for (const StackSum& sum : SumStacks(*facts.store)) {
    if (!IsOf(*facts.store, sum.thread, process)) continue;
    names.Of(sum.stack, places, kMostPlacesRead);
    for (size_t i = 0; i < places.size(); ++i) {
      const Function& f = names.functions()[places[i].function];
      if (f.name != lock.function || f.file != lock.file) continue;
      const auto running = static_cast<double>(sum.running_ns);
      if (places[i].line == lock.line) {
        out.ran_there_ns += running;
      } else {
        // Who waits for a thread, or by itself, does nothing for others.
        const std::string_view call =
            names.functions()[places[0].function].language == "kernel"
                ? std::string_view(names.functions()[places[0].function].name)
                : std::string_view();
        const bool idle =
            call == "futex" || call.find("sleep") != std::string_view::npos;
        const double ns =
            running + (idle ? 0 : static_cast<double>(sum.waiting_ns));
        out.ran_beside_ns += running;
        out.held_ns += ns;
        lines[places[i].line] += ns;
      }
      break;
    }
  }
  double most = 0;
  for (const auto& [line, ns] : lines)
    if (ns > most) {
      most = ns;
      out.holder = {lock.function, lock.file, line};
    }
  return out;
}

std::optional<SameWork> SameWorkOf(const Facts& facts, uint32_t process) {
  struct Leaf {
    double ns = 0;
    uint32_t line = 0;
  };
  std::map<uint32_t, std::map<uint32_t, Leaf>> threads;  // thread, function
  StackNames names(*facts.store);
  std::vector<StackPlace> places;
  for (const StackSum& sum : SumStacks(*facts.store)) {
    if (sum.running == 0 || !IsOf(*facts.store, sum.thread, process)) continue;
    names.Of(sum.stack, places, 1);
    if (places.empty()) continue;
    Leaf& leaf = threads[sum.thread][places[0].function];
    leaf.ns += static_cast<double>(sum.running_ns);
    leaf.line = places[0].line;
  }
  std::map<uint32_t, SameWork> votes;  // by function
  std::map<uint32_t, double> in, all;
  for (const auto& [thread, leaves] : threads) {
    uint32_t hottest = 0;
    double most = 0, sum = 0;
    for (const auto& [function, leaf] : leaves) {
      sum += leaf.ns;
      if (leaf.ns <= most) continue;
      most = leaf.ns;
      hottest = function;
    }
    SameWork& vote = votes[hottest];
    ++vote.threads;
    in[hottest] += most;
    all[hottest] += sum;
    const Function& f = names.functions()[hottest];
    vote.at = {f.name, std::string(f.file), leaves.at(hottest).line};
  }
  const auto best = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) {
        return a.second.threads < b.second.threads;
      });
  if (best == votes.end()) return std::nullopt;
  SameWork out = best->second;
  out.share = in[best->first] / std::max(1.0, all[best->first]);
  return out;
}

}  // namespace sonde

#include "analyze/facts/garbage_facts.h"

#include <algorithm>
#include <string>

namespace sonde {
namespace {

constexpr int8_t kCollectsNot = -1, kNotAsked = -2;

// How the names of functions begin that collect, or that do so for the one who
// allocates.
struct GarbageWord {
  std::string_view word;
  GarbageRuntime runtime;
};
constexpr GarbageWord kGarbageWords[] = {
    {"runtime.gcBgMarkWorker", GarbageRuntime::kGo},
    {"runtime.gcDrain", GarbageRuntime::kGo},
    {"runtime.gcAssist", GarbageRuntime::kGo},
    {"runtime.gcStart", GarbageRuntime::kGo},
    {"runtime.gcMark", GarbageRuntime::kGo},
    {"runtime.gcSweep", GarbageRuntime::kGo},
    {"runtime.gcFlushBgCredit", GarbageRuntime::kGo},
    {"runtime.(*gcWork)", GarbageRuntime::kGo},
    {"runtime.scanobject", GarbageRuntime::kGo},
    {"runtime.scanObject", GarbageRuntime::kGo},
    {"runtime.scanSpan", GarbageRuntime::kGo},
    {"runtime.scanblock", GarbageRuntime::kGo},
    {"runtime.scanstack", GarbageRuntime::kGo},
    {"runtime.greyobject", GarbageRuntime::kGo},
    {"runtime.markroot", GarbageRuntime::kGo},
    {"runtime.bgsweep", GarbageRuntime::kGo},
    {"runtime.sweepone", GarbageRuntime::kGo},
    {"runtime.(*sweepLocked)", GarbageRuntime::kGo},
    {"runtime.bgscavenge", GarbageRuntime::kGo},
    {"runtime.wbBufFlush", GarbageRuntime::kGo},
    {"gc_collect_", GarbageRuntime::kPython},
    {"_PyGC_Collect", GarbageRuntime::kPython},
    {"_Py_RunGC", GarbageRuntime::kPython},
    {"deduce_unreachable", GarbageRuntime::kPython},
    {"v8::internal::Heap::CollectGarbage", GarbageRuntime::kV8},
    {"v8::internal::Heap::Scavenge", GarbageRuntime::kV8},
    {"v8::internal::Heap::MarkCompact", GarbageRuntime::kV8},
    {"v8::internal::Scavenge", GarbageRuntime::kV8},
    {"v8::internal::MarkCompact", GarbageRuntime::kV8},
    {"v8::internal::ConcurrentMarking", GarbageRuntime::kV8},
    {"v8::internal::Sweeper", GarbageRuntime::kV8},
    {"v8::internal::MajorGC", GarbageRuntime::kV8},
};

// True of the program's own code, as far as its language tells.
bool IsOwn(const Function& function, GarbageRuntime runtime) {
  if (runtime == GarbageRuntime::kPython) return function.language == "python";
  return runtime == GarbageRuntime::kGo &&
         !std::string_view(function.name).starts_with("runtime.");
}

}  // namespace

int8_t GarbageReader::RuntimeOf(uint32_t function) {
  if (function >= runtimes_.size())
    runtimes_.resize(names_.functions().size(), kNotAsked);
  int8_t& known = runtimes_[function];
  if (known != kNotAsked) return known;
  known = kCollectsNot;
  const Function& f = names_.functions()[function];
  if (f.language == "python") return known;
  for (const GarbageWord& one : kGarbageWords)
    if (std::string_view(f.name).starts_with(one.word)) {
      known = static_cast<int8_t>(one.runtime);
      break;
    }
  return known;
}

void GarbageReader::Add(uint32_t process, const std::vector<StackPlace>& places,
                        uint64_t ns, uint64_t samples) {
  for (size_t i = 0; i < places.size(); ++i) {
    const int8_t found = RuntimeOf(places[i].function);
    if (found < 0) continue;
    const auto runtime = static_cast<GarbageRuntime>(found);
    Sum& sum = sums_[{process, runtime}];
    sum.ns += ns;
    sum.samples += samples;
    for (++i; i < places.size(); ++i)
      if (IsOwn(names_.functions()[places[i].function], runtime)) {
        sum.in[{places[i].function, places[i].line}] += ns;
        break;
      }
    return;
  }
}

std::vector<GarbageFacts> GarbageReader::Take() const {
  std::vector<GarbageFacts> out;
  for (const auto& [key, sum] : sums_) {
    GarbageFacts one;
    one.process = key.first;
    one.runtime = key.second;
    one.ns = sum.ns;
    one.samples = sum.samples;
    uint64_t most = 0;
    for (const auto& [place, ns] : sum.in) {
      if (ns <= most) continue;
      most = ns;
      const Function& f = names_.functions()[place.first];
      one.in = {f.name, std::string(f.file), place.second};
    }
    out.push_back(std::move(one));
  }
  std::stable_sort(
      out.begin(), out.end(),
      [](const GarbageFacts& a, const GarbageFacts& b) { return a.ns > b.ns; });
  return out;
}

}  // namespace sonde

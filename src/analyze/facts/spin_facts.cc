#include "analyze/facts/spin_facts.h"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>

namespace sonde {
namespace {

enum Which : uint8_t { kGomp, kKmp, kOpenBlas, kOnnx, kGo, kJvm };
constexpr std::array<SpinPool, 6> kPools = {{
    {"OpenMP (libgomp)", "OMP_NUM_THREADS", "torch.set_num_threads",
     "OMP_WAIT_POLICY=passive"},
    {"OpenMP (libiomp)", "OMP_NUM_THREADS", "torch.set_num_threads",
     "KMP_BLOCKTIME=0"},
    {"OpenBLAS", "OPENBLAS_NUM_THREADS", "threadpoolctl.threadpool_limits", ""},
    {"ONNX Runtime", "SessionOptions.intra_op_num_threads", "",
     "the session's option session.intra_op.allow_spinning=0"},
    {"Go's scheduler", "GOMAXPROCS", "runtime.GOMAXPROCS", ""},
    {"the JVM's collector", "-XX:ParallelGCThreads", "", ""},
}};

// Functions that only wait until something changes, by the begin of their
// names. With a '/', the name of a module's file begins so, and everything in
// that module hands out work or waits for some.
struct SpinWord {
  std::string_view word;
  Which pool;
};
constexpr SpinWord kSpinWords[] = {
    {"/libgomp", kGomp},
    {"gomp_barrier_wait", kGomp},
    {"gomp_team_barrier_wait", kGomp},
    {"gomp_simple_barrier", kGomp},
    {"gomp_mutex_lock_slow", kGomp},
    {"/libiomp", kKmp},
    {"/libomp.", kKmp},
    {"/libomp5.", kKmp},
    {"/libomp-", kKmp},
    {"__kmp_", kKmp},
    {"blas_thread_server", kOpenBlas},
    {"exec_blas", kOpenBlas},
    {"onnxruntime::concurrency::SpinPause", kOnnx},
    {"onnxruntime::concurrency::ThreadPoolTempl<onnxruntime::Env>::WorkerLoop",
     kOnnx},
    {"runtime.findRunnable", kGo},
    {"runtime.findrunnable", kGo},
    {"runtime.stealWork", kGo},
    {"runtime.runqgrab", kGo},
    {"runtime.runqsteal", kGo},
    {"sync.runtime_doSpin", kGo},
    {"sync_runtime_doSpin", kGo},
    {"TaskTerminator::", kJvm},
    {"ParallelTaskTerminator::", kJvm},
};
// Called by a function that waits, to let others go first.
constexpr std::string_view kPauseWords[] = {
    "sched_yield",       "__sched_yield",   "__GI___sched_yield",
    "runtime.procyield", "runtime.osyield", "runtime.usleep",
    "SpinPause",         "os::naked_yield", "do_spin",
    "do_wait",           "cpu_relax"};
// Modules in which a pause is one of the pool's.
constexpr SpinWord kPausesIn[] = {{"/libopenblas", kOpenBlas},
                                  {"/libscipy_openblas", kOpenBlas}};
// Modules without names. Their pool's threads loop right above where threads
// start, and what they work on lies deeper.
constexpr SpinWord kLoopsIn[] = {{"/onnxruntime_pybind11", kOnnx},
                                 {"/libonnxruntime.", kOnnx}};
constexpr size_t kMostLoop = 4;   // calls
constexpr size_t kMostPause = 6;  // likewise
constexpr std::string_view kStartWords[] = {"start_thread", "clone3", "clone",
                                            "__clone"};
// A thread with less of the pool's time passed by.
constexpr double kFewest = 0.01;

std::string_view FileOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool IsWord(const Function& function, std::string_view word) {
  if (word[0] == '/')
    return FileOf(function.module).starts_with(word.substr(1));
  return function.language != "python" &&
         std::string_view(function.name).starts_with(word);
}

}  // namespace

std::span<const SpinPool> SpinPools() { return kPools; }

SpinReader::Role SpinReader::Classify(const Function& function) {
  using Kind = Role::Kind;
  if (function.language == "kernel") return {Kind::kPause, nullptr};
  for (const SpinWord& one : kSpinWords)
    if (IsWord(function, one.word)) return {Kind::kSpin, &kPools[one.pool]};
  for (const std::string_view word : kPauseWords)
    if (IsWord(function, word)) return {Kind::kPause, nullptr};
  for (const std::string_view word : kStartWords)
    if (function.name == word) return {Kind::kStart, nullptr};
  for (const SpinWord& one : kLoopsIn)
    if (IsWord(function, one.word)) return {Kind::kLoop, &kPools[one.pool]};
  return {};
}

SpinReader::Role SpinReader::RoleOf(uint32_t function) {
  if (function >= roles_.size()) {
    roles_.resize(names_.functions().size());
    known_.resize(names_.functions().size());
  }
  if (known_[function] == 0) {
    known_[function] = 1;
    roles_[function] = Classify(names_.functions()[function]);
  }
  return roles_[function];
}

const SpinPool* SpinReader::PoolOf(const std::vector<StackPlace>& places) {
  using Kind = Role::Kind;
  bool paused = false;
  size_t loops = 0;
  const SpinPool* loop = nullptr;
  for (size_t i = 0; i < places.size() && i < kMostPause; ++i) {
    const Role role = RoleOf(places[i].function);
    switch (role.kind) {
      case Kind::kSpin:
        return loops == 0 ? role.pool : nullptr;
      case Kind::kPause:
        if (loops > 0) return nullptr;
        paused = true;
        continue;
      case Kind::kLoop:
        if (++loops > kMostLoop || (loop != nullptr && loop != role.pool))
          return nullptr;
        loop = role.pool;
        continue;
      case Kind::kStart:
        return loop;
      case Kind::kWork:
        break;
    }
    if (!paused || loops > 0) return nullptr;
    for (const SpinWord& one : kPausesIn)
      if (IsWord(names_.functions()[places[i].function], one.word))
        return &kPools[one.pool];
    return nullptr;
  }
  return nullptr;
}

void SpinReader::Add(uint32_t process, uint32_t thread,
                     const std::vector<StackPlace>& places, uint64_t ns,
                     uint64_t samples) {
  const SpinPool* const pool = PoolOf(places);
  if (pool == nullptr) return;
  Sum& sum = sums_[{process, pool}];
  sum.ns += ns;
  sum.samples += samples;
  sum.threads[thread] += ns;
}

std::vector<SpinFacts> SpinReader::Take() const {
  std::vector<SpinFacts> out;
  for (const auto& [key, sum] : sums_) {
    SpinFacts one;
    one.process = key.first;
    one.pool = key.second;
    one.ns = sum.ns;
    one.samples = sum.samples;
    for (const auto& [thread, ns] : sum.threads)
      if (static_cast<double>(ns) >= kFewest * static_cast<double>(sum.ns))
        one.threads.emplace_back(thread, ns);
    std::sort(one.threads.begin(), one.threads.end(),
              [](const auto& a, const auto& b) {
                return std::tie(b.second, a.first) <
                       std::tie(a.second, b.first);
              });
    out.push_back(std::move(one));
  }
  std::stable_sort(
      out.begin(), out.end(),
      [](const SpinFacts& a, const SpinFacts& b) { return a.ns > b.ns; });
  return out;
}

}  // namespace sonde

#include "analyze/facts/input_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace sonde {
namespace {

constexpr double kWorks = 0.01;   // of a core
constexpr double kWakesPerS = 1;  // more than somebody who waits for a child
constexpr double kReadsPerS = 1;

double PerSecond(const MaybeNumber& amount, int64_t wall_ns) {
  return wall_ns > 0 ? amount.value_or(0) / (static_cast<double>(wall_ns) / 1e9)
                     : 0;
}

// All it does is to wait.
bool Waits(const ProcessFacts& p) {
  return p.cores_used.value_or(0) < kWorks &&
         PerSecond(p.voluntary_switches, p.wall_ns) < kWakesPerS;
}

double MainCores(const ProcessFacts& p) {
  if (p.threads.empty()) return p.cores_used.value_or(0);
  double ns = 0;
  for (const ThreadFacts& t : p.threads)
    if (FeedsAccelerator(p, t)) ns += static_cast<double>(t.cpu_ns.value_or(0));
  return p.wall_ns > 0 ? ns / static_cast<double>(p.wall_ns) : 0;
}

std::vector<const ProcessFacts*> ConsumersOf(
    const Facts& facts, const std::vector<const DeviceFacts*>& devices) {
  std::vector<const ProcessFacts*> out;
  for (const DeviceFacts* const d : devices)
    for (const uint32_t number : d->holders) {
      const ProcessFacts* const p = facts.FindProcess(number);
      if (p != nullptr && std::find(out.begin(), out.end(), p) == out.end())
        out.push_back(p);
    }
  if (out.empty())
    if (const ProcessFacts* const p = MainProcessOf(facts)) out.push_back(p);
  return out;
}

void Add(MaybeNumber& sum, const MaybeNumber& part) {
  if (part) sum = sum.value_or(0) + *part;
}

// Counts who loads, and what they read.
class LoaderCount {
 public:
  LoaderCount(const Facts& facts, InputWork& out) : facts_(facts), out_(out) {}

  // The loaders' share of all CPU time.
  double Run() {
    double loader_ns = 0, all_ns = 0;
    for (const ProcessFacts& p : facts_.processes) {
      const double ns = static_cast<double>(p.cpu_ns.value_or(0));
      all_ns += ns;
      if (std::find(out_.consumers.begin(), out_.consumers.end(), &p) ==
          out_.consumers.end()) {
        loader_ns += ns;
        TakeProcess(p);
      } else {
        loader_ns +=
            std::max(0.0, ns - MainCores(p) * static_cast<double>(p.wall_ns));
        TakeThreads(p);
      }
    }
    for (const ShortProcesses& s : facts_.short_processes) {
      loader_ns += static_cast<double>(s.cpu_ns.value_or(0));
      all_ns += static_cast<double>(s.cpu_ns.value_or(0));
    }
    Sum();
    return all_ns > 0 ? loader_ns / all_ns : 0;
  }

 private:
  void TakeProcess(const ProcessFacts& p) {
    if (p.cores_used.value_or(0) < kWorks &&
        PerSecond(p.io.read_calls, p.wall_ns) < kReadsPerS)
      return;
    ++processes_[p.name];
    ++out_.loaders;
    TakeIo(p);
  }
  void TakeThreads(const ProcessFacts& p) {
    size_t threads = 0;
    for (const ThreadFacts& t : p.threads)
      if (!FeedsAccelerator(p, t) && t.cores_used.value_or(0) >= kWorks)
        ++threads;
    threads_ += threads;
    if (threads > 0) thread_owners_.push_back(&p);
  }
  void TakeIo(const ProcessFacts& p) {
    Add(calls_, p.io.read_calls);
    Add(chars_, p.io.read_chars);
    Add(sleeps_, p.voluntary_switches);
  }
  void Sum() {
    if (out_.loaders == 0)
      for (const ProcessFacts* const p : thread_owners_) TakeIo(*p);
    for (const auto& [name, count] : processes_)
      Name(fmt::format("{} ({} process{})", Printable(name, 24), count,
                       count == 1 ? "" : "es"));
    if (threads_ > 0)
      Name(fmt::format("{} thread{}", threads_, threads_ == 1 ? "" : "s"));
    out_.loaders += threads_;
    const double s = static_cast<double>(facts_.run.wall_ns) / 1e9;
    if (s <= 0) return;
    if (calls_) out_.read_calls_s = *calls_ / s;
    if (chars_) out_.read_chars_s = *chars_ / s;
    if (sleeps_) out_.sleeps_s = *sleeps_ / s;
  }
  void Name(const std::string& one) {
    out_.loader_names += (out_.loader_names.empty() ? "" : ", ") + one;
  }

  const Facts& facts_;
  InputWork& out_;
  std::map<std::string, size_t> processes_;
  size_t threads_ = 0;
  std::vector<const ProcessFacts*> thread_owners_;
  MaybeNumber calls_, chars_, sleeps_;
};

}  // namespace

// Not a loader, though a thread: the main one (where none has the process's own
// number, the busiest), or one that runs PyTorch's backward pass.
bool FeedsAccelerator(const ProcessFacts& p, const ThreadFacts& t) {
  const bool has_main = std::any_of(
      p.threads.begin(), p.threads.end(),
      [&](const ThreadFacts& one) { return one.row.tid == p.row.pid; });
  return t.name.starts_with("pt_autograd") ||
         (has_main ? t.row.tid == p.row.pid : &t == &p.threads[0]);
}

const ProcessFacts* MainProcessOf(const Facts& facts) {
  const ProcessFacts* at = nullptr;
  for (const ProcessFacts& p : facts.processes)
    if (at == nullptr || p.row.number < at->row.number) at = &p;
  for (size_t i = 0; at != nullptr && i < facts.processes.size(); ++i) {
    const ProcessFacts* only = nullptr;
    size_t children = 0;
    for (const ProcessFacts& p : facts.processes)
      if (p.row.parent == at->row.number && &p != at) {
        only = &p;
        ++children;
      }
    if (children != 1 || !Waits(*at)) break;
    at = only;
  }
  return at;
}

InputWork InputWorkOf(const Facts& facts, const Accelerators& devices) {
  InputWork out;
  std::vector<const DeviceFacts*> all, used;
  for (const DeviceFacts& d : facts.devices) all.push_back(&d);
  for (const Accelerator& d : devices.used) used.push_back(d.facts);
  // Who holds a device loads nothing, also if it is not one of these.
  out.consumers = ConsumersOf(facts, all);
  const double share = LoaderCount(facts, out).Run();
  out.consumers = ConsumersOf(facts, used);
  std::sort(out.consumers.begin(), out.consumers.end(),
            [](const ProcessFacts* a, const ProcessFacts* b) {
              return MainCores(*a) > MainCores(*b);
            });
  if (!out.consumers.empty()) out.consumer_cores = MainCores(*out.consumers[0]);
  out.tree_cores = devices.WhileIdle(facts, "tree_cpu").value_or(0);
  out.loader_cores = out.tree_cores * share;
  out.read_bytes_s = devices.WhileIdle(facts, "tree_read");
  return out;
}

}  // namespace sonde

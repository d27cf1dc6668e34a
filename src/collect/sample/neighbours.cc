#include "collect/sample/neighbours.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/time.h"
#include "collect/proc/pids.h"
#include "collect/proc/proc_file.h"
#include "collect/proc/process_files.h"
#include "collect/sample/sampled_run.h"

namespace sonde {
namespace {

constexpr int64_t kFirstNs = 1 * kNsPerSec;
constexpr int64_t kSecondNs = 2 * kNsPerSec;
constexpr int64_t kEveryNs = 5 * kNsPerSec;
constexpr int64_t kShare = 500;  // at most 1/500 of the time
constexpr double kBusyCores = 0.25;
// Fewer cores are not worth a name.
constexpr double kLeastCores = 0.05;
// Three are named; the fourth says that there were more.
constexpr size_t kMostTold = 4;
// Names are chosen by others: of those there may be any number.
constexpr size_t kMostNames = 1024;

int64_t TicksPerSecond() {
  static const int64_t ticks = std::max(1L, ::sysconf(_SC_CLK_TCK));
  return ticks;
}

}  // namespace

bool Neighbours::Check(int64_t now_ns, int64_t others_ns,
                       const std::function<bool(pid_t)>& ours) {
  const int64_t since_ns = now_ns - checked_ns_;
  const double cores = checks_ == 0 || since_ns <= 0
                           ? 0
                           : static_cast<double>(others_ns - others_ns_) /
                                 static_cast<double>(since_ns);
  const int64_t every_ns = checks_ == 0   ? kFirstNs
                           : checks_ == 1 ? kSecondNs
                                          : kEveryNs;
  ++checks_;
  checked_ns_ = now_ns;
  others_ns_ = others_ns;
  next_ns_ = now_ns + every_ns;
  if (cores <= kBusyCores) {
    // Time that was quiet would only thin out what comes.
    looked_ns_ = 0;
    return false;
  }
  const int64_t before_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  if (looked_ns_ != 0) compared_ns_ += now_ns - looked_ns_;
  Look(ours);
  looked_ns_ = now_ns;
  look_cost_ns_ = ClockNs(CLOCK_THREAD_CPUTIME_ID) - before_ns;
  next_ns_ = now_ns + std::max(every_ns, look_cost_ns_ * kShare);
  return IsNews();
}

bool Neighbours::CheckLast(int64_t now_ns, int64_t others_ns,
                           const std::function<bool(pid_t)>& ours) {
  if (looked_ns_ == 0 || now_ns - looked_ns_ < kFirstNs ||
      now_ns - looked_ns_ < look_cost_ns_ * kShare)
    return false;
  Check(now_ns, others_ns, ours);
  const std::vector<Share> last = Largest();
  return !last.empty() && last != told_;
}

void Neighbours::Look(const std::function<bool(pid_t)>& ours) {
  const int64_t boot_ns = ClockNs(CLOCK_BOOTTIME);
  const bool first = looked_ns_ == 0;
  now_seen_.clear();
  for (const pid_t pid : NumbersIn(proc_))
    if (!ours(pid))
      Add(pid, ReadOnce(fmt::format("{}/{}/stat", proc_, pid).c_str(), buffer_),
          first);
  seen_.swap(now_seen_);
  look_ticks_ = static_cast<uint64_t>(boot_ns / (kNsPerSec / TicksPerSecond()));
}

void Neighbours::Add(pid_t pid, std::string_view text, bool first) {
  const auto stat = ParseProcessStat(text);
  // What we have started ourselves is ours as well.
  if (!stat || stat->ppid == ::getpid()) return;
  const Seen now = {stat->start_ticks, stat->user_ticks + stat->system_ticks};
  now_seen_.emplace(pid, now);
  if (first) return;
  const auto before = seen_.find(pid);
  uint64_t used = 0;
  if (before != seen_.end() && before->second.start_ticks == now.start_ticks)
    used = now.cpu_ticks - std::min(now.cpu_ticks, before->second.cpu_ticks);
  else if (now.start_ticks >= look_ticks_)
    used = now.cpu_ticks;
  if (used == 0) return;
  // The kernel's workers are called kworker/CORE:NUMBER.
  const std::string_view name =
      stat->kernel ? stat->comm.substr(0, stat->comm.find('/')) : stat->comm;
  auto at = used_.find(name);
  if (at == used_.end()) {
    if (used_.size() >= kMostNames) return;
    at = used_.emplace(name, Used{0, stat->kernel}).first;
  }
  at->second.ticks += used;
}

std::vector<Neighbours::Share> Neighbours::Largest() const {
  std::vector<Share> out;
  if (compared_ns_ <= 0) return out;
  const double compared_ticks = static_cast<double>(compared_ns_) / 1e9 *
                                static_cast<double>(TicksPerSecond());
  for (const auto& [name, used] : used_) {
    const double cores = static_cast<double>(used.ticks) / compared_ticks;
    if (cores >= (used.kernel ? kBusyCores : kLeastCores))
      out.push_back({Printable(name, 32), std::round(cores * 100) / 100});
  }
  std::stable_sort(out.begin(), out.end(), [](const Share& a, const Share& b) {
    return a.cores > b.cores;
  });
  if (out.size() > kMostTold) out.resize(kMostTold);
  return out;
}

// Rows of the trace are for ever: small changes wait until there are more.
bool Neighbours::IsNews() {
  constexpr double kChange = 0.1;
  const std::vector<Share> now = Largest();
  const bool same =
      std::equal(now.begin(), now.end(), told_.begin(), told_.end(),
                 [](const Share& a, const Share& b) {
                   return a.name == b.name &&
                          std::abs(a.cores - b.cores) <= kChange * b.cores;
                 });
  if (same || now.empty()) return false;
  told_ = now;
  return true;
}

std::string Neighbours::Text() const {
  const std::vector<Share> largest = Largest();
  if (largest.empty()) return {};
  nlohmann::json out = nlohmann::json::array();
  for (const Share& one : largest)
    out.push_back({{"name", one.name}, {"cores", one.cores}});
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

namespace {

SourceState CheckNeighbours() {
  // Process 2 of a machine is the parent of the kernel's threads. A pid
  // namespace has another, or none.
  const std::string text = ReadText("/proc/2/stat");
  const auto second = ParseProcessStat(text);
  if (second && second->kernel)
    return SourceState::Works(
        fmt::format("{} processes are shown, looked at by name",
                    NumbersIn("/proc").size()));
  if (ReadText("/proc/1/stat").empty())
    return SourceState::Fails("/proc hides the processes of other users",
                              "mount -o remount,hidepid=0 /proc");
  return SourceState::Fails(
      "only the processes of this container are shown in /proc",
      "docker run --pid host ...");
}

constexpr SourceInfo kNeighbourSources[] = {
    {"neighbours", "names of other programs that use the cores",
     CheckNeighbours}};

// Looks after the machine's counters were read: they tell whether others work.
class NeighboursGatherer : public Gatherer {
 public:
  explicit NeighboursGatherer(SampledRun& run) : run_(run) {}

  void Poll(int64_t now_ns) override {
    if (run_.machine_due && neighbours_.Due(now_ns)) Tell(now_ns, false);
  }
  void Stop(int64_t) override {
    if (!run_.paused) Tell(NowNs(), true);
  }

 private:
  void Tell(int64_t now_ns, bool last) {
    const int64_t others_ns = run_.machine_busy_ns - run_.used.cpu_ns -
                              ClockNs(CLOCK_PROCESS_CPUTIME_ID);
    const auto ours = [this, own = ::getpid()](pid_t pid) {
      return pid == own || run_.tree.FindPid(pid).has_value();
    };
    if (last ? neighbours_.CheckLast(now_ns, others_ns, ours)
             : neighbours_.Check(now_ns, others_ns, ours))
      run_.out.PutMeta("neighbours", neighbours_.Text());
  }

  SampledRun& run_;
  Neighbours neighbours_;
};

}  // namespace

extern const GathererInfo kNeighboursGatherer = {kNeighbourSources,
                                                 Make<NeighboursGatherer>};

}  // namespace sonde

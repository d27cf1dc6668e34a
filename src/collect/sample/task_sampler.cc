// One Poll() reads everything that is due, cheapest question first:
//
//     process's CPU clock   moved since the last tick?    0.7 us, no file
//       stat io             only if it moved; four times a second if by
//       each thread's schedstat   less than 2 %
//     ten times a second    states of threads that ran, 0.1 % of a core at most
//     once a second         context switches of threads that ran
//     every ten seconds     PSS of processes that ran, 0.1 % of a core at most
//
// Files stay open as long as the limit on open files allows.

#include "collect/sample/task_sampler.h"

#include <time.h>

#include <algorithm>

#include "base/time.h"

namespace sonde {
namespace {

constexpr int64_t kSwitchesEveryNs = 1 * kNsPerSec;
// The first reading waits: most processes do not live as long.
constexpr int64_t kPssFirstNs = 1 * kNsPerSec;
constexpr int64_t kPssShare = 1000;  // at most 1/1000 of the time
constexpr int64_t kPssMostCreditNs = 20 * kNsPerMs;

uint64_t BytesOf(const OwnIo& io) {
  return io.own().read_bytes + io.own().write_bytes;
}

}  // namespace

TaskSampler::TaskSampler(SampledRun& run)
    : run_(run),
      out_(run.out),
      tree_(run.tree),
      slack_ns_(run.slack_ns),
      budget_(run.budget),
      groups_{run.out.AddGroup(), run.out.AddGroup()} {
  out_.PutMeta("syscalls", ThreadStates::NumbersOf());
}

template <size_t n>
void TaskSampler::EndSeries(const std::array<Counter, n>& table,
                            const std::array<uint32_t, n>& series) {
  for (size_t i = 0; i < n; ++i)
    if (series[i] != 0)
      (table[i].pace == kSeldom ? slow_gone_ : gone_).push_back(series[i]);
}

void TaskSampler::CloseFiles(ThreadState& thread) {
  for (ProcFile* const file : {&thread.schedstat, &thread.status, &thread.stat})
    file->Close(budget_);
}

void TaskSampler::EndThread(ProcessState& process, ThreadState& thread) {
  CloseFiles(thread);
  EndSeries(kThreadTable, thread.series);
  process.ended_switches.voluntary += thread.switches.voluntary;
  process.ended_switches.involuntary += thread.switches.involuntary;
}

void TaskSampler::SyncThreads(ProcessState& process,
                              const ProcessTree::Live& live) {
  auto at = live.threads.begin();
  std::erase_if(process.threads, [&](ThreadState& thread) {
    while (at != live.threads.end() && at->first < thread.number) ++at;
    // A thread that execs takes the leader's tid: its files have moved.
    const bool gone = at == live.threads.end() || at->first != thread.number;
    if (gone) {
      EndThread(process, thread);
    } else if (at->second != thread.tid) {
      CloseFiles(thread);
      thread.tid = at->second;
    }
    return gone;
  });
  const uint32_t known =
      process.threads.empty() ? 0 : process.threads.back().number;
  auto fresh = std::upper_bound(
      live.threads.begin(), live.threads.end(), known,
      [](uint32_t number, const auto& one) { return number < one.first; });
  for (; fresh != live.threads.end(); ++fresh) {
    ThreadState thread;
    thread.number = fresh->first;
    thread.tid = fresh->second;
    process.threads.push_back(std::move(thread));
  }
}

ProcessState* TaskSampler::FindPid(pid_t pid) {
  for (auto& [number, process] : processes_)
    if (process.pid == pid) return &process;
  return nullptr;
}

// Takes over who has come and gone since the last tick.
void TaskSampler::Sync(int64_t now_ns) {
  if (tree_.changes() == seen_changes_) return;
  seen_changes_ = tree_.changes();
  const auto& live = tree_.live();
  for (auto at = processes_.begin(); at != processes_.end();) {
    ProcessState& process = at->second;
    if (live.contains(at->first)) {
      ++at;
      continue;
    }
    for (ThreadState& thread : process.threads) EndThread(process, thread);
    process.stat.Close(budget_);
    process.io.Close(budget_);
    EndSeries(kProcessTable, process.series);
    ended_.cpu_ns += std::max<int64_t>(0, process.cpu_ns);
    ended_.io_bytes += BytesOf(process.own_io);
    if (ProcessState* const parent = FindPid(process.parent))
      parent->own_io.ChildEnded(process.own_io);
    at = processes_.erase(at);
  }
  for (const auto& [number, one] : live) {
    const auto [at, fresh] = processes_.try_emplace(number);
    ProcessState& process = at->second;
    if (fresh) {
      process.number = number;
      process.pid = one.pid;
      process.next_pss_ns = now_ns + kPssFirstNs;
      if (::clock_getcpuclockid(one.pid, &process.clock) != 0) {
        // Ended already; its end is still to be told.
        processes_.erase(at);
        continue;
      }
    }
    SyncThreads(process, one);
  }
}

void TaskSampler::Poll(int64_t now_ns) {
  Sync(now_ns);
  if (!processes_.empty() || !gone_.empty()) {
    // A group exists once it has a series.
    if (!processes_.empty()) {
      ProcessState& first = processes_.begin()->second;
      SeriesOf(kProcessTable, first.series, kCpu, Series::Scope::kProcess,
               first.number);
    }
    tick_ns_ = NowNs();
    out_.BeginTick(groups_[kEveryTick], tick_ns_);
    for (auto& [number, process] : processes_) SampleProcess(process);
    for (const uint32_t series : gone_) out_.Gone(series);
    out_.EndTick();
    gone_.clear();
  }

  TellUsed();
  const int64_t slow_ns = NowNs();
  SampleStates(now_ns);
  if (now_ns + slack_ns_ >= next_switches_ns_) {
    next_switches_ns_ = now_ns + kSwitchesEveryNs;
    for (auto& [number, process] : processes_)
      if (process.ran) SampleSwitches(process);
  }
  pss_credit_ns_ = std::min(
      kPssMostCreditNs, pss_credit_ns_ + (now_ns - last_tick_ns_) / kPssShare);
  last_tick_ns_ = now_ns;
  for (auto& [number, process] : processes_) {
    if (pss_credit_ns_ <= 0) break;
    if (process.ran_for_pss && now_ns >= process.next_pss_ns)
      SamplePss(process, now_ns);
  }
  if (slow_.empty() && slow_gone_.empty()) return;
  out_.BeginTick(groups_[kSeldom], slow_ns);
  for (const Pending& one : slow_) out_.Set(one.series, one.value);
  for (const uint32_t series : slow_gone_) out_.Gone(series);
  out_.EndTick();
  slow_.clear();
  slow_gone_.clear();
}

void TaskSampler::TellUsed() {
  run_.used.cpu_ns = ended_.cpu_ns;
  run_.used.io_bytes = ended_.io_bytes;
  for (const auto& [number, process] : processes_) {
    run_.used.cpu_ns += std::max<int64_t>(0, process.cpu_ns);
    run_.used.io_bytes += BytesOf(process.own_io);
  }
}

}  // namespace sonde

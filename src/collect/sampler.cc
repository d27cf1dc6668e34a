// One Tick() reads everything that is due, cheapest question first:
//
//     process's CPU clock   moved since the last tick?    0.7 us, no file
//       stat io             only if it moved; four times a second if by
//       each thread's schedstat   less than 2 %
//     ten times a second    states of threads that ran, 0.1 % of a core at most
//     once a second         context switches of threads that ran
//     every ten seconds     PSS of processes that ran, 0.1 % of a core at most
//     ten times a second    the machine's files and the cgroups', and where
//                           some of the processes are that ran
//
// Files stay open as long as the limit on open files allows.

#include "collect/sampler.h"

#include <fmt/format.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "base/time.h"
#include "collect/cgroup_sampler.h"
#include "collect/gpu/device_sampler.h"
#include "collect/machine_sampler.h"
#include "collect/neighbours.h"
#include "collect/proc/proc_file.h"
#include "collect/proc/process_files.h"
#include "collect/process_places.h"
#include "collect/task_counters.h"
#include "collect/task_state.h"
#include "collect/thread_states.h"

namespace sonde {
namespace {

constexpr int64_t kMachineEveryNs = 100 * kNsPerMs;
// A process's files cost about 15 us of a core. One that used less than 1/50 of
// it would soon cost more to look at than to run: it is asked more seldom.
constexpr int64_t kBarelyRan = 50;
constexpr int64_t kBarelyRanEveryNs = 250 * kNsPerMs;
constexpr int64_t kSwitchesEveryNs = 1 * kNsPerSec;
constexpr int64_t kPssEveryNs = 10 * kNsPerSec;
// The first reading waits: most processes do not live as long.
constexpr int64_t kPssFirstNs = 1 * kNsPerSec;
// One whose reading took longer than this is read more seldom.
constexpr int64_t kPssLongNs = 5 * kNsPerMs;
constexpr int64_t kPssLongEveryNs = 60 * kNsPerSec;
constexpr int64_t kPssShare = 1000;  // at most 1/1000 of the time
constexpr int64_t kPssMostCreditNs = 20 * kNsPerMs;

uint64_t BytesOf(const OwnIo& io) {
  return io.own().read_bytes + io.own().write_bytes;
}

std::string MountInfo() {
  auto text = ReadFile("/proc/self/mountinfo", 4 << 20);
  return text.ok() ? text.Take() : std::string();
}

class TreeSampler : public Sampler {
 public:
  TreeSampler(TraceWriter& out, ProcessTree& tree, const Options& options)
      : out_(out),
        tree_(tree),
        // Ticks jitter: one that comes a little early is the one due.
        slack_ns_(static_cast<int64_t>(0.3e9 / std::max(options.rate_hz, 1.0))),
        // The other half is for the processes still to come: their pidfds.
        budget_{FdBudget::FromLimits().left / 2},
        machine_(out, kMachineGroup),
        cgroup_(out, kCgroupGroup, MountInfo()),
        places_(options.cgroup.empty() ? nullptr : &cgroup_, machine_),
        devices_(out, tree, options.rate_hz) {
    cgroup_.Add(options.cgroup);
    out_.PutMeta("syscalls", ThreadStates::NumbersOf());
  }

  void Tick(int64_t now_ns) override;
  void Finish() override;
  int64_t EndHelpers() override { return devices_.EndHelpers(); }
  Used used() const override;
  std::vector<NotCollected> not_collected() const override;

 private:
  struct Pending {
    uint32_t series;
    int64_t value;
  };

  ProcessState* FindPid(pid_t pid);
  void Sync(int64_t now_ns);
  void FindPlaces();
  void LookAtNeighbours(int64_t now_ns, bool last);
  void SyncThreads(ProcessState& process, const ProcessTree::Live& live);
  void CloseFiles(ThreadState& thread);
  void EndThread(ProcessState& process, ThreadState& thread);
  template <size_t n>
  void EndSeries(const std::array<Counter, n>& table,
                 const std::array<uint32_t, n>& series);
  template <size_t n>
  uint32_t SeriesOf(const std::array<Counter, n>& table,
                    std::array<uint32_t, n>& series, size_t counter,
                    Series::Scope scope, uint32_t scope_id);
  void Put(ProcessState& process, ProcessCounter counter, uint64_t value);
  void Put(ThreadState& thread, ThreadCounter counter, uint64_t value);
  void SampleProcess(ProcessState& process);
  void SampleFiles(ProcessState& process);
  void SampleThread(ProcessState& process, ThreadState& thread);
  void SampleSwitches(ProcessState& process);
  void SampleStates(int64_t now_ns);
  void SamplePss(ProcessState& process, int64_t now_ns);
  std::string_view Read(ProcFile& file, pid_t pid, pid_t tid, const char* name,
                        int* error = nullptr);
  const char* Path(pid_t pid, pid_t tid, const char* name);

  TraceWriter& out_;
  ProcessTree& tree_;
  const int64_t slack_ns_;
  const int64_t page_bytes_ = ::sysconf(_SC_PAGESIZE);
  const int64_t ns_per_tick_ = kNsPerSec / std::max(1L, ::sysconf(_SC_CLK_TCK));
  FdBudget budget_;
  MachineSampler machine_;
  CgroupSampler cgroup_;
  ProcessPlaces places_;
  DeviceSampler devices_;
  ThreadStates states_;
  Neighbours neighbours_;
  std::map<uint32_t, ProcessState> processes_;
  Used ended_;  // by processes that are gone
  uint64_t seen_changes_ = UINT64_MAX;
  int64_t next_machine_ns_ = 0;
  int64_t next_switches_ns_ = 0;
  int64_t pss_credit_ns_ = 0;
  int64_t last_tick_ns_ = 0;
  int64_t tick_ns_ = 0;  // when the tick that is open began to read
  std::vector<uint32_t> gone_, slow_gone_;
  std::vector<Pending> slow_;
  std::vector<char> buffer_;
  fmt::memory_buffer path_;
  bool io_denied_ = false;
  bool pss_denied_ = false;
};

std::string_view TreeSampler::Read(ProcFile& file, pid_t pid, pid_t tid,
                                   const char* name, int* error) {
  return file.Read(file.kept() ? "" : Path(pid, tid, name), budget_, buffer_,
                   error);
}

// /proc/PID/NAME, or of one of its threads if `tid` is not 0.
const char* TreeSampler::Path(pid_t pid, pid_t tid, const char* name) {
  path_.clear();
  fmt::format_to(std::back_inserter(path_), "/proc/{}/", pid);
  if (tid != 0) fmt::format_to(std::back_inserter(path_), "task/{}/", tid);
  fmt::format_to(std::back_inserter(path_), "{}", name);
  path_.push_back('\0');
  return path_.data();
}

template <size_t n>
uint32_t TreeSampler::SeriesOf(const std::array<Counter, n>& table,
                               std::array<uint32_t, n>& series, size_t counter,
                               Series::Scope scope, uint32_t scope_id) {
  if (series[counter] == 0) {
    Series row;
    row.group = table[counter].group;
    row.scope = scope;
    row.scope_id = scope_id;
    row.name = out_.Intern(table[counter].name);
    row.unit = out_.Intern(table[counter].unit);
    row.kind = table[counter].kind;
    series[counter] = out_.AddSeries(row);
  }
  return series[counter];
}

// Values of the slow group wait until its tick is open.
void TreeSampler::Put(ProcessState& process, ProcessCounter counter,
                      uint64_t value) {
  const uint32_t id = SeriesOf(kProcessTable, process.series, counter,
                               Series::Scope::kProcess, process.number);
  if (kProcessTable[counter].group == kSlowGroup)
    slow_.push_back({id, static_cast<int64_t>(value)});
  else
    out_.Set(id, static_cast<int64_t>(value));
}

void TreeSampler::Put(ThreadState& thread, ThreadCounter counter,
                      uint64_t value) {
  const uint32_t id = SeriesOf(kThreadTable, thread.series, counter,
                               Series::Scope::kThread, thread.number);
  if (kThreadTable[counter].group == kSlowGroup)
    slow_.push_back({id, static_cast<int64_t>(value)});
  else
    out_.Set(id, static_cast<int64_t>(value));
}

template <size_t n>
void TreeSampler::EndSeries(const std::array<Counter, n>& table,
                            const std::array<uint32_t, n>& series) {
  for (size_t i = 0; i < n; ++i)
    if (series[i] != 0)
      (table[i].group == kSlowGroup ? slow_gone_ : gone_).push_back(series[i]);
}

void TreeSampler::CloseFiles(ThreadState& thread) {
  for (ProcFile* const file : {&thread.schedstat, &thread.status, &thread.stat})
    file->Close(budget_);
}

void TreeSampler::EndThread(ProcessState& process, ThreadState& thread) {
  CloseFiles(thread);
  EndSeries(kThreadTable, thread.series);
  process.ended_switches.voluntary += thread.switches.voluntary;
  process.ended_switches.involuntary += thread.switches.involuntary;
}

void TreeSampler::SyncThreads(ProcessState& process,
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

ProcessState* TreeSampler::FindPid(pid_t pid) {
  for (auto& [number, process] : processes_)
    if (process.pid == pid) return &process;
  return nullptr;
}

// Takes over who has come and gone since the last tick.
void TreeSampler::Sync(int64_t now_ns) {
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
    places_.Ended(at->first);
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

// Where everybody is must be known before the first counters are read: the
// interfaces that are read first keep their plain names.
void TreeSampler::FindPlaces() {
  for (const auto& [number, process] : processes_)
    places_.Ran(number, process.pid);
  places_.Look(processes_.size());
}

void TreeSampler::LookAtNeighbours(int64_t now_ns, bool last) {
  const int64_t others_ns =
      machine_.busy_ns() - used().cpu_ns - ClockNs(CLOCK_PROCESS_CPUTIME_ID);
  const auto ours = [this, own = ::getpid()](pid_t pid) {
    return pid == own || tree_.FindPid(pid).has_value();
  };
  if (last ? neighbours_.CheckLast(now_ns, others_ns, ours)
           : neighbours_.Check(now_ns, others_ns, ours))
    out_.PutMeta("neighbours", neighbours_.Text());
}

void TreeSampler::Finish() {
  machine_.Tick(budget_, true);
  cgroup_.Tick(budget_, true);
  LookAtNeighbours(NowNs(), true);
}

void TreeSampler::Tick(int64_t now_ns) {
  Sync(now_ns);
  if (now_ns + slack_ns_ >= next_machine_ns_) {
    if (next_machine_ns_ == 0)
      FindPlaces();
    else
      places_.Look();
    next_machine_ns_ = now_ns + kMachineEveryNs;
    machine_.FollowShm(processes_.empty() ? 0 : processes_.begin()->second.pid);
    machine_.Tick(budget_);
    cgroup_.Tick(budget_);
    if (neighbours_.Due(now_ns)) LookAtNeighbours(now_ns, false);
  }
  devices_.Tick(now_ns);
  if (!processes_.empty() || !gone_.empty()) {
    // A group exists once it has a series.
    if (!processes_.empty()) {
      ProcessState& first = processes_.begin()->second;
      SeriesOf(kProcessTable, first.series, kCpu, Series::Scope::kProcess,
               first.number);
    }
    tick_ns_ = NowNs();
    out_.BeginTick(kTaskGroup, tick_ns_);
    for (auto& [number, process] : processes_) SampleProcess(process);
    for (const uint32_t series : gone_) out_.Gone(series);
    out_.EndTick();
    gone_.clear();
  }

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
  out_.BeginTick(kSlowGroup, slow_ns);
  for (const Pending& one : slow_) out_.Set(one.series, one.value);
  for (const uint32_t series : slow_gone_) out_.Gone(series);
  out_.EndTick();
  slow_.clear();
  slow_gone_.clear();
}

Sampler::Used TreeSampler::used() const {
  Used out = ended_;
  out.accelerator_share = devices_.BusyShare();
  for (const auto& [number, process] : processes_) {
    out.cpu_ns += std::max<int64_t>(0, process.cpu_ns);
    out.io_bytes += BytesOf(process.own_io);
  }
  return out;
}

void TreeSampler::SampleProcess(ProcessState& process) {
  timespec clock;
  if (::clock_gettime(process.clock, &clock) != 0) return;
  const int64_t cpu_ns = clock.tv_sec * kNsPerSec + clock.tv_nsec;
  if (cpu_ns != process.cpu_ns) {
    process.cpu_ns = cpu_ns;
    process.ran = process.ran_for_pss = true;
    places_.Ran(process.number, process.pid);
    Put(process, kCpu, static_cast<uint64_t>(cpu_ns));
    tree_.NoteCpu(process.number, 0, tick_ns_, cpu_ns);
  }
  if (cpu_ns == process.files_cpu_ns) return;
  const int64_t since_ns = tick_ns_ - process.files_ns;
  if (process.files_cpu_ns >= 0 && since_ns + slack_ns_ < kBarelyRanEveryNs &&
      (cpu_ns - process.files_cpu_ns) * kBarelyRan < since_ns)
    return;
  process.files_cpu_ns = cpu_ns;
  process.files_ns = tick_ns_;
  SampleFiles(process);
}

void TreeSampler::SampleFiles(ProcessState& process) {
  if (const auto stat =
          ParseProcessStat(Read(process.stat, process.pid, 0, "stat"))) {
    const uint64_t tick = static_cast<uint64_t>(ns_per_tick_);
    Put(process, kUser, stat->user_ticks * tick);
    Put(process, kSystem, stat->system_ticks * tick);
    Put(process, kMinorFaults, stat->minor_faults);
    Put(process, kMajorFaults, stat->major_faults);
    Put(process, kThreads, stat->threads);
    process.parent = stat->ppid;
    process.leader_state = stat->state;
    process.major_faults = stat->major_faults;
    // A process that ends has no memory any more, which is not what it used.
    if (stat->resident_pages > 0)
      Put(process, kRss,
          stat->resident_pages * static_cast<uint64_t>(page_bytes_));
  }
  if (!process.io_denied) {
    int error = 0;
    const std::string_view text =
        Read(process.io, process.pid, 0, "io", &error);
    if (const auto io = ParseProcessIo(text)) {
      process.own_io.Update(*io);
      const ProcessIo& own = process.own_io.own();
      Put(process, kReadChars, own.read_chars);
      Put(process, kWriteChars, own.write_chars);
      Put(process, kReadCalls, own.read_calls);
      Put(process, kWriteCalls, own.write_calls);
      Put(process, kReadBytes, own.read_bytes);
      Put(process, kWriteBytes, own.write_bytes);
    } else if (error == EACCES || error == EPERM) {
      process.io_denied = io_denied_ = true;
    }
  }
  for (ThreadState& thread : process.threads) SampleThread(process, thread);
}

void TreeSampler::SampleThread(ProcessState& process, ThreadState& thread) {
  const auto stat = ParseSchedStat(
      Read(thread.schedstat, process.pid, thread.tid, "schedstat"));
  if (!stat || stat->run_ns == thread.run_ns) return;
  thread.run_ns = stat->run_ns;
  thread.wait_ns = stat->wait_ns;
  thread.ran = true;
  Put(thread, kThreadCpu, stat->run_ns);
  tree_.NoteCpu(process.number, thread.number, tick_ns_,
                static_cast<int64_t>(stat->run_ns));
  Put(thread, kThreadWait, stat->wait_ns);
}

void TreeSampler::SampleSwitches(ProcessState& process) {
  process.ran = false;
  Switches sum = process.ended_switches;
  bool any = false;
  for (ThreadState& thread : process.threads) {
    if (thread.ran) {
      thread.ran = false;
      const std::string_view status =
          Read(thread.status, process.pid, thread.tid, "status");
      if (const auto switches = ParseSwitches(status)) {
        if (const auto files = any ? std::nullopt : ParseRssFileBytes(status))
          Put(process, kRssFile, *files);
        thread.switches = *switches;
        Put(thread, kThreadVoluntary, switches->voluntary);
        Put(thread, kThreadInvoluntary, switches->involuntary);
        any = true;
      }
    }
    sum.voluntary += thread.switches.voluntary;
    sum.involuntary += thread.switches.involuntary;
  }
  if (!any) return;
  Put(process, kVoluntary, sum.voluntary);
  Put(process, kInvoluntary, sum.involuntary);
}

void TreeSampler::SampleStates(int64_t now_ns) {
  for (const StateChange& one :
       states_.Tick(now_ns, slack_ns_, tick_ns_, processes_, budget_)) {
    if (one.thread != nullptr)
      Put(*one.thread, static_cast<ThreadCounter>(one.counter), one.value);
    else
      Put(*one.process, static_cast<ProcessCounter>(one.counter), one.value);
  }
}

void TreeSampler::SamplePss(ProcessState& process, int64_t now_ns) {
  const int64_t before_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  int error = 0;
  const auto pss = ParsePssBytes(
      ReadOnce(Path(process.pid, 0, "smaps_rollup"), buffer_, &error));
  const int64_t took_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID) - before_ns;
  pss_credit_ns_ -= took_ns;
  process.ran_for_pss = false;
  process.next_pss_ns =
      now_ns + (took_ns > kPssLongNs ? kPssLongEveryNs : kPssEveryNs);
  if (pss)
    Put(process, kPss, *pss);
  else if (error == EACCES || error == EPERM)
    pss_denied_ = true;
}

std::vector<NotCollected> TreeSampler::not_collected() const {
  std::vector<NotCollected> out = machine_.not_collected();
  for (NotCollected& one : devices_.not_collected())
    out.push_back(std::move(one));
  if (cgroup_.full())
    out.push_back({"cgroups",
                   fmt::format("the processes are in more than {}",
                               CgroupSampler::kMostCgroups),
                   ""});
  const char* const cure = "run sonde as root";
  if (io_denied_)
    out.push_back({"per-process I/O",
                   "/proc/PID/io of a process with other rights", cure});
  if (states_.denied())
    out.push_back({"thread states",
                   "/proc/PID/task/TID/syscall of a process with other rights",
                   cure});
  if (pss_denied_)
    out.push_back(
        {"PSS", "/proc/PID/smaps_rollup of a process with other rights", cure});
  return out;
}

}  // namespace

std::unique_ptr<Sampler> Sampler::Create(TraceWriter& out, ProcessTree& tree,
                                         const Options& options) {
  return std::make_unique<TreeSampler>(out, tree, options);
}

}  // namespace sonde

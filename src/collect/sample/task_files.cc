#include <fmt/format.h>
#include <time.h>

#include <cerrno>

#include "base/time.h"
#include "collect/proc/process_files.h"
#include "collect/sample/task_sampler.h"

namespace sonde {
namespace {

// A process's files cost about 15 us of a core. One that used less than 1/50 of
// it would soon cost more to look at than to run: it is asked more seldom.
constexpr int64_t kBarelyRan = 50;
constexpr int64_t kBarelyRanEveryNs = 250 * kNsPerMs;
constexpr int64_t kPssEveryNs = 10 * kNsPerSec;
// One whose reading took longer than this is read more seldom.
constexpr int64_t kPssLongNs = 5 * kNsPerMs;
constexpr int64_t kPssLongEveryNs = 60 * kNsPerSec;

}  // namespace

std::string_view TaskSampler::Read(ProcFile& file, pid_t pid, pid_t tid,
                                   const char* name, int* error) {
  return file.Read(file.kept() ? "" : Path(pid, tid, name), budget_, buffer_,
                   error);
}

// /proc/PID/NAME, or of one of its threads if `tid` is not 0.
const char* TaskSampler::Path(pid_t pid, pid_t tid, const char* name) {
  path_.clear();
  fmt::format_to(std::back_inserter(path_), "/proc/{}/", pid);
  if (tid != 0) fmt::format_to(std::back_inserter(path_), "task/{}/", tid);
  fmt::format_to(std::back_inserter(path_), "{}", name);
  path_.push_back('\0');
  return path_.data();
}

// Values of the slow group wait until its tick is open.
void TaskSampler::Put(ProcessState& process, ProcessCounter counter,
                      uint64_t value) {
  const uint32_t id = SeriesOf(kProcessTable, process.series, counter,
                               Series::Scope::kProcess, process.number);
  if (kProcessTable[counter].pace == kSeldom)
    slow_.push_back({id, static_cast<int64_t>(value)});
  else
    out_.Set(id, static_cast<int64_t>(value));
}

void TaskSampler::Put(ThreadState& thread, ThreadCounter counter,
                      uint64_t value) {
  const uint32_t id = SeriesOf(kThreadTable, thread.series, counter,
                               Series::Scope::kThread, thread.number);
  if (kThreadTable[counter].pace == kSeldom)
    slow_.push_back({id, static_cast<int64_t>(value)});
  else
    out_.Set(id, static_cast<int64_t>(value));
}

void TaskSampler::SampleProcess(ProcessState& process) {
  timespec clock;
  if (::clock_gettime(process.clock, &clock) != 0) return;
  const int64_t cpu_ns = clock.tv_sec * kNsPerSec + clock.tv_nsec;
  if (cpu_ns != process.cpu_ns) {
    process.cpu_ns = cpu_ns;
    process.ran = process.ran_for_pss = true;
    run_.places.Ran(process.number, process.pid);
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

void TaskSampler::SampleFiles(ProcessState& process) {
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

void TaskSampler::SampleThread(ProcessState& process, ThreadState& thread) {
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

void TaskSampler::SampleSwitches(ProcessState& process) {
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

void TaskSampler::SampleStates(int64_t now_ns) {
  for (const StateChange& one :
       states_.Tick(now_ns, slack_ns_, tick_ns_, processes_, budget_)) {
    if (one.thread != nullptr)
      Put(*one.thread, static_cast<ThreadCounter>(one.counter), one.value);
    else
      Put(*one.process, static_cast<ProcessCounter>(one.counter), one.value);
  }
}

void TaskSampler::SamplePss(ProcessState& process, int64_t now_ns) {
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

}  // namespace sonde

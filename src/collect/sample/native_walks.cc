// Which threads run Python, as the kernel's walker is told of them.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/time.h"
#include "collect/proc/proc_file.h"
#include "collect/proc/process_files.h"
#include "collect/sample/native_sampler.h"

namespace sonde {
namespace {

constexpr int64_t kRestBySync = 50;

}  // namespace

pid_t NativeSampler::OwnTid(pid_t pid, pid_t tid) {
  return ParseOwnPid(ReadText(fmt::format("/proc/{}/task/{}/status", pid, tid)))
      .value_or(tid);
}

void NativeSampler::LoadWalker() {
  std::vector<int> fds;
  for (const PerfRing& ring : events_.rings()) fds.push_back(ring.fd());
  const Status loaded = walker_->Load(fds, events_.cpus());
  if (loaded.ok()) return;
  DropWalker(loaded.error());
}

// Functions of Python are then read when we look, which is often.
void NativeSampler::DropWalker(const Error& why) {
  not_walked_ = SourceState::Fails(why.what, why.hint);
  walker_.reset();
  walked_.clear();
  run_.stacks_by = StacksBy::kPerf;
  every_ns_ = kMostOftenNs;
}

// Whether there may be threads of Python that the kernel does not know.
bool NativeSampler::WalkedChanged() const {
  return run_.pythons_found != walked_pythons_ ||
         (!walked_.empty() && run_.tree.changes() != walked_changes_);
}

// Tells the kernel which threads run Python. A process is asked when its
// threads have changed, soon again while some of them are unknown, and once a
// second: threads may come to Python late.
void NativeSampler::SyncWalked(int64_t now_ns) {
  if (!walker_) return;
  if (run_.pythons.empty() && walked_.empty()) {
    // One that was found has become another program since.
    walked_pythons_ = run_.pythons_found;
    return;
  }
  if (!walker_->loaded()) LoadWalker();
  if (!walker_ || now_ns < next_sync_ns_ ||
      (!WalkedChanged() && now_ns < next_ask_ns_))
    return;
  const int64_t before_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  walked_changes_ = run_.tree.changes();
  if (run_.pythons_found != walked_pythons_)
    young_until_ns_ = now_ns + kYoungNs;
  walked_pythons_ = run_.pythons_found;
  next_ask_ns_ = INT64_MAX;
  const auto& live = run_.tree.live();
  std::erase_if(walked_, [&](const auto& one) {
    const auto python = run_.pythons.find(one.first);
    if (live.contains(one.first) && python != run_.pythons.end() &&
        python->second.exec_ns == one.second.exec_ns)
      return false;
    for (const auto& [tid, state] : one.second.states) walker_->Remove(tid);
    return true;
  });
  for (auto& [number, python] : run_.pythons) {
    const auto at = live.find(number);
    if (at == live.end()) continue;
    Walked& walked = walked_[number];
    const bool changed = walked.threads != at->second.threads;
    if (changed || now_ns >= walked.next_ask_ns) {
      walked.threads = at->second.threads;
      walked.exec_ns = python.exec_ns;
      Walk(at->second.pid, python.process, walked);
      walked.ask_every_ns =
          walked.states.size() == walked.threads.size() ? kNsPerSec
          : changed                                     ? kYoungEveryNs
                    : std::min(2 * walked.ask_every_ns, kNsPerSec);
      walked.next_ask_ns = now_ns + walked.ask_every_ns;
    }
    next_ask_ns_ = std::min(next_ask_ns_, walked.next_ask_ns);
  }
  next_sync_ns_ =
      now_ns + (ClockNs(CLOCK_THREAD_CPUTIME_ID) - before_ns) * kRestBySync;
}

void NativeSampler::Walk(pid_t pid, PythonProcess& python, Walked& walked) {
  std::unordered_map<pid_t, uint64_t> states, now;  // by own tid, by tid
  for (const auto& one : python.ThreadAddresses())
    states.emplace(one.own_tid, one.state);
  const bool same_tids = OwnTid(pid, pid) == pid;
  for (const auto& [thread, tid] : walked.threads) {
    const auto state = states.find(same_tids ? tid : OwnTid(pid, tid));
    if (state == states.end()) continue;
    const auto known = walked.states.find(tid);
    const bool is_known =
        known != walked.states.end() && known->second == state->second;
    if (!is_known) {
      const Status put =
          walker_->Put(tid, state->second, python.python().layout);
      if (!put.ok()) {
        not_walked_ = SourceState::Fails(put.error().what, put.error().hint);
        continue;
      }
    }
    now.emplace(tid, state->second);
  }
  for (const auto& [tid, state] : walked.states)
    if (!now.contains(tid)) walker_->Remove(tid);
  walked.states = std::move(now);
}

}  // namespace sonde

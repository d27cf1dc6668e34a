#include "export/chrome_ids.h"

namespace sonde {

uint32_t ChromeIds::Claim(int64_t real, std::set<uint32_t>& taken) {
  if (real > 0 && real < kFirstPseudo &&
      taken.insert(static_cast<uint32_t>(real)).second)
    return static_cast<uint32_t>(real);
  return next_++;
}

ChromeIds::ChromeIds(const Store& store) {
  std::set<uint32_t> taken_pids, taken_tids;
  for (const auto& [number, process] : store.processes())
    pids_[number] = Claim(process.pid, taken_pids);
  // Threads choose first: their tids are the ones people look for.
  for (const auto& [id, track] : store.tracks()) {
    if (track.kind != Track::Kind::kThread) continue;
    const auto thread = store.threads().find(track.thread);
    tids_[id] = Claim(thread == store.threads().end() ? 0 : thread->second.tid,
                      taken_tids);
  }
  for (const auto& [id, track] : store.tracks())
    if (track.kind != Track::Kind::kThread) tids_[id] = next_++;
}

uint32_t ChromeIds::PidOf(uint32_t process) const {
  const auto at = pids_.find(process);
  return at == pids_.end() ? kMachine : at->second;
}

uint32_t ChromeIds::TidOf(uint32_t track) const {
  const auto at = tids_.find(track);
  return at == tids_.end() ? 0 : at->second;
}

}  // namespace sonde

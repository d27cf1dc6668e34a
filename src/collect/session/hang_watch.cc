#include "collect/session/hang_watch.h"

namespace sonde {
namespace {

constexpr double kMostCores = 0.01;
constexpr double kMostBytesPerSec = 4096;
constexpr double kMostAccelerator = 0.05;
constexpr int64_t kMoments = 10;

}  // namespace

bool HangWatch::Add(int64_t now_ns, const SampledRun::Used& used) {
  if (hang_ns_ <= 0) return false;
  if (used.accelerator_share.value_or(0) > kMostAccelerator) {
    past_.clear();
    hangs_ = false;
  }
  if (past_.empty() || now_ns - past_.back().ns >= hang_ns_ / kMoments)
    past_.push_back({now_ns, used.cpu_ns, used.io_bytes});
  // The youngest that is old enough is the first one.
  while (past_.size() > 1 && now_ns - past_[1].ns >= hang_ns_)
    past_.pop_front();
  const Moment& since = past_.front();
  const int64_t passed_ns = now_ns - since.ns;
  if (passed_ns < hang_ns_) return false;
  const double seconds = static_cast<double>(passed_ns) / 1e9;
  const bool still = static_cast<double>(used.cpu_ns - since.cpu_ns) / 1e9 <
                         kMostCores * seconds &&
                     static_cast<double>(used.io_bytes - since.io_bytes) <
                         kMostBytesPerSec * seconds;
  const bool news = still && !hangs_;
  hangs_ = still;
  return news;
}

}  // namespace sonde

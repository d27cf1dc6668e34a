#include "collect/ring/target_ring.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include <algorithm>

#include "base/time.h"

namespace sonde {
namespace {

// How long a process and a thread may be unknown to the tree.
constexpr int64_t kUnknownNs = 2 * kNsPerSec;
constexpr int kUnknownPasses = 5;
// Room for words that is kept from one pass to the next.
constexpr size_t kFewWords = 128 << 10;
// A filter comes early in a program's life, if it comes.
constexpr int64_t kFilterEveryNs = kNsPerSec;
constexpr int64_t kYoungNs = 2 * kNsPerSec;
constexpr size_t kMostMaps = 8 << 20;

// The last number of the NSpid line: the pid as the process sees it.
pid_t OwnPid(std::string_view status) {
  size_t at = status.find("\nNSpid:");
  if (at == std::string_view::npos) return 0;
  const std::string_view line = status.substr(at + 1);
  const size_t end = std::min(line.find('\n'), line.size());
  const size_t tab = line.substr(0, end).find_last_of(" \t");
  if (tab == std::string_view::npos) return 0;
  pid_t pid = 0;
  for (const char c : line.substr(tab + 1, end - tab - 1)) {
    if (c < '0' || c > '9' || pid > 100'000'000) return 0;
    pid = pid * 10 + (c - '0');
  }
  return pid;
}

}  // namespace

TargetRing::TargetRing(Fd ring, Fd tails, std::string stem, TraceWriter& out,
                       ProcessTree& tree, const TickClock* clock)
    : ring_(std::move(ring)),
      tails_(std::move(tails)),
      stem_(std::move(stem)),
      out_(out),
      tree_(tree),
      clock_(clock),
      reader_(ring_.get()),
      publisher_(tails_.get()) {
  full_ = {"ring-full",
           "records the program made faster than they could be read", 0,
           kNoTime, kNoTime};
  damaged_ = {"ring-damaged",
              "bytes of records that cannot be read: something in the program "
              "wrote over them or cut them off",
              0, kNoTime, kNoTime};
}

// Whether the process has this file mapped. Also true if that cannot be known.
bool TargetRing::Maps(pid_t pid) const {
  struct stat st;
  if (::fstat(ring_.get(), &st) != 0) return false;
  const auto maps = ReadFile(fmt::format("/proc/{}/maps", pid), kMostMaps);
  if (!maps.ok() || maps.value().empty()) return true;
  return maps.value().find(fmt::format(" {:02x}:{:02x} {} ", major(st.st_dev),
                                       minor(st.st_dev), st.st_ino)) !=
         std::string::npos;
}

// The pid in the header is the process's own view. In another pid namespace
// somebody else has that pid here.
bool TargetRing::FindProcess(int64_t now_ns) {
  const pid_t own = static_cast<pid_t>(reader_.header().pid);
  // One that has become another program since does not map it any more.
  const int64_t made_ns = MadeNs();
  if (const auto task = tree_.FindPid(own);
      task && (!task->alive || Maps(own) ||
               (task->exec_ns != kNoTime && task->exec_ns > made_ns))) {
    process_ = task->number;
    return true;
  }
  for (const auto& [number, live] : tree_.live()) {
    if (live.pid == own) continue;
    const auto status = ReadFile(fmt::format("/proc/{}/status", live.pid));
    if (!status.ok() || OwnPid(status.value()) != own || !Maps(live.pid))
      continue;
    process_ = number;
    return true;
  }
  return now_ns - found_ns_ > kUnknownNs;
}

void TargetRing::Begin() {
  if (const auto live = tree_.live().find(process_);
      live != tree_.live().end()) {
    pid_ = live->second.pid;
    has_cpu_clock_ = ::clock_getcpuclockid(pid_, &cpu_clock_) == 0;
  }
  Annotations::Options options;
  options.process = process_;
  options.ticks = clock_;
  options.look = [this](uint32_t id) { return reader_.Name(id); };
  options.name_thread = [this](uint32_t thread, std::string_view name) {
    tree_.Rename(process_, thread, name);
  };
  options.name_process = [this](std::string_view name) {
    tree_.Rename(process_, 0, name);
  };
  annotations_ = std::make_unique<Annotations>(out_, std::move(options));
}

int64_t TargetRing::ToNs(uint64_t time) const {
  return clock_ != nullptr ? clock_->ToNs(time)
                           : static_cast<int64_t>(time & INT64_MAX);
}

bool TargetRing::Ran() {
  timespec clock;
  if (!has_cpu_clock_ || ::clock_gettime(cpu_clock_, &clock) != 0) return true;
  const int64_t cpu_ns = clock.tv_sec * kNsPerSec + clock.tv_nsec;
  if (cpu_ns == cpu_ns_) return false;
  cpu_ns_ = cpu_ns;
  return true;
}

// A program that lets a filter kill it for system calls must not make one for
// us, not even to get more room.
void TargetRing::LookForFilter(int64_t now_ns) {
  if (pid_ == 0 || now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns - found_ns_ < kYoungNs ? 0 : now_ns + kFilterEveryNs;
  const auto status = ReadFile(fmt::format("/proc/{}/status", pid_));
  if (!status.ok() ||
      (status.value().find("\nSeccomp:\t1\n") == std::string::npos &&
       status.value().find("\nSeccomp:\t2\n") == std::string::npos))
    return;
  publisher_.ForbidGrowth();
  next_look_ns_ = INT64_MAX;
}

// Our library only lets the file grow.
void TargetRing::LookForCut() {
  struct stat st;
  if (::fstat(ring_.get(), &st) != 0) return;
  if (st.st_size < size_)
    Lost({}, {0, static_cast<uint64_t>(size_ - st.st_size), 0, 0});
  size_ = st.st_size;
}

size_t TargetRing::Read(int64_t now_ns) {
  if (!begun()) {
    if (found_ns_ == 0) found_ns_ = now_ns;
    if (!reader_.Open() || !FindProcess(now_ns)) return 0;
    Begin();
  }
  if (!Ran()) return 0;
  changed_ = true;
  LookForFilter(now_ns);
  LookForCut();
  const size_t bytes = reader_.Read(*this);
  const auto drained = reader_.TakeDrained();
  drained_.insert(drained_.end(), drained.begin(), drained.end());
  return bytes;
}

void TargetRing::Publish() {
  if (drained_.empty()) return;
  publisher_.Publish(drained_);
  drained_.clear();
}

void TargetRing::Records(const RingThread& thread,
                         std::span<const uint64_t> words) {
  pieces_.push_back({thread, words_.size(), words.size(), 0, false});
  words_.insert(words_.end(), words.begin(), words.end());
}

void TargetRing::Ended(const RingThread& thread) {
  pieces_.push_back({thread, words_.size(), 0, 0, true});
}

void TargetRing::Lost(const RingThread&, const RingLoss& loss) {
  const bool full = loss.count > 0;
  Loss& row = full ? full_ : damaged_;
  std::optional<size_t>& handle = full ? full_handle_ : damaged_handle_;
  row.count += full ? loss.count : loss.bytes;
  if (loss.from != 0)
    row.from_ns = row.from_ns == kNoTime
                      ? ToNs(loss.from)
                      : std::min(row.from_ns, ToNs(loss.from));
  if (loss.to != 0) row.to_ns = std::max(row.to_ns, ToNs(loss.to));
  out_.PutLoss(handle, row);
}

void TargetRing::Convert(bool last, uint64_t horizon) {
  if (!begun()) return;
  changed_ |= !pieces_.empty() || !ending_.empty() || annotations_->waiting();
  // Only now has the clock reached it.
  if (start_ns_ == kNoTime) start_ns_ = ToNs(reader_.header().time);
  for (Piece& piece : pieces_) {
    const uint32_t key = piece.thread.number;
    const pid_t tid = static_cast<pid_t>(piece.thread.tid);
    auto at = threads_.find(key);
    if (at == threads_.end()) {
      const uint32_t thread = tree_.FindThread(process_, tid).number;
      if (thread == 0 && !last && process_ != 0 &&
          piece.passes < kUnknownPasses) {
        Keep(piece);
        continue;
      }
      at = threads_.emplace(key, thread).first;
    }
    if (piece.ended)
      ending_.push_back({key, at->second, tid});
    else
      annotations_->Take(key, at->second, piece.thread.tid,
                         std::span(words_).subspan(piece.first, piece.count));
  }
  pieces_.swap(kept_);
  words_.swap(kept_words_);
  kept_.clear();
  kept_words_.clear();
  for (auto* words : {&words_, &kept_words_})
    if (words->empty() && words->capacity() > kFewWords) words->shrink_to_fit();
  annotations_->EndPass(horizon);
  EndThreads();
}

// A thread whose creation has not been told yet waits for it.
void TargetRing::Keep(const Piece& piece) {
  Piece& kept = kept_.emplace_back(piece);
  kept.first = kept_words_.size();
  ++kept.passes;
  const auto from = words_.begin() + static_cast<ptrdiff_t>(piece.first);
  kept_words_.insert(kept_words_.end(), from,
                     from + static_cast<ptrdiff_t>(piece.count));
}

// Threads say that they have ended a little before they have.
void TargetRing::EndThreads() {
  std::erase_if(ending_, [&](const Ending& one) {
    const auto state = tree_.FindThread(process_, one.tid);
    if (one.thread != 0 && state.number == one.thread &&
        state.end_ns == kNoTime)
      return false;
    if (one.thread != 0 && state.number == one.thread)
      annotations_->ThreadEnded(one.key, state.end_ns);
    threads_.erase(one.key);
    return true;
  });
}

void TargetRing::Finish(int64_t at_ns) {
  if (!begun()) {
    if (!reader_.Open()) return;
    FindProcess(at_ns);
    Begin();
  }
  LookForCut();
  reader_.Finish(*this);
  Convert(true, UINT64_MAX);
  if (at_ns == kNoTime) at_ns = last_ns();
  annotations_->ProcessEnded(at_ns);
  if (const uint64_t lost = reader_.header().names_lost; lost > 0)
    out_.AddLoss({"names-full",
                  "names the program made beyond the 4 MB there is room for; "
                  "their records have none",
                  lost, start_ns_, at_ns});
  if (const uint64_t left_out = annotations_->texts_left_out(); left_out > 0)
    out_.AddLoss({"texts-full",
                  "texts of arguments: the program made more different ones "
                  "than are kept (256 MB)",
                  left_out, start_ns_, at_ns});
  if (const uint64_t strange = annotations_->strange(); strange > 0)
    out_.AddLoss({"ring-strange",
                  "records that make no sense here: an end of a range nobody "
                  "began, a row or clock nobody made, a kind nobody knows",
                  strange, start_ns_, at_ns});
}

}  // namespace sonde

#include "collect/ring/target_rings.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "collect/ring/target_ring.h"
#include "ring/layout.h"
#include "wire/record.h"

namespace sonde {
namespace {

constexpr char kControl[] = "control";
constexpr std::string_view kRingEnd = ".ring";
constexpr int64_t kPassEveryNs = 100 * kNsPerMs;
// More than this in one pass, and the next one comes sooner.
constexpr size_t kMuch = 1 << 20;
constexpr int64_t kSoonNs = 10 * kNsPerMs;
constexpr size_t kMostRings = 100'000;
constexpr int kTries = 20;

SourceState CheckAnnotations() {
  return SourceState::Works(
      TicksAreTime() ? "of programs that link libsonde"
                     : "of programs that link libsonde, by the kernel's clock");
}

}  // namespace

constexpr SourceInfo kAnnotationsSource = {
    "annotations", "slices, counters and marks of programs", CheckAnnotations};
extern const GathererInfo kRingsGatherer = {{&kAnnotationsSource, 1}};

Result<std::unique_ptr<TargetRings>> TargetRings::Create(int dir,
                                                         TraceWriter& out,
                                                         ProcessTree& tree) {
  Fd control(::openat(
      dir, kControl, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!control.valid() || ::fchmod(control.get(), 0600) != 0)
    return ErrnoError("control file", errno);
  if (const int error = ::posix_fallocate(control.get(), 0, kControlBytes))
    return ErrnoError("control file", error);
  std::unique_ptr<TargetRings> rings(
      new TargetRings(dir, std::move(control), TicksAreTime(), out, tree));
  rings->WriteControl();
  rings->Save();
  return rings;
}

TargetRings::TargetRings(int dir, Fd control, bool ticks, TraceWriter& out,
                         ProcessTree& tree)
    : dir_(dir),
      control_(std::move(control)),
      ticks_are_time_(ticks),
      out_(out),
      tree_(tree),
      state_file_(dir) {
  clock_.Take();
}

TargetRings::~TargetRings() = default;

void TargetRings::WriteControl() {
  ControlPage page = {};
  page.magic = kControlMagic;
  page.version = kRingVersion;
  page.clock = static_cast<uint32_t>(ticks_are_time_ ? WireClock::kTicks
                                                     : WireClock::kMonotonic);
  page.recording = recording_ ? 1 : 0;
  // Nothing can be done if this fails; it is four kilobytes that are there.
  (void)!::pwrite(control_.get(), &page, sizeof(page), 0);
}

void TargetRings::Pause(bool paused) {
  if (recording_ == !paused) return;
  recording_ = !paused;
  WriteControl();
  if (!paused) return;
  const int64_t now_ns = NowNs();
  Poll(now_ns);
  for (const auto& ring : rings_) ring->Paused(now_ns);
}

bool TargetRings::DirectoryChanged() {
  struct stat st;
  if (::fstat(dir_, &st) != 0) return false;
  const bool changed = st.st_mtim.tv_sec != seen_change_.tv_sec ||
                       st.st_mtim.tv_nsec != seen_change_.tv_nsec;
  seen_change_ = st.st_mtim;
  // Once more after a change: the time is only as fine as the kernel's tick.
  return std::exchange(look_again_, changed) || changed;
}

void TargetRings::FindRings() {
  ForEachName(dir_, ".", [&](const char* file) {
    const std::string_view name = file;
    if (!name.ends_with(kRingEnd) || rings_.size() >= kMostRings) return;
    const std::string stem(name.substr(0, name.size() - kRingEnd.size()));
    if (ended_.contains(stem) || known_.contains(stem)) return;
    Refused& refused = refused_[stem];
    if (refused.tries >= kTries) return;
    Fd ring = OpenRegular(dir_, file, O_RDONLY);
    Fd tails;
    if (ring.valid())
      tails = OpenRegular(dir_, (stem + ".tails").c_str(), O_RDWR);
    if (!tails.valid()) {
      refused.too_many = errno == EMFILE || errno == ENFILE;
      ++refused.tries;
      return;
    }
    refused_.erase(stem);
    known_.insert(stem);
    rings_.push_back(std::make_unique<TargetRing>(
        std::move(ring), std::move(tails), stem, out_, tree_,
        ticks_are_time_ ? &clock_ : nullptr));
  });
}

void TargetRings::Poll(int64_t now_ns) {
  if (DirectoryChanged()) FindRings();
  size_t most = 0;
  for (const auto& ring : rings_) {
    const uint64_t horizon =
        ticks_are_time_ ? ReadTicks() : static_cast<uint64_t>(NowNs());
    const size_t bytes = ring->Read(now_ns);
    // After the reading: no record is later than this.
    clock_.Take();
    // One after the other: a full ring is 64 MB.
    ring->EndPass(horizon);
    unpublished_ += bytes;
    most = std::max(most, bytes);
  }
  next_ns_ = now_ns + (most > kMuch ? kSoonNs : kPassEveryNs);

  for (size_t at = 0; at < rings_.size();) {
    const TargetRing& ring = *rings_[at];
    std::optional<int64_t> end_ns;
    if (ring.bad()) end_ns = now_ns;
    if (ring.begun() && ring.process() != 0) {
      const auto task = tree_.FindNumber(ring.process());
      if (!task)
        end_ns = now_ns;
      else if (!task->alive)
        end_ns = task->end_ns;
      else if (task->exec_ns != kNoTime && task->exec_ns > ring.start_ns())
        end_ns = task->exec_ns;
    }
    if (end_ns)
      End(at, *end_ns);
    else
      ++at;
  }
}

void TargetRings::Publish() {
  for (const auto& ring : rings_) ring->Publish();
  unpublished_ = 0;
  // Of no use to anybody.
  for (const std::string& stem : ended_) {
    ::unlinkat(dir_, (stem + ".ring").c_str(), 0);
    ::unlinkat(dir_, (stem + ".tails").c_str(), 0);
  }
  ended_.clear();
}

// Its process or image has ended.
void TargetRings::End(size_t at, int64_t at_ns) {
  TargetRing& ring = *rings_[at];
  clock_.Take();
  if (ring.bad())
    ++bad_;
  else
    ring.Finish(at_ns);
  ended_records_ += ring.records();
  if (ring.process() != 0 && ring.last_ns() != kNoTime)
    tree_.NoteLife(ring.process(), ring.last_ns());
  known_.erase(ring.stem());
  ended_.insert(ring.stem());
  saved_.erase(ring.stem());
  save_again_ = true;
  rings_.erase(rings_.begin() + static_cast<ptrdiff_t>(at));
}

void TargetRings::Stop(int64_t now_ns) {
  recording_ = false;
  WriteControl();
  Poll(now_ns);
  FindRings();
  for (const auto& ring : rings_) ring->Read(now_ns);
  while (!rings_.empty()) {
    const TargetRing& ring = *rings_.back();
    const auto task = tree_.FindNumber(ring.process());
    // Of one that died unseen only its records tell how long it lived.
    const bool died = task && !task->alive;
    End(rings_.size() - 1, !died                     ? now_ns
                           : task->end_ns != kNoTime ? task->end_ns
                                                     : kNoTime);
  }
}

size_t TargetRings::refused() const {
  return static_cast<size_t>(
      std::count_if(refused_.begin(), refused_.end(),
                    [](const auto& one) { return one.second.too_many; }));
}

uint64_t TargetRings::records() const {
  uint64_t sum = ended_records_;
  for (const auto& ring : rings_) sum += ring->records();
  return sum;
}

std::vector<NotCollected> TargetRings::not_collected() const {
  std::vector<NotCollected> out;
  const auto tell = [&](size_t count, const char* why, const char* cure) {
    if (count > 0)
      out.push_back(Missing(kAnnotationsSource,
                            fmt::format("of {} process(es): {}", count, why),
                            cure));
  };
  tell(refused(), "their ring files could not be opened", "ulimit -n 4096");
  tell(replaced(), "something else is in the place of their ring files",
       "leave what is in $SONDE_SESSION alone");
  tell(bad_, "they use a libsonde.so of another version",
       "use the libsonde.so that came with this sonde");
  return out;
}

}  // namespace sonde

#include "collect/session/recording.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <nlohmann/json.hpp>

#include "base/time.h"
#include "collect/session/identity.h"
#include "collect/session/session_dir.h"
#include "trace/sources.h"

namespace sonde {
namespace {

constexpr int64_t kSealEveryNs = 10 * kNsPerSec;
// A reader takes kMaxFrames: a recording of days makes fewer and longer ones.
constexpr size_t kManyFrames = 1 << 16;
constexpr size_t kMuchUnsafe = 4 << 20;

std::string Dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

int64_t MicrosToNs(const timeval& t) {
  return t.tv_sec * kNsPerSec + t.tv_usec * kNsPerUs;
}

}  // namespace

Recording::Recording(std::unique_ptr<TraceWriter> out, pid_t root, int session,
                     const Options& options)
    : target_(options.target), out_(std::move(out)), started_ns_(NowNs()) {
  sealed_ns_ = started_ns_;
  const std::string cgroup =
      target_ != nullptr ? target_->cgroup() : OwnCgroup();
  WriteIdentity(*out_, target_ != nullptr ? target_->pid() : 0, cgroup,
                options.environment_values);
  if (target_ != nullptr)
    out_->PutMeta("watched", target_->text());
  else
    out_->PutMeta("command", Dump(options.command));
  out_->PutMeta("rate_hz", fmt::format("{:g}", options.rate_hz));
  out_->PutMeta("started_ns", std::to_string(started_ns_));
  out_->PutMeta("started_realtime_ns", std::to_string(ClockNs(CLOCK_REALTIME)));
  AddClock();
  Track track;
  track.kind = Track::Kind::kMachine;
  track.name = out_->Intern("session");
  track.source = out_->Intern(source::kSession);
  track_ = out_->AddTrack(track);
  ProcessTree::Options tree;
  tree.use_perf = options.use_perf;
  tree.all_args = options.all_args;
  tree_ = target_ != nullptr ? ProcessTree::Watch(*target_, *out_, tree)
                             : ProcessTree::Follow(root, *out_, tree);
  out_->PutMeta("tree_source", tree_->source());
  const StacksOf stacks_of = target_ == nullptr      ? StacksOf::kCommand
                             : target_->everything() ? StacksOf::kMachine
                                                     : StacksOf::kRunning;
  gatherers_ = std::make_unique<Gatherers>(*out_, *tree_, options.rate_hz,
                                           cgroup, options.stacks_hz,
                                           options.stacks_by, stacks_of);
  if (options.find_steady) steady_.emplace();
  auto rings = TargetRings::Create(session, *out_, *tree_);
  if (rings.ok())
    rings_ = rings.Take();
  else
    rings_why_ = rings.error().what;
  out_->Flush();
}

bool Recording::Tick(int64_t now_ns) {
  tree_->Poll(now_ns);
  if (paused()) return false;
  gatherers_->Poll(now_ns);
  if (steady_) LookForSteady(now_ns);
  return true;
}

void Recording::LookForSteady(int64_t now_ns) {
  const SampledRun::Used used = gatherers_->used();
  const double elapsed_s = static_cast<double>(now_ns - used_ns_) / 1e9;
  if (elapsed_s <= 0) return;
  const auto found = steady_->Add(
      now_ns, static_cast<double>(used.cpu_ns - used_.cpu_ns) / 1e9 / elapsed_s,
      used.accelerator_share,
      static_cast<double>(used.io_bytes - used_.io_bytes) / elapsed_s);
  used_ = used;
  used_ns_ = now_ns;
  if (!found) return;
  steady_.reset();
  out_->PutMeta("steady_why", found->why);
  if (!found->from_ns) return;
  const int64_t from_ns = std::max(started_ns_, *found->from_ns);
  out_->PutMeta("steady_ns", std::to_string(from_ns));
  Event event;
  event.begin_ns = started_ns_;
  event.dur_ns = from_ns - started_ns_;
  event.name = out_->Intern("start-up");
  event.category = out_->Intern("session");
  out_->AddEvent(track_, event);
}

int64_t Recording::next_drain_ns() const {
  return rings_ ? rings_->next_ns() : INT64_MAX / 2;
}

void Recording::Drain(int64_t now_ns) {
  if (!rings_) return;
  tree_->Poll(now_ns);
  rings_->Poll(now_ns);
  // Targets wait for their room.
  if (rings_->unpublished() > kMuchUnsafe) Flush(now_ns);
}

void Recording::Flush(int64_t now_ns) {
  const auto slower = static_cast<int64_t>(1 + out_->frames() / kManyFrames);
  if (now_ns - sealed_ns_ < slower * kSealEveryNs) {
    out_->Flush();
  } else {
    AddClock();
    out_->Seal();
    sealed_ns_ = now_ns;
  }
  if (!rings_ || out_->failure()) return;
  rings_->Save();
  rings_->Publish();
}

void Recording::Stalled(int64_t from_ns, int64_t to_ns, int64_t missed_ticks) {
  if (paused()) return;
  Loss loss;
  loss.reason = "stopped";
  loss.detail =
      "ticks without a sample: the collector was stopped or did not get a core";
  loss.count = static_cast<uint64_t>(missed_ticks);
  loss.from_ns = from_ns;
  loss.to_ns = to_ns;
  out_->AddLoss(loss);
}

bool Recording::Pause(int64_t now_ns) {
  if (paused()) return false;
  paused_since_ns_ = now_ns;
  gatherers_->Pause(true);
  if (rings_) rings_->Pause(true);
  return true;
}

bool Recording::Resume(int64_t now_ns) {
  if (!paused()) return false;
  Event event;
  event.begin_ns = *paused_since_ns_;
  event.dur_ns = now_ns - *paused_since_ns_;
  event.name = out_->Intern("paused");
  event.category = out_->Intern("session");
  out_->AddEvent(track_, event);
  paused_since_ns_.reset();
  gatherers_->Pause(false);
  if (rings_) rings_->Pause(false);
  return true;
}

void Recording::Delay(int64_t now_ns, int64_t delay_ns) {
  out_->PutMeta("delay_ns", std::to_string(delay_ns));
  out_->Flush();
  Pause(now_ns);
}

void Recording::Mark(int64_t now_ns, std::string_view text) {
  Arg arg;
  arg.key = out_->Intern("text");
  arg.type = Arg::Type::kString;
  arg.string_value = out_->Intern(text);
  Event event;
  event.kind = Event::Kind::kInstant;
  event.begin_ns = now_ns;
  event.name = out_->Intern("mark");
  event.category = out_->Intern("session");
  event.args = out_->AddArgs({arg});
  out_->AddEvent(track_, event);
}

void Recording::RootEnded(int64_t now_ns, int wait_status,
                          const rusage& usage) {
  root_ended_ = true;
  tree_->RootEnded(now_ns, wait_status, usage);
  const auto root = tree_->FindNumber(1);
  root_ended_ns_ = root && !root->alive ? root->end_ns : now_ns;
  out_->PutMeta("exit", WIFSIGNALED(wait_status)
                            ? fmt::format("signal {}", WTERMSIG(wait_status))
                            : fmt::format("exit {}", WEXITSTATUS(wait_status)));
  out_->PutMeta("tree_cpu_ns", std::to_string(MicrosToNs(usage.ru_utime) +
                                              MicrosToNs(usage.ru_stime)));
  out_->PutMeta("max_rss_bytes", std::to_string(usage.ru_maxrss * 1024));
}

Status Recording::End(int64_t now_ns, int64_t ended_ns, const char* ended_by) {
  gatherers_->Stop(now_ns);
  Resume(now_ns);
  tree_->Poll(now_ns);
  if (rings_) {
    rings_->Stop(now_ns);
    out_->PutMeta("guest_records", std::to_string(rings_->records()));
  }
  out_->PutMeta(
      "still_running",
      std::to_string(target_ != nullptr || root_ended_ ? Descendants()
                                                       : Descendants() + 1));
  tree_->Stop(now_ns);
  std::vector<NotCollected> missing;
  if (!rings_) missing.push_back(Missing(kAnnotationsSource, rings_why_));
  for (const Gatherer* const gatherer :
       {static_cast<Gatherer*>(tree_.get()),
        static_cast<Gatherer*>(gatherers_.get()),
        static_cast<Gatherer*>(rings_.get())})
    if (gatherer != nullptr)
      for (const NotCollected& one : gatherer->not_collected())
        missing.push_back(one);
  out_->PutNotCollected(missing);
  out_->PutMeta("ended_ns", std::to_string(ended_ns));
  out_->PutMeta("ended_by", ended_by);
  if (steady_)
    out_->PutMeta("steady_why", "no steady work was seen before the end");
  AddClock();
  // Sealing is most of what is left to do, so the cost is taken after it.
  out_->Seal();
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  out_->PutMeta("overhead_cpu_ns",
                std::to_string(ClockNs(CLOCK_PROCESS_CPUTIME_ID) +
                               gatherers_->EndHelpers()));
  out_->PutMeta("overhead_rss_bytes", std::to_string(usage.ru_maxrss * 1024));
  return out_->Close();
}

std::vector<pid_t> Recording::pids() const {
  std::vector<pid_t> out;
  for (const auto& [number, process] : tree_->live())
    out.push_back(process.pid);
  return out;
}

bool Recording::Contains(pid_t pid) const {
  for (const auto& [number, process] : tree_->live())
    if (process.pid == pid) return true;
  return false;
}

size_t Recording::Descendants() const {
  size_t count = 0;
  for (const auto& [number, process] : tree_->live())
    if (number != 1 || target_ != nullptr) ++count;
  return count;
}

void Recording::AddClock() {
  out_->AddClock({NowNs(), ClockNs(CLOCK_REALTIME), ClockNs(CLOCK_BOOTTIME)});
}

std::string NameOf(const Recording::Options& recording) {
  return recording.target != nullptr ? recording.target->text()
                                     : CommandText(recording.command);
}

}  // namespace sonde

#include "collect/session/gatherers.h"

#include <algorithm>
#include <utility>

namespace sonde {

extern const GathererInfo kTreeGatherer, kTaskGatherer, kMachineGatherer,
    kCgroupGatherer, kDeviceGatherer, kNeighboursGatherer, kRingsGatherer,
    kSessionSources, kStackGatherer, kNativeGatherer;

namespace {

// One row for each gatherer, in the order users care. What a later one needs
// of an earlier one in the same tick, it finds in the SampledRun. Tree and
// rings are made by the recording: others rest on the tree, and the rings lie
// in its session's directory.
constexpr const GathererInfo* kTable[] = {
    &kTreeGatherer,   &kTaskGatherer,       &kMachineGatherer, &kCgroupGatherer,
    &kDeviceGatherer, &kNeighboursGatherer, &kNativeGatherer,  &kStackGatherer,
    &kRingsGatherer,  &kSessionSources,
};

}  // namespace

std::vector<const SourceInfo*> Sources() {
  std::vector<const SourceInfo*> out;
  for (const GathererInfo* const gatherer : kTable)
    for (const SourceInfo& source : gatherer->sources) out.push_back(&source);
  return out;
}

Gatherers::Gatherers(TraceWriter& out, ProcessTree& tree, double rate_hz,
                     std::string cgroup, double stacks_hz, StacksBy stacks_by,
                     StacksOf stacks_of)
    : run_(out, tree, rate_hz, std::move(cgroup)) {
  run_.stacks_hz = stacks_hz;
  run_.stacks_by = stacks_by;
  run_.stacks_of = stacks_of;
  for (const GathererInfo* const gatherer : kTable)
    if (gatherer->make != nullptr) gatherers_.push_back(gatherer->make(run_));
  if (!run_.native_stacks) run_.stacks_by = StacksBy::kProc;
  if (stacks_hz > 0) out.PutMeta("stacks_by", NameOf(run_.stacks_by));
}

void Gatherers::Poll(int64_t now_ns) {
  run_.BeginTick(now_ns);
  for (const auto& one : gatherers_) one->Poll(now_ns);
}

int64_t Gatherers::next_look_ns() const {
  int64_t next_ns = INT64_MAX;
  for (const auto& one : gatherers_)
    next_ns = std::min(next_ns, one->next_look_ns());
  return next_ns;
}

void Gatherers::Look(int64_t now_ns) {
  for (const auto& one : gatherers_)
    if (now_ns >= one->next_look_ns()) one->Look(now_ns);
}

std::vector<int> Gatherers::look_fds() const {
  std::vector<int> out;
  for (const auto& one : gatherers_)
    for (const int fd : one->look_fds()) out.push_back(fd);
  return out;
}

void Gatherers::LookNow(int64_t now_ns) {
  for (const auto& one : gatherers_)
    if (!one->look_fds().empty()) one->Look(now_ns);
}

void Gatherers::Pause(bool paused) {
  run_.paused = paused;
  for (const auto& one : gatherers_) one->Pause(paused);
}

void Gatherers::Stop(int64_t now_ns) {
  for (const auto& one : gatherers_) one->Stop(now_ns);
  run_.native.frames.Name();
  // One way may have given out.
  if (run_.stacks_hz > 0) run_.out.PutMeta("stacks_by", NameOf(run_.stacks_by));
}

int64_t Gatherers::EndHelpers() {
  int64_t cpu_ns = run_.native.frames.cpu_ns();
  for (const auto& one : gatherers_) cpu_ns += one->EndHelpers();
  return cpu_ns;
}

std::vector<NotCollected> Gatherers::not_collected() const {
  std::vector<NotCollected> out;
  for (const auto& one : gatherers_)
    for (NotCollected& missing : one->not_collected())
      out.push_back(std::move(missing));
  return out;
}

}  // namespace sonde

#include "collect/session/gatherers.h"

#include <utility>

namespace sonde {

extern const GathererInfo kTreeGatherer, kTaskGatherer, kMachineGatherer,
    kCgroupGatherer, kDeviceGatherer, kNeighboursGatherer, kRingsGatherer,
    kSessionSources;

namespace {

// One row for each gatherer, in the order users care. What a later one needs
// of an earlier one in the same tick, it finds in the SampledRun. Tree and
// rings are made by the recording: others rest on the tree, and the rings lie
// in its session's directory.
constexpr const GathererInfo* kTable[] = {
    &kTreeGatherer,   &kTaskGatherer,       &kMachineGatherer, &kCgroupGatherer,
    &kDeviceGatherer, &kNeighboursGatherer, &kRingsGatherer,   &kSessionSources,
};

}  // namespace

std::vector<const SourceInfo*> Sources() {
  std::vector<const SourceInfo*> out;
  for (const GathererInfo* const gatherer : kTable)
    for (const SourceInfo& source : gatherer->sources) out.push_back(&source);
  return out;
}

Gatherers::Gatherers(TraceWriter& out, ProcessTree& tree, double rate_hz,
                     std::string cgroup)
    : run_(out, tree, rate_hz, std::move(cgroup)) {
  for (const GathererInfo* const gatherer : kTable)
    if (gatherer->make != nullptr) gatherers_.push_back(gatherer->make(run_));
}

void Gatherers::Poll(int64_t now_ns) {
  run_.BeginTick(now_ns);
  for (const auto& one : gatherers_) one->Poll(now_ns);
}

void Gatherers::Pause(bool paused) {
  run_.paused = paused;
  for (const auto& one : gatherers_) one->Pause(paused);
}

void Gatherers::Stop(int64_t now_ns) {
  for (const auto& one : gatherers_) one->Stop(now_ns);
}

int64_t Gatherers::EndHelpers() {
  int64_t cpu_ns = 0;
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

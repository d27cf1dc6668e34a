#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "collect/gpu/device_sampler.h"
#include "collect/sample/sampled_run.h"

namespace sonde {
namespace {

constexpr char kCure[] = "ldconfig -p | grep -e nvidia-ml -e dcmi";

std::string Explain(const char* vendor, const std::string& why) {
  return fmt::format("{}: {}", vendor, Printable(why, 80));
}

SourceState CheckDevices() {
  const std::string root = DeviceRoot();
  std::string names;
  SourceState missing = SourceState::Works("there is none here");
  for (const DeviceMaker& maker : DeviceMakers()) {
    if (!maker.present(root)) continue;
    const auto child = DeviceChild::Start(maker, root, 1);
    auto state = DeviceChild::State::kEnded;
    // Its first answer may wake a driver up.
    for (int i = 0; child && i < 300; ++i) {
      state = child->Look();
      if (state != DeviceChild::State::kStarting) break;
      ::usleep(10'000);
    }
    if (state != DeviceChild::State::kRuns) {
      const std::string why = state == DeviceChild::State::kNone ? child->why()
                              : state == DeviceChild::State::kStarting
                                  ? "its library does not answer"
                                  : "its library died";
      if (!why.empty())
        missing = SourceState::Fails(Explain(maker.vendor, why), kCure);
      continue;
    }
    for (size_t i = 0; i < child->devices(); ++i) {
      if (!names.empty()) names += ", ";
      names += Printable(child->info(i).name, 32);
    }
  }
  return names.empty() ? missing : SourceState::Works(Printable(names, 60));
}

constexpr SourceInfo kAccelerators = {
    "accelerators", "use, memory, clocks and power of GPUs and NPUs",
    CheckDevices};
constexpr SourceInfo kSources[] = {kAccelerators};

class DeviceGatherer : public Gatherer {
 public:
  explicit DeviceGatherer(SampledRun& run)
      : run_(run), devices_(run.out, run.tree, run.rate_hz) {}

  void Poll(int64_t now_ns) override {
    devices_.Tick(now_ns);
    run_.used.accelerator_share = devices_.BusyShare();
  }
  int64_t EndHelpers() override { return devices_.EndHelpers(); }
  std::vector<NotCollected> not_collected() const override {
    std::vector<NotCollected> out;
    for (const DeviceSampler::Missing& one : devices_.missing())
      out.push_back(
          Missing(kAccelerators, Explain(one.vendor, one.why), kCure));
    return out;
  }

 private:
  SampledRun& run_;
  DeviceSampler devices_;
};

}  // namespace

extern const GathererInfo kDeviceGatherer = {kSources, Make<DeviceGatherer>};

}  // namespace sonde

#include "analyze/facts/device_facts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyze/facts/facts.h"
#include "analyze/series/run_series.h"
#include "base/check.h"
#include "import/text_reader.h"

namespace sonde {
namespace {

Facts FactsOfText(const std::string& text) {
  auto bytes = ReadText(text, "made");
  CHECK(bytes.ok());
  auto store = Store::OfBytes(bytes.Take(), "made");
  CHECK(store.ok());
  return FactsOf(store.Take());
}

constexpr char kTwo[] = R"(sonde-text 0
meta started_ns 0
meta ended_ns 10000000000
process 7 pid=70 name=train start=0
series 1 group=5 scope=device:0 name=gpu_busy_pct label="Big One"
series 2 group=5 scope=device:0 name=gpu_mem_used_bytes label="Big One"
series 3 group=5 scope=device:0 name=gpu_mem_total_bytes label="Big One"
series 4 group=5 scope=device:0 name=gpu_throttle label="Big One"
series 5 group=5 scope=device:1 name=gpu_temp_c label=Small
device 3 name="Big One" number=0
series 6 group=5 scope=process:7 name=gpu_mem_used_bytes device=3
series 7 scope=process:7 name=cpu_ns
series 8 group=5 scope=device:2 name=gpu_users label=Shared
ramp 7 to=10s slope=0.1s/s
ramp 1 to=5s value=20
ramp 1 from=5100ms to=10s value=80
ramp 2 to=10s value=1000 slope=300/s
ramp 3 to=10s value=8000
ramp 4 to=7400ms value=0
ramp 4 from=7500ms to=10s value=2
ramp 5 to=10s value=40 slope=1/s
ramp 6 to=10s value=500
ramp 8 to=10s value=2
)";

TEST(DeviceFactsTest, TellsWhatEachDeviceTells) {
  const Facts facts = FactsOfText(kTwo);
  ASSERT_EQ(facts.devices.size(), 3u);
  const DeviceFacts& big = facts.devices[0];
  EXPECT_EQ(big.name, "Big One");
  EXPECT_NEAR(*big.busy_mean, 0.5, 0.02);
  EXPECT_NEAR(*big.busy_p5, 0.2, 0.01);
  EXPECT_NEAR(*big.busy_p95, 0.8, 0.01);
  EXPECT_NEAR(*big.memory_peak_share, 0.5, 0.02);
  EXPECT_NEAR(*big.memory_mean_share, 2500.0 / 8000, 0.02);
  EXPECT_EQ(*big.memory_total_bytes, 8000);
  EXPECT_NEAR(*big.throttled_share, 0.25, 0.02);
  EXPECT_FALSE(big.power_mean_w) << "what is not told is not 0";
  EXPECT_EQ(big.holders, std::vector<uint32_t>{7});
  const DeviceFacts& small = facts.devices[1];
  EXPECT_FALSE(small.busy_mean);
  EXPECT_FALSE(small.memory_peak_share);
  EXPECT_FALSE(small.throttled_share);
  EXPECT_NEAR(*small.temperature_peak_c, 50, 0.5);
  EXPECT_TRUE(small.holders.empty());
  EXPECT_TRUE(big.tells_users);
  EXPECT_FALSE(small.tells_users);
  EXPECT_TRUE(facts.devices[2].tells_users) << "a stranger does";
}

TEST(DeviceFactsTest, WithoutADeviceThereIsNone) {
  EXPECT_TRUE(FactsOfText("sonde-text 0\n").devices.empty());
}

// An hour at ten samples a second: a window has several of them.
TEST(DeviceFactsTest, ALongRunKeepsItsPeaksAndReasons) {
  std::string text =
      "sonde-text 0\nmeta started_ns 0\nmeta ended_ns 3600000000000\n"
      "meta rate_hz 10\nprocess 7 pid=70 name=train start=0\n"
      "series 1 group=5 scope=device:0 name=gpu_mem_used_bytes\n"
      "series 2 group=5 scope=device:0 name=gpu_mem_total_bytes\n"
      "series 3 group=5 scope=device:0 name=gpu_temp_c\n"
      "series 4 group=5 scope=device:0 name=gpu_throttle\n"
      "tick 5 0 2=16000\n";
  for (int i = 0; i <= 36000; ++i) {
    const bool high = i % 10 == 0;
    text += fmt::format("tick 5 {}ms 1={} 3={} 4={}\n", i * 100,
                        high ? 15700 : 9600, high ? 88 : 60, high ? 5 : 0);
  }
  const Facts facts = FactsOfText(text);
  ASSERT_EQ(facts.devices.size(), 1u);
  const DeviceFacts& one = facts.devices[0];
  EXPECT_EQ(*one.memory_peak_bytes, 15700);
  EXPECT_NEAR(*one.memory_peak_share, 15700.0 / 16000, 1e-9);
  EXPECT_EQ(*one.temperature_peak_c, 88);
  EXPECT_NEAR(*one.throttled_share, 0.1, 0.005);
  const auto mean = [&](const char* name) {
    const RegularSeries* const series = facts.series->Find(name);
    double sum = 0;
    for (const double v : series->values) sum += v;
    return sum / static_cast<double>(series->size());
  };
  EXPECT_NEAR(mean("gpu0_throttle"), 0.1, 0.005);
  EXPECT_NEAR(mean("gpu0_throttle_power"), 0.1, 0.005);
  EXPECT_EQ(mean("gpu0_throttle_heat"), 0);
}

}  // namespace
}  // namespace sonde

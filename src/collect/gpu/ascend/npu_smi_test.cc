#include "collect/gpu/ascend/npu_smi.h"

#include <gtest/gtest.h>

#include "base/time.h"

namespace sonde {
namespace {

constexpr char kCommon[] =
    "\tNPU ID                         : 1\n"
    "\tChip Count                     : 2\n\n"
    "\tChip ID                        : 0\n"
    "\tAicore Usage Rate(%)           : 12\n"
    "\tAicore curFreq(MHZ)            : 960\n"
    "\tTemperature(C)                 : 43\n\n"
    "\tChip ID                        : 1\n"
    "\tAicore Usage Rate(%)           : 13\n"
    "\tTemperature(C)                 : NA\n\n"
    "\tChip Name                      : mcu\n"
    "\tTemperature(C)                 : 41\n"
    "\tNPU Real-time Power(W)         : 13.4\n";
constexpr char kUsages[] =
    "\tNPU ID                         : 1\n"
    "\tChip Count                     : 2\n\n"
    "\tDDR Capacity(MB)               : 1000\n"
    "\tDDR Usage Rate(%)              : 3\n"
    "\tDDR Bandwidth Usage Rate(%)    : 51\n"
    "\tChip ID                        : 0\n\n"
    "\tDDR Capacity(MB)               : 2000\n"
    "\tDDR Usage Rate(%)              : 4\n"
    "\tChip ID                        : 1\n";

TEST(NpuSmi, ValuesAreOfTheirChip) {
  const NpuSmiChips common = ParseNpuSmi(kCommon);
  const NpuSmiChips usages = ParseNpuSmi(kUsages);
  DeviceReading first, second;
  ASSERT_TRUE(ReadNpuSmi(common, usages, 0, first));
  ASSERT_TRUE(ReadNpuSmi(common, usages, 1, second));
  EXPECT_EQ(first.busy_pct, 12);
  EXPECT_EQ(first.clock_mhz, 960);
  EXPECT_EQ(first.temp_c, 43);
  EXPECT_EQ(first.mem_total_bytes, 1000.0 * (1 << 20));
  EXPECT_EQ(first.mem_used_bytes, 30.0 * (1 << 20));
  EXPECT_EQ(first.mem_busy_pct, 51);
  EXPECT_EQ(second.busy_pct, 13);
  EXPECT_EQ(second.mem_used_bytes, 80.0 * (1 << 20));
  // Not said, or of the card's controller.
  for (const double value : {first.power_w, second.temp_c, second.clock_mhz,
                             second.mem_busy_pct, second.power_w})
    EXPECT_TRUE(std::isnan(value));
}

TEST(NpuSmi, ACardOfOneChipNeedNotNameIt) {
  DeviceReading reading;
  ASSERT_TRUE(
      ReadNpuSmi(ParseNpuSmi("\tNPU ID : 5\n\tAicore Usage Rate(%) : 7\n"), {},
                 0, reading));
  EXPECT_EQ(reading.busy_pct, 7);
}

TEST(NpuSmi, GarbageIsNoReading) {
  for (const char* const text :
       {"", ":", "\n\n:::\n", "Chip ID : x\nAicore Usage Rate(%) : 5\n",
        "Chip ID : -1\nAicore Usage Rate(%) : 5\n",
        "Chip ID : 0\nAicore Usage Rate(%) : 5%\n",
        "Chip ID : 0\nAicore Usage Rate(%) : \n", "Aicore Usage Rate(%) 5\n",
        "Chip ID : 9999999999\nAicore Usage Rate(%) : 5\n"}) {
    DeviceReading reading;
    EXPECT_FALSE(ReadNpuSmi(ParseNpuSmi(text), {}, 0, reading)) << text;
  }
}

TEST(NpuSmi, CardsAreListedWithTheirChips) {
  EXPECT_EQ(
      ParseNpuSmiList("\tTotal Count : 2\n\n\tNPU ID : 0\n"
                      "\tChip Count : 1\n\n\tNPU ID : 3\n\tChip Count : 2\n"),
      (std::vector<std::pair<int, int>>{{0, 1}, {3, 2}}));
  EXPECT_TRUE(ParseNpuSmiList("Chip Count : 5\nNPU ID : -1\n"
                              "NPU ID : nan\nNPU ID : inf\n")
                  .empty());
}

}  // namespace
}  // namespace sonde

#include "collect/gpu/drm/client.h"

#include <gtest/gtest.h>

#include "base/time.h"

namespace sonde {
namespace {

constexpr char kXe[] =
    "pos:\t0\nflags:\t0100002\n"
    "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:03:00.0\n"
    "drm-total-system:\t0\ndrm-resident-system:\t0\n"
    "drm-total-gtt:\t192 KiB\ndrm-resident-gtt:\t192 KiB\n"
    "drm-total-vram0:\t32 MiB\ndrm-resident-vram0:\t16 MiB\n"
    "drm-cycles-rcs:\t28257900\ndrm-total-cycles-rcs:\t7655183225\n"
    "drm-cycles-ccs:\t100\ndrm-total-cycles-ccs:\t7655183225\n"
    "drm-engine-capacity-ccs:\t4\n";

TEST(DrmClient, CyclesAreOfTheDevicesClock) {
  const DrmClient client = ParseDrmClient(kXe);
  EXPECT_EQ(client.driver, "xe");
  EXPECT_EQ(client.device, "0000:03:00.0");
  EXPECT_EQ(client.id, "3");
  EXPECT_EQ(client.memory_bytes, (192 << 10) + (16 << 20));
  ASSERT_EQ(client.engines.size(), 2);
  EXPECT_EQ(client.engines.at("rcs").busy, 28257900);
  EXPECT_EQ(client.engines.at("rcs").cycles, 7655183225);
  EXPECT_EQ(client.engines.at("ccs").capacity, 4);
}

TEST(DrmClient, NanosecondsCountWhereBothAreTold) {
  // panthor: cycles without the clock they are of.
  const DrmClient client = ParseDrmClient(
      "drm-driver:\tpanthor\ndrm-engine-panthor:\t100 ns\n"
      "drm-cycles-panthor:\t9999\n");
  ASSERT_EQ(client.engines.size(), 1);
  EXPECT_EQ(client.engines.at("panthor").busy, 100);
  EXPECT_EQ(client.engines.at("panthor").cycles, 0);
}

TEST(DrmClient, MemoryIsCountedOnce) {
  EXPECT_EQ(ParseDrmClient("drm-total-vram0:\t9 KiB\ndrm-memory-vram:\t5 KiB\n"
                           "drm-resident-vram:\t4 KiB\n")
                .memory_bytes,
            4096);
  EXPECT_EQ(ParseDrmClient("drm-total-cycles-rcs:\t7\ndrm-total-vram0:\t9 KiB")
                .memory_bytes,
            9 * 1024);
  EXPECT_TRUE(std::isnan(ParseDrmClient("drm-driver:\txe\n").memory_bytes));
}

TEST(DrmClient, GarbageIsLeft) {
  const DrmClient client = ParseDrmClient(
      "drm-\ndrm-:\n:\ndrm-engine-:\t5\ndrm-engine-a:\t\ndrm-engine-b:\t-1\n"
      "drm-engine-c:\t99999999999999999999999\ndrm-cycles-d:\t5\n"
      "drm-engine-capacity-e:\t0\ndrm-engine-e:\t7\ndrm-resident-x:\tnan\n");
  EXPECT_EQ(client.engines.size(), 2);  // "" and "e"
  EXPECT_EQ(client.engines.at("e").capacity, 1);
}

using Clients = std::map<std::string, DrmEngines>;

TEST(DrmBusyShare, IsOfTheBusiestKind) {
  const Clients before = {{"1", {{"rcs", {100, 0, 1}}, {"bcs", {100, 0, 1}}}},
                          {"2", {{"rcs", {50, 0, 1}}}}};
  const Clients now = {{"1", {{"rcs", {400, 0, 1}}, {"bcs", {500, 0, 1}}}},
                       {"2", {{"rcs", {250, 0, 1}}}}};
  EXPECT_DOUBLE_EQ(DrmBusyShare(before, now, 1000), 0.5);
}

TEST(DrmBusyShare, SeveralEnginesOfAKindAreBusyTogether) {
  const Clients before = {{"1", {{"ccs", {0, 0, 4}}}}};
  const Clients now = {{"1", {{"ccs", {2000, 0, 4}}}}};
  EXPECT_DOUBLE_EQ(DrmBusyShare(before, now, 1000), 0.5);
}

TEST(DrmBusyShare, CyclesNeedNoTime) {
  const Clients before = {{"1", {{"rcs", {100, 1000, 1}}}}};
  const Clients now = {{"1", {{"rcs", {400, 2000, 1}}}}};
  EXPECT_DOUBLE_EQ(DrmBusyShare(before, now, 5), 0.3);
}

TEST(DrmBusyShare, ThePastAndWhatGoesBackDoNotCount) {
  const Clients before = {{"1", {{"rcs", {100, 1000, 1}}}},
                          {"2", {{"rcs", {100, 0, 1}}}}};
  const Clients now = {{"1", {{"rcs", {400, 500, 1}}}},
                       {"2", {{"rcs", {50, 0, 1}}}},
                       {"3", {{"rcs", {9999, 0, 1}}}}};
  EXPECT_DOUBLE_EQ(DrmBusyShare(before, now, 1000), 0);
}

}  // namespace
}  // namespace sonde

#include "analyze/facts/part_series.h"

#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"

namespace sonde {
namespace {

constexpr char kRun[] =
    "meta started_ns 0\nmeta ended_ns 10000000000\nmeta rate_hz 10\n"
    "process 1 pid=10 name=parent start=0 end=10s exit=0\n"
    "process 2 pid=11 name=worker start=1s end=9s exit=0\n"
    "series 1 scope=process:1 name=cpu_ns\n"
    "series 2 scope=process:2 name=cpu_ns\n"
    "series 3 scope=process:1 name=rss_bytes\n"
    "series 4 scope=process:2 name=rss_bytes\n"
    "series 5 scope=process:2 name=rss_file_bytes\n"
    "series 6 scope=machine name=net_rx_bytes label=eth0 kind=total\n"
    "series 7 scope=machine name=net_tx_bytes label=veth1 kind=total\n"
    "ramp 1 to=10s slope=0.1s/s\nramp 2 from=1s to=9s slope=0.1s/s\n";

TEST(PartSeries, InterfacesApartTheBusiestFirst) {
  const Facts facts = FactsOfText(
      kRun, "ramp 6 to=10s slope=1MB/s\nramp 7 to=10s value=5MB slope=3MB/s\n");
  const std::vector<Link> links = LinksOf(facts);
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0].name, "veth1");
  EXPECT_NEAR(links[0].send.values[50], 3e6, 1e3);
  EXPECT_EQ(links[0].receive.KnownCount(), 0u) << "was not collected";
  EXPECT_NEAR(links[1].receive.values[50], 1e6, 1e3);
}

TEST(PartSeries, MemoryOfAProcessIsNotKnownOutsideOfItsLife) {
  const Facts facts =
      FactsOfText(kRun,
                  "ramp 3 to=10s value=10MB\nramp 4 from=1s to=9s value=50MB\n"
                  "ramp 5 from=1s to=9s value=30MB\n"
                  "tick 2 9100ms 4=gone\n");
  const std::vector<ProcessMemory> memory = MemoryOf(facts, 20e6);
  ASSERT_EQ(memory.size(), 1u) << "one never had as much";
  EXPECT_EQ(memory[0].process->name, "worker");
  EXPECT_FALSE(memory[0].bytes.known[5]);
  EXPECT_NEAR(memory[0].bytes.values[50], 50e6, 1);
  EXPECT_NEAR(memory[0].file_bytes.values[50], 30e6, 1);
  EXPECT_FALSE(memory[0].bytes.known[95]);
}

}  // namespace
}  // namespace sonde

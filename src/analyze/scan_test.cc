#include "analyze/scan.h"

#include <gtest/gtest.h>

#include <string>

#include "analyze/made_text.h"
#include "base/time.h"

namespace sonde {
namespace {

// One thread uses 0.99 of 4 cores for 20 s, beside a process that does little.
constexpr std::string_view kBusy =
    "meta cores 4\nmeta allowed_cores 4\nmeta rate_hz 10\n"
    "process 1 pid=10 name=burn start=0s end=20s exit=0 cpu=19.8s\n"
    "thread 1 process=1 tid=10 name=burn start=0s end=20s cpu=19.8s\n"
    "process 2 parent=1 pid=11 name=other start=0s end=20s exit=0 cpu=1s\n"
    "series 1 scope=process:1 name=cpu_ns\n"
    "series 2 scope=thread:1 name=cpu_ns\n"
    "ramp 1 to=20s slope=990ms/s\n"
    "ramp 2 to=20s slope=990ms/s\n"
    "series 5 group=1 scope=machine name=cpu_user_ns\n"
    "series 6 group=1 scope=machine name=cpu_idle_ns\n"
    "ramp 5 to=20s slope=1s/s\n"
    "ramp 6 to=20s slope=3s/s\n";

// A counter of process 2 in this group, ten times as often as the rest.
std::string CounterIn(uint32_t group) {
  return "series 9 group=" + std::to_string(group) +
         " scope=process:2 name=queue unit=1 kind=gauge\n"
         "ramp 9 to=20s step=10ms slope=1\n";
}

TEST(ScanTest, TicksOfAGroupAreToldFromThoseOfAnyOther) {
  const Facts few = FactsOfText(kBusy, CounterIn(10));
  // 64 more than the group of the processes.
  const Facts many = FactsOfText(kBusy, CounterIn(66));
  EXPECT_EQ(many.ticks, few.ticks);
  ASSERT_EQ(many.windows.size(), few.windows.size());
  for (size_t i = 0; i < few.windows.size(); ++i)
    EXPECT_NEAR(many.windows[i].thread_cores, few.windows[i].thread_cores, 1e-6)
        << i;
}

}  // namespace
}  // namespace sonde

#include "analyze/facts/run_patterns.h"

#include <gtest/gtest.h>

#include "analyze/facts/made_devices.h"
#include "analyze/facts/made_run.h"

namespace sonde {
namespace {

TEST(Shape, TheSeriesOfARunAreNamedAndItsPhasesTold) {
  MadeRun run;
  run.seconds = 60;
  // Two seconds of little, then all of a core, with a moment of rest each ten.
  run.workers = {{1, "work", [](double second) {
                    if (second < 6) return 0.05;
                    return static_cast<int>(second * 10) % 100 < 15 ? 0.1
                                                                    : 0.95;
                  }}};
  const Facts facts = run.Make();
  const RunShape shape = ShapeOf(facts);
  ASSERT_FALSE(shape.phases.list.empty());
  const std::string phrase = PhrasePhases(shape.phases);
  EXPECT_NE(phrase.find("start-up"), std::string::npos) << phrase;
  EXPECT_NE(phrase.find("steady"), std::string::npos) << phrase;
  const SeriesShape* cpu = nullptr;
  for (const SeriesShape& one : shape.series)
    if (one.series->name == "tree_cpu") cpu = &one;
  ASSERT_NE(cpu, nullptr);
  EXPECT_FALSE(cpu->pattern.text.empty());
  EXPECT_GT(cpu->pattern.confidence, 0);
}

TEST(Shape, AClockIsThrottledIfTheDeviceSaysSo) {
  MadeRun run;
  run.seconds = 30;
  run.workers = {{1, "work", MadeRun::Always(1)}};
  const auto clock = [](double s) { return s < 5 ? 1980.0 : 1410.0; };
  const auto kind = [&](const MadeRun::Load& throttle, const char* name) {
    const Facts facts = WithDevices(
        run,
        {{.busy = MadeRun::Always(0.6), .clock = clock, .throttle = throttle}});
    for (const SeriesShape& one : ShapeOf(facts).series)
      if (one.series->name == name) return NameOf(one.pattern.kind);
    return std::string_view("missing");
  };
  const auto hot = [](double s) { return s < 5 ? 0.0 : 2.0; };
  EXPECT_EQ(kind(hot, "gpu0_clock"), "throttled");
  EXPECT_EQ(kind(hot, "gpu0_busy"), "steady");
  EXPECT_NE(kind(MadeRun::Always(0), "gpu0_clock"), "throttled");
  EXPECT_NE(kind({}, "gpu0_clock"), "throttled");
}

TEST(Shape, ARunThatIsTooShortHasNoPhases) {
  MadeRun run;
  run.seconds = 0.3;
  run.workers = {{1, "work", MadeRun::Always(1)}};
  const Facts facts = run.Make();
  const RunShape shape = ShapeOf(facts);
  EXPECT_EQ(PhrasePhases(shape.phases), "");
  EXPECT_FALSE(shape.phases.not_enough_data.empty());
}

}  // namespace
}  // namespace sonde

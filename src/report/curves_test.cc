#include "report/curves.h"

#include <gtest/gtest.h>

#include "report/made_report.h"

namespace sonde {
namespace {

Charts ChartsOfShortRun() {
  const Report report = ReportOfText(kShortRun);
  return ChartsOf(report.facts, report.judgement.findings);
}

TEST(Curves, NoLineIsLongerThanTheColumns) {
  for (const size_t columns : {80, 100, 200})
    for (const bool unicode : {false, true}) {
      const Lines lines = CurveLines(ChartsOfShortRun(),
                                     {.columns = columns, .unicode = unicode});
      ASSERT_FALSE(lines.empty());
      size_t longest = 0;
      for (const std::string& line : lines)
        longest = std::max(longest, ColumnsOf(line));
      EXPECT_EQ(longest, columns);
    }
}

TEST(Curves, WithoutUnicodeAllIsAscii) {
  for (const std::string& line : CurveLines(ChartsOfShortRun(), {}))
    for (const char c : line) EXPECT_TRUE(c >= ' ' && c <= '~') << line;
}

TEST(Curves, WhereNothingIsKnownThereIsNoCurve) {
  EXPECT_TRUE(CurveLines({}, {}).empty());
  Charts charts;
  charts.grid = {0, 40'000'000'000, 1'000'000'000};
  RegularSeries line{"the program", "cores", charts.grid, {}, {}};
  for (int i = 0; i < 40; ++i) {
    line.values.push_back(i < 20 ? 2 : 0);
    line.known.push_back(i < 20);
  }
  charts.groups = {{"cpu", "CPU", {{"Cores in use", "cores", 2, {line}}}}};
  const Lines lines = CurveLines(charts, {.columns = 77});
  ASSERT_EQ(lines.size(), 2u) << "a curve and the axis";
  EXPECT_EQ(lines[0].substr(25, 40),
            std::string(20, '#') + std::string(20, ' '))
      << lines[0];
}

}  // namespace
}  // namespace sonde

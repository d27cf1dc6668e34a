#include "export/chart/svg.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "base/time.h"
#include "export/chart/files.h"
#include "export/chart/markup.h"

namespace sonde {
namespace {

// Ten seconds, a window of each of which nothing is known in the middle.
Charts Made() {
  Charts out;
  out.grid = {0, 10 * kNsPerSec, kNsPerSec};
  RegularSeries line{"the program",
                     "cores",
                     out.grid,
                     {1, 2, 3, 2, 0, 0, 1, 2, 3, 2},
                     {1, 1, 1, 1, 0, 0, 1, 1, 1, 1}};
  out.groups = {{"cpu", "CPU", {{"Cores in use", "cores", 4, {line}}}}};
  return out;
}

size_t Count(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; ++at) ++count;
  return count;
}

// The path of the first line.
std::string PathOf(const std::string& svg) {
  const size_t at = svg.rfind("class=\"line s0\" d=\"");
  return svg.substr(at, svg.find("</path>", at) - at);
}

TEST(Svg, AFileHasOnlyWhatEveryProgramThatDrawsSvgKnows) {
  Charts charts = Made();
  const std::string file = SvgOf(charts.groups[0], charts, true);
  for (const char* const word : {"var(", "--", "@media", "@import"})
    EXPECT_EQ(Count(file, word), 0u) << word;
  EXPECT_NE(file.find(".line{fill:none"), file.npos);
  EXPECT_NE(file.find(".s0{stroke:#0072b2}"), file.npos);
}

TEST(Svg, APageHasBothSetsOfColours) {
  const std::string style = SvgStyle();
  EXPECT_NE(style.find("@media (prefers-color-scheme:dark)"), style.npos);
  for (const char* const name : {"ink", "paper", "c0", "c5"})
    EXPECT_EQ(Count(style, std::string("--") + name + ":#"), 2u) << name;
}

TEST(Svg, AGapBreaksTheLine) {
  Charts charts = Made();
  EXPECT_EQ(Count(PathOf(SvgOf(charts.groups[0], charts, true)), "M"), 2u);
  charts.groups[0].plots[0].lines[0].known[4] = 1;
  charts.groups[0].plots[0].lines[0].known[5] = 1;
  EXPECT_EQ(Count(PathOf(SvgOf(charts.groups[0], charts, true)), "M"), 1u);
}

TEST(Svg, ValuesThatAreAlmostNothingAreDrawn) {
  Charts charts = Made();
  ChartPlot& plot = charts.groups[0].plots[0];
  for (double& v : plot.lines[0].values) v = 5e-324;
  plot.full_scale.reset();
  // So many are drawn low, with a number at each end.
  charts.groups[0].plots.resize(7, plot);
  const std::string svg = SvgOf(charts.groups[0], charts, true);
  EXPECT_EQ(Count(svg, "class=\"line s0\" d=\"M"), 14u)
      << "seven lines and their samples";
}

TEST(Svg, WhatIsLeftOutIsSaid) {
  Charts charts = Made();
  charts.left_out = "Drawn: the first 100 of 250 marks";
  EXPECT_EQ(Count(SvgOf(charts.groups[0], charts, true), charts.left_out), 2u)
      << "below the plots and in the description";
}

TEST(Svg, PhasesFindingsLossesAndMarksAreNamed) {
  Charts charts = Made();
  using Kind = ChartMark::Kind;
  charts.marks = {
      {Kind::kPhase, 0, 2 * kNsPerSec, "start-up", "it starts"},
      {Kind::kPhase, 2 * kNsPerSec, 10 * kNsPerSec, "steady", "it works"},
      {Kind::kFinding, 2 * kNsPerSec, 9 * kNsPerSec, "cpu_bound", "All busy."},
      {Kind::kLoss, 4 * kNsPerSec, 5 * kNsPerSec, "lost", "disk-full: gone"},
      {Kind::kMark, 7 * kNsPerSec, 7 * kNsPerSec, "epoch", "epoch 2"}};
  const std::string svg = SvgOf(charts.groups[0], charts, true);
  for (const char* text : {"start-up", "steady", "cpu_bound", "All busy.",
                           "disk-full: gone", "epoch 2"})
    EXPECT_NE(svg.find(text), svg.npos) << text;
}

TEST(Svg, SaysInWordsWhatItShows) {
  const Charts charts = Made();
  const std::string svg = SvgOf(charts.groups[0], charts, true);
  EXPECT_NE(svg.find("<title id=\"t-cpu\">CPU</title>"), svg.npos);
  EXPECT_NE(svg.find("the program: 2 cores on average, 3 cores at most."),
            svg.npos);
  EXPECT_NE(svg.find("role=\"img\""), svg.npos);
}

TEST(Svg, NamesCannotBecomeMarkup) {
  Charts charts = Made();
  const std::string evil = "</svg><script>alert('1')</script>\"\x1b";
  charts.groups[0].title = evil;
  charts.groups[0].plots[0].title = evil;
  charts.groups[0].plots[0].lines[0].name = evil;
  charts.groups[0].plots[0].unit = evil;
  charts.marks = {{ChartMark::Kind::kPhase, 0, 9 * kNsPerSec, evil, evil},
                  {ChartMark::Kind::kFinding, 0, 9 * kNsPerSec, evil, evil},
                  {ChartMark::Kind::kLoss, 0, 9 * kNsPerSec, evil, evil},
                  {ChartMark::Kind::kMark, 9, 9, evil, evil}};
  const std::string svg = SvgOf(charts.groups[0], charts, true);
  EXPECT_EQ(svg.find("<script"), svg.npos);
  EXPECT_EQ(Count(svg, "</svg>"), 1u);
  EXPECT_EQ(svg.find('\x1b'), svg.npos);
}

TEST(Svg, ItsSizeIsBoundedByPixelsNotByWindows) {
  Charts charts = Made();
  charts.grid = {0, 1'000'000, 1};
  RegularSeries& line = charts.groups[0].plots[0].lines[0];
  line.grid = charts.grid;
  line.known.assign(1'000'000, 1);
  line.values.resize(1'000'000);
  for (size_t i = 0; i < line.values.size(); ++i)
    line.values[i] = static_cast<double>(i * 7919 % 1000);
  EXPECT_LT(SvgOf(charts.groups[0], charts, true).size(), 60'000u);
}

TEST(Markup, EscapesAll) {
  EXPECT_EQ(Escaped("<a href='x' b=\"&\">"),
            "&lt;a href=&#39;x&#39; b=&quot;&amp;&quot;&gt;");
}

struct ChartFiles : testing::Test {
  ChartFiles() {
    char name[] = "/tmp/sonde-charts-XXXXXX";
    directory = ::mkdtemp(name);
  }
  ~ChartFiles() override { std::filesystem::remove_all(directory); }

  std::string directory;
};

TEST_F(ChartFiles, AreForTheirOwnerAndReplaceOnlyOurOwn) {
  const std::string there = directory + "/new";
  const auto first = WriteCharts(Made(), there, false);
  ASSERT_TRUE(first.ok());
  ASSERT_EQ(first.value(), std::vector<std::string>{there + "/cpu.svg"});
  struct stat info;
  ASSERT_EQ(::stat((there + "/cpu.svg").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_TRUE(WriteCharts(Made(), there, false).ok()) << "our own";

  std::ofstream(there + "/cpu.svg") << "<svg>a drawing of somebody</svg>";
  const auto refused = WriteCharts(Made(), there, false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, Error::Kind::kUsage);
  EXPECT_EQ(ReadFile(there + "/cpu.svg").value(),
            "<svg>a drawing of somebody</svg>");
  EXPECT_TRUE(WriteCharts(Made(), there, true).ok());
}

}  // namespace
}  // namespace sonde

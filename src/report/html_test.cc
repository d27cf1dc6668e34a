#include "report/html.h"

#include <gtest/gtest.h>

#include "report/made_report.h"

namespace sonde {
namespace {

size_t Count(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; ++at) ++count;
  return count;
}

std::string PageOf(const Report& report) {
  return ReportHtml(report, ChartsOf(report.facts, report.judgement.findings));
}

// `name` in every place of a page that a trace can fill.
std::string RunOf(const std::string& name) {
  return std::string(kShortRun) + "meta host \"" + name +
         "\"\nmeta watched \"" + name + "\"\nmeta command [\"" + name +
         "\"]\nnot_collected \"" + name + "\" why=\"" + name + "\" cure=\"" +
         name + "\"\nprocess 1 pid=100 name=\"" + name + "\" cmdline=\"" +
         name +
         "\" start=0 end=10s exit=0\nthread 1 process=1 tid=100 name=\"" +
         name +
         "\" start=0 end=10s\ntrack 1 kind=thread process=1 thread=1\n"
         "slice 1 0 1s \"" +
         name + "\"\ntrack 2 name=session\ninstant 2 2s mark args={text=\"" +
         name + "\"}\nloss \"" + name + "\" detail=\"" + name +
         "\"\nframe 1 function=\"" + name + "\" file=\"/" + name +
         ".py\" line=1\nstack 1 frame=1\n"
         "sample 1s thread=1 stack=1 weight=1s\n";
}

TEST(ReportHtml, NoNameBecomesMarkup) {
  const std::string plain = PageOf(ReportOfText(RunOf("plain")));
  const std::string evil =
      PageOf(ReportOfText(RunOf("<script>alert('&')</script>")));
  ASSERT_GT(Count(plain, "plain"), 8u) << "the name is in many places";
  EXPECT_EQ(Count(evil, "<script>"), 1u) << "ours";
  EXPECT_EQ(Count(evil, "alert('"), 0u);
  EXPECT_GT(Count(evil, "&lt;script&gt;alert("), 8u);
  for (const char* tag : {"<", "</", "<li>", "<td", "<p", "<tr>"})
    EXPECT_EQ(Count(evil, tag), Count(plain, tag)) << tag;
}

TEST(ReportHtml, ThePageAsksForNothing) {
  const std::string page = PageOf(ReportOfText(RunOf("plain")));
  EXPECT_EQ(Count(page, "http://"),
            Count(page, "xmlns=\"http://www.w3.org/2000/svg\""))
      << "the name of a language, which no browser fetches";
  for (const char* word :
       {"https://", "src=", "href=", "url(", "@import", "<link", "<img",
        "<iframe", "<object", "fetch(", "XMLHttpRequest"})
    EXPECT_EQ(Count(page, word), 0u) << word;
  EXPECT_NE(page.find("content=\"default-src 'none';"), page.npos);
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
}

TEST(ReportHtml, WhatIsLostStandsBeforeTheVerdict) {
  const std::string page = PageOf(
      ReportOfText(kShortRun, "meta exit exit 2\nloss max-size detail=gone\n"));
  const size_t failed = page.find("The command failed (exit 2).");
  const size_t lost = page.find("<li>max-size: gone</li>");
  const size_t verdict = page.find("<h1>");
  EXPECT_LT(failed, lost);
  EXPECT_LT(lost, verdict);
  EXPECT_NE(verdict, page.npos);
}

TEST(ReportHtml, TheFlameGraphIsThereIfStacksWereSampled) {
  const std::string page = PageOf(ReportOfText(RunOf("plain")));
  EXPECT_EQ(Count(page, "<div class=\"flame\""), 1u);
  EXPECT_NE(page.find("style=\"left:0.0000%;width:100.0000%;top:54px\" "
                      "title=\"plain (plain.py:1): 1.00 s, 100.0 % of 1.00 s, "
                      "1 sample\">plain (plain.py:1)</button>"),
            page.npos);
  EXPECT_NE(page.find("<h2>Functions</h2>"), page.npos);
  const std::string without = PageOf(ReportOfText(kShortRun));
  EXPECT_EQ(Count(without, "<div class=\"flame\""), 0u);
  EXPECT_EQ(Count(without, "<h2>Functions</h2>"), 0u);
}

TEST(ReportHtml, AFlameGraphOfManyFunctionsIsSmall) {
  std::string many = RunOf("plain");
  for (int i = 2; i < 6000; ++i)
    many += "frame " + std::to_string(i) +
            " function=" + std::string(500, 'f') + std::to_string(i) +
            "\nstack " + std::to_string(i) + " frame=" + std::to_string(i) +
            "\nsample 1s thread=1 stack=" + std::to_string(i) +
            " weight=" + std::to_string(i) + "us\n";
  const std::string page = PageOf(ReportOfText(many));
  EXPECT_LE(Count(page, "data-p=\""), 1501u);
  EXPECT_LT(page.size(), 1'500'000u);
}

TEST(ReportHtml, ALongTableIsCutAndSaysSo) {
  std::string many(kShortRun);
  for (int i = 2; i <= 601; ++i)
    many += "process " + std::to_string(i) + " pid=" + std::to_string(100 + i) +
            " name=more start=0 end=10s exit=0\nseries " + std::to_string(i) +
            " scope=process:" + std::to_string(i) + " name=cpu_ns\nramp " +
            std::to_string(i) + " to=1s slope=1ms/s\n";
  const std::string page = PageOf(ReportOfText(many));
  EXPECT_NE(page.find("and 101 more (sonde query)"), page.npos);
  EXPECT_LT(Count(page, "<tr>"), 550u);
}

TEST(ReportHtml, WhatWasNotCollectedIsADashThatSortsBelowZero) {
  const std::string page = PageOf(ReportOfText(kShortRun));
  EXPECT_NE(page.find("<td data-v=\"-1\">-</td>"), page.npos);
  EXPECT_NE(page.find("<dt>Memory, largest process</dt><dd>not collected"),
            page.npos);
}

}  // namespace
}  // namespace sonde

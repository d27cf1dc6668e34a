#include "report/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/made_report.h"

namespace sonde {
namespace {

using Json = nlohmann::json;

Json JsonOf(const Report& report) { return Json::parse(ReportJson(report)); }

TEST(ReportJson, PartsSumToTheWhole) {
  const Json json = JsonOf(ReportOfText(kShortRun, R"(
meta tree_cpu_ns 10000000000
process 2 parent=1 pid=101 name=two start=0 end=10s exit=0
series 2 scope=process:2 name=cpu_ns
ramp 2 from=0 to=10s slope=0.05s/s
process 3 parent=1 pid=102 name=true start=1s end=1005ms exit=0 cpu=5ms
)"));
  ASSERT_EQ(json["processes"].size(), 2u);
  ASSERT_EQ(json["short_processes"].size(), 1u);
  int64_t sum = json["unattributed_cpu_ns"].get<int64_t>();
  EXPECT_GT(sum, 0);
  for (const char* part : {"processes", "short_processes"})
    for (const Json& row : json[part]) sum += row["cpu_ns"].get<int64_t>();
  EXPECT_EQ(sum, json["run"]["cpu_ns"].get<int64_t>());
  EXPECT_EQ(sum, 10'000'000'000);
}

TEST(ReportJson, WhatWasNotCollectedIsNullNeverZero) {
  const Json json =
      JsonOf(ReportOfText("meta started_ns 0\nmeta ended_ns 10000000000\n"
                          "process 1 pid=100 name=main start=0 end=10s\n"
                          "loss max-size detail=gone\n"));
  for (const char* path :
       {"/run/cpu_ns", "/run/cores_used", "/run/max_rss_bytes", "/run/cores",
        "/run/exit", "/run/host", "/run/rate_hz", "/unattributed_cpu_ns",
        "/overhead/cpu_ns", "/overhead/cpu_pct_of_core", "/machine/cores",
        "/machine/busy_cores", "/processes/0/cpu_ns", "/processes/0/cores_used",
        "/processes/0/read_bytes", "/machine/mem_peak_bytes", "/losses/0/count",
        "/losses/0/from_ns"}) {
    const Json::json_pointer at(path);
    ASSERT_TRUE(json.contains(at)) << path;
    EXPECT_TRUE(json[at].is_null()) << path << ": " << json[at];
  }
  for (const char* list :
       {"cgroups", "devices", "slices", "counters", "marks", "not_collected"})
    EXPECT_EQ(json[list], Json::array()) << list;
}

TEST(ReportJson, AValueOfZeroIsZero) {
  const Json json = JsonOf(ReportOfText(kShortRun, R"(
meta overhead_cpu_ns 0
series 2 scope=process:1 name=read_bytes
ramp 2 from=0 to=10s value=0
)"));
  EXPECT_EQ(json["overhead"]["cpu_ns"], 0);
  EXPECT_EQ(json["processes"][0]["read_bytes"], 0);
  EXPECT_TRUE(json["processes"][0]["write_bytes"].is_null());
}

TEST(ReportJson, LossesAndWhatIsMissingAreRows) {
  const Json json = JsonOf(ReportOfText(
      kShortRun,
      "loss perf-lost count=12 from=2s to=3s detail=\"12 records\"\n"
      "not_collected pressure why=\"no file\"\n"
      "not_collected \"\" why=\"it could be read after all\"\n"));
  EXPECT_EQ(json["losses"], Json::parse(R"([{"reason":"perf-lost",
      "detail":"12 records","count":12,"from_ns":2000000000,
      "to_ns":3000000000}])"));
  EXPECT_EQ(json["not_collected"], Json::parse(R"([{"source":"pressure",
      "why":"no file","cure":null}])"))
      << "a row that is none is left out";
}

TEST(ReportJson, NamesOfAnyBytesMakeValidJson) {
  const std::string text = ReportJson(ReportOfText(
      kShortRun,
      "process 1 pid=100 name=\"\\xff\\x00\\\"\\x1b\" start=0 end=10s\n"));
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  ASSERT_FALSE(json.is_discarded()) << text;
  EXPECT_EQ(json["processes"][0]["name"].get<std::string>(),
            std::string("\xef\xbf\xbd\0\"\x1b", 6));
  EXPECT_EQ(text.find('\x1b'), text.npos);
}

TEST(ReportJson, RowsOfWhatIsMissingAreBounded) {
  std::string lines;
  for (int i = 0; i < 1500; ++i)
    lines += "not_collected s" + std::to_string(i) + " why=x\n";
  const Report report = ReportOfText(kShortRun, lines);
  EXPECT_EQ(report.not_collected.size(), 1000u);
  ASSERT_FALSE(report.losses.empty());
  EXPECT_EQ(report.losses.back().reason, "not-collected-left-out");
  EXPECT_EQ(report.losses.back().count, 500u);
}

}  // namespace
}  // namespace sonde

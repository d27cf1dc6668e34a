#include "export/exporter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/fd.h"
#include "store/test_trace.h"
#include "trace/writer.h"

namespace sonde {
namespace {

struct ExporterTest : testing::Test {
  void SetUp() override {
    std::string name = testing::TempDir() + "/export_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory = name;
    bytes = std::make_shared<std::string>();
    writer = TraceWriter::CreateInMemory({}, bytes);
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  void Slice(uint32_t track, int64_t begin, int64_t dur, std::string_view name,
             uint16_t depth = 0) {
    Event event;
    event.begin_ns = begin;
    event.dur_ns = dur;
    event.name = writer->Intern(name);
    event.depth = depth;
    writer->AddEvent(track, event);
  }

  // The text of an export of what was written; "" if it failed.
  std::string Export(const std::string& format, const std::string& table = "") {
    if (writer) {
      EXPECT_TRUE(writer->Close().ok());
      writer.reset();
      auto opened = Store::OfBytes(bytes, "memory");
      EXPECT_TRUE(opened.ok());
      store = opened.Take();
    }
    ExportOptions options;
    options.output = directory + "/out";
    options.table = table;
    options.force = true;
    const auto done = FindExportFormat(format)->run(*store, options);
    EXPECT_TRUE(done.ok()) << done.error().what;
    if (!done.ok()) return "";
    summary = done.value();
    auto text = ReadFile(options.output, 256 << 20);
    EXPECT_TRUE(text.ok());
    EXPECT_EQ(text.value().size(), summary.bytes);
    return text.Take();
  }

  static size_t Count(const std::string& text, const std::string& what) {
    size_t count = 0;
    for (size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + 1))
      ++count;
    return count;
  }

  std::string directory;
  std::shared_ptr<std::string> bytes;
  std::unique_ptr<TraceWriter> writer;
  std::shared_ptr<const Store> store;
  ExportSummary summary;
};

TEST_F(ExporterTest, AnEmptyTraceIsAWholeDocument) {
  const std::string text = Export("chrome");
  EXPECT_TRUE(
      text.starts_with("{\"displayTimeUnit\":\"ns\",\"traceEvents\":["));
  EXPECT_TRUE(text.ends_with("}}\n")) << text;
  EXPECT_EQ(
      Export("csv", "slice"),
      "id,ts,dur,track_id,name,name_id,category,depth,arg_set_id,stack_id,"
      "flow_in,flow_out,unfinished,class,source\n");
}

TEST_F(ExporterTest, TimesAreMicrosecondsWithAllNanoseconds) {
  const uint32_t track = writer->AddTrack({});
  Slice(track, 1'700'000'000'000'000'001, 999, "a");
  Slice(track, 1'700'000'000'000'002'002, 1'000'007, "b");
  const std::string text = Export("chrome");
  EXPECT_NE(text.find("\"ts\":0.000,\"dur\":0.999"), std::string::npos);
  EXPECT_NE(text.find("\"ts\":2.001,\"dur\":1000.007"), std::string::npos);
}

TEST_F(ExporterTest, NothingIsLostHoweverMuchCrosses) {
  // Each slice crosses the thousand before it.
  const uint32_t track = writer->AddTrack({});
  for (int64_t i = 0; i < 3000; ++i)
    Slice(track, i * 10, 10'005, fmt::format("x{}", i));
  const std::string text = Export("chrome");
  EXPECT_EQ(summary.slices, 3000u);
  EXPECT_EQ(Count(text, "\"ph\":\"X\""), 3000u);
  std::set<std::string> rows;
  for (size_t at = text.find("\"thread_name\""); at != std::string::npos;
       at = text.find("\"thread_name\"", at + 1)) {
    const size_t tid = text.rfind("\"tid\":", at);
    EXPECT_TRUE(rows.insert(text.substr(tid, 14)).second);
  }
  EXPECT_GT(rows.size(), 1000u);
}

TEST_F(ExporterTest, NamesLongerThanTheBufferDoNoHarm) {
  const uint32_t track = writer->AddTrack({});
  const std::string name(6'000, '\x02');
  std::vector<Arg> args(200);
  for (size_t i = 0; i < args.size(); ++i) {
    args[i].key = writer->Intern(fmt::format("key{}", i));
    args[i].type = Arg::Type::kString;
    args[i].string_value = writer->Intern(name);
  }
  Event event;
  event.name = event.category = writer->Intern(name);
  event.args = writer->AddArgs(args);
  for (int i = 0; i < 3; ++i) writer->AddEvent(track, event);
  EXPECT_EQ(Count(Export("chrome"), "\\u0002"), 3 * 202 * name.size());
}

TEST_F(ExporterTest, CsvCellsAreQuotedAndNeverFormulas) {
  writer->PutMeta("a", "plain");
  writer->PutMeta("b", "=1+1");
  writer->PutMeta("c", "say \"x\", y\nz");
  writer->PutMeta("d", "");
  writer->PutMeta("e", "-5");
  writer->PutMeta("f", "esc\x1b \xff");
  EXPECT_EQ(Export("csv", "run"),
            "key,value\na,plain\nb,\"'=1+1\"\nc,\"say \"\"x\"\", y\nz\"\n"
            "d,\"\"\ne,\"'-5\"\nf,esc\\x1b \\xff\n");
}

TEST_F(ExporterTest, NumbersStayNumbersInCsv) {
  const uint32_t track = writer->AddTrack({});
  std::vector<Arg> args(1);
  args[0].key = writer->Intern("k");
  args[0].int_value = -7;
  Event event;
  event.begin_ns = -5;
  event.args = writer->AddArgs(args);
  writer->AddEvent(track, event);
  EXPECT_EQ(Export("csv", "arg"), "set_id,key,value\n1,k,-7\n");
  const std::string slices = Export("csv", "slice");
  EXPECT_EQ(slices.substr(slices.find('\n') + 1),
            "0,-5,0,1,,,,0,1,,,,0,program,\n");
}

// A process may hold memory on two devices: two curves that name them.
TEST_F(ExporterTest, ChromeNamesTheDeviceOfAProcessesMemory) {
  Process process;
  process.number = 1;
  process.start_ns = 0;
  writer->PutProcess(process);
  Series row;
  row.group = writer->AddGroup();
  row.scope = Series::Scope::kProcess;
  row.scope_id = 1;
  row.name = writer->Intern("gpu_mem_used_bytes");
  row.unit = writer->Intern("bytes");
  Device device;
  uint32_t series[2];
  for (device.index = 0; device.index < 2; ++device.index) {
    row.device = writer->AddRow(device);
    series[device.index] = writer->AddSeries(row);
  }
  writer->BeginTick(row.group, 10);
  for (const uint32_t one : series) writer->Set(one, 5);
  writer->EndTick();
  const std::string text = Export("chrome");
  EXPECT_NE(text.find("gpu_mem_used of device 0"), std::string::npos) << text;
  EXPECT_NE(text.find("gpu_mem_used of device 1"), std::string::npos) << text;
}

TEST_F(ExporterTest, ACancelledExportKeepsNothing) {
  const uint32_t track = writer->AddTrack({});
  for (int64_t i = 0; i < 40'000; ++i) Slice(track, i * 10, 5, "x");
  ASSERT_TRUE(writer->Close().ok());
  const auto opened = Store::OfBytes(bytes, "memory");
  ASSERT_TRUE(opened.ok());
  const std::atomic<bool> cancelled{true};
  for (const ExportFormat& format : ExportFormats()) {
    ExportOptions options;
    options.output = directory + "/out";
    options.cancelled = &cancelled;
    EXPECT_FALSE(format.run(*opened.value(), options).ok()) << format.name;
    EXPECT_TRUE(std::filesystem::is_empty(directory)) << format.name;
  }
}

TEST_F(ExporterTest, ALostChunkIsNotDrawnOver) {
  Series row;
  row.group = 1;
  row.name = writer->Intern("load");
  const uint32_t load = writer->AddSeries(row);
  row.kind = Series::Kind::kTotal;
  row.name = writer->Intern("faults");
  const uint32_t faults = writer->AddSeries(row);
  for (int tick = 0; tick < 30; ++tick) {
    writer->BeginTick(1, tick * 1'000'000'000ll);
    writer->Set(load, 5);
    writer->Set(faults, tick < 10 ? tick : 1000 + tick);
    writer->EndTick();
    if (tick % 10 == 9) writer->Seal();
  }
  ASSERT_TRUE(writer->Close().ok());
  writer.reset();
  store = Store::OfBytes(WithDamagedCounters(bytes, {1}), "memory").Take();
  const std::string text = Export("chrome");
  EXPECT_EQ(Count(text, "\"value\":5"), 2u) << text;
  EXPECT_EQ(Count(text, "\"value\":0"), 1u) << text;
  EXPECT_EQ(Count(text, "\"per s\":1.000"), 2u) << text;
  EXPECT_EQ(Count(text, "\"per s\":0"), 1u) << "where the first ended";
}

}  // namespace
}  // namespace sonde

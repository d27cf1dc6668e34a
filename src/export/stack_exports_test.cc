// The formats that stacks are exported to, and what these are made of.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "analyze/facts/made_text.h"
#include "base/fd.h"
#include "export/exporter.h"
#include "export/firefox_stacks.h"
#include "export/gzip.h"
#include "export/protobuf.h"
#include "store/stack_sums.h"

namespace sonde {
namespace {

constexpr char kStacks[] = R"(
process 1 pid=7 name=p start=0
thread 1 process=1 tid=7 name=t start=0
thread 2 process=1 tid=8 name=u start=0
module 1 path=/lib/libm.so.6 build_id=abcd
frame 1 function=main file=/src/a.py line=1
frame 2 function=f file=/src/a.py line=5
frame 3 module=1 offset=16
symbol 3 depth=0 function=mul file=k.h line=7 inlined=1
symbol 3 depth=1 function=gemm file=k.c line=80
stack 1 frame=1
stack 2 parent=1 frame=2
stack 3 parent=1 frame=3
)";

struct StackExportsTest : testing::Test {
  void SetUp() override {
    std::string name = testing::TempDir() + "/stacks_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::string Export(const std::string& format, const std::string& samples) {
    store = StoreOfText(kStacks, samples);
    ExportOptions options;
    options.output = directory + "/out";
    options.force = true;
    const auto done = FindExportFormat(format)->run(*store, options);
    EXPECT_TRUE(done.ok()) << done.error().what;
    return done.ok() ? ReadFile(options.output).Take() : "";
  }

  std::string directory;
  std::shared_ptr<const Store> store;
};

TEST_F(StackExportsTest, SpeedscopeHasAProfileForEachThreadInTheOrderOfTime) {
  const std::string text =
      Export("speedscope",
             "sample 3ms thread=1 stack=1 weight=4us\n"
             "sample 1ms thread=1 stack=2 weight=1us\n"
             "sample 2ms thread=1 stack=2 weight=2us\n"
             "sample 1ms thread=2 weight=8us\n"
             "sample 1ms thread=2 stack=2 weight=9us waiting\n");
  EXPECT_NE(text.find("\"name\":\"p (pid 7) t (tid 7)\""), text.npos) << text;
  EXPECT_NE(text.find("\"samples\":[[0,1],[0]],\n\"weights\":[3000,4000],\n"
                      "\"endValue\":7000}"),
            text.npos)
      << text;
  EXPECT_NE(text.find("\"samples\":[[2]],\n\"weights\":[8000]"), text.npos);
  EXPECT_NE(text.find("{\"name\":\"f\",\"file\":\"/src/a.py\",\"line\":5},\n"
                      "{\"name\":\"stack not known\"}"),
            text.npos);
  EXPECT_NE(text.find("\"activeProfileIndex\":1"), text.npos) << "the hottest";
}

TEST_F(StackExportsTest, FirefoxRowsAreSharedAndPointBack) {
  store = StoreOfText(kStacks);
  FirefoxStacks stacks(*store);
  const uint32_t main = stacks.Of(1), f = stacks.Of(2), mul = stacks.Of(3);
  EXPECT_EQ(stacks.Of(2), f);
  EXPECT_EQ(stacks.rows()[f].callers, main);
  const uint32_t gemm = stacks.rows()[mul].callers;
  EXPECT_EQ(stacks.rows()[gemm].callers, main) << "what is inlined has a row";
  EXPECT_EQ(stacks.rows()[main].callers, FirefoxStacks::kNoRow);
  for (uint32_t i = 0; i < stacks.rows().size(); ++i)
    if (stacks.rows()[i].callers != FirefoxStacks::kNoRow) {
      EXPECT_LT(stacks.rows()[i].callers, i);
    }
  EXPECT_EQ(stacks.Of(0), stacks.Of(99)) << "not known";
  EXPECT_EQ(stacks.frames()[stacks.rows()[stacks.Of(0)].frame].function,
            UINT32_MAX);
}

TEST_F(StackExportsTest, FirefoxKnowsTimesWeightsAndProcesses) {
  const std::string text = Export("firefox",
                                  "process 2 pid=7 name=again start=1s\n"
                                  "thread 3 process=2 tid=7 name=v start=1s\n"
                                  "sample 2ms thread=1 stack=2 weight=1500us\n"
                                  "sample 1ms thread=1 stack=3 weight=500us\n"
                                  "sample 2s thread=3 stack=1 weight=1ms\n");
  EXPECT_NE(text.find("\"time\":[1.000000,2.000000],\"weight\":[0.500000,"
                      "1.500000],\"threadCPUDelta\":[500000,1500000]"),
            text.npos)
      << text;
  EXPECT_NE(text.find("\"pid\":\"7\""), text.npos);
  EXPECT_NE(text.find("\"pid\":\"7#2\""), text.npos) << "used again";
}

TEST_F(StackExportsTest, SamplesAreByThreadAndTimeWithoutThoseThatWait) {
  store = StoreOfText(kStacks,
                      "sample 5ms thread=2 stack=1 weight=1ms\n"
                      "sample 4ms thread=1 stack=2 weight=2ms\n"
                      "sample 3ms thread=1 weight=3ms\n"
                      "sample 2ms stack=1 weight=4ms\n"
                      "sample 1ms thread=1 stack=1 weight=5ms waiting\n");
  const auto samples = RunningSamples(*store).Take();
  ASSERT_EQ(samples.size(), 4u);
  EXPECT_EQ(samples[0].thread, 0u);
  EXPECT_EQ(samples[1].stack, 0u);
  EXPECT_EQ(samples[2].stack, 2u);
  EXPECT_EQ(samples[3].thread, 2u);
  EXPECT_FALSE(RunningSamples(*StoreOfText(kStacks)).ok());
}

TEST(ProtoMessage, EncodesAsTheGuideSays) {
  ProtoMessage message;
  message.Number(1, 150);
  message.Number(2, 0);
  message.Bytes(2, "testing");
  EXPECT_EQ(message.bytes(), std::string("\x08\x96\x01\x12\x07"
                                         "testing"));
  message.Clear();
  message.Varint(UINT64_MAX);
  EXPECT_EQ(message.bytes().size(), 10u);
}

TEST_F(StackExportsTest, GzipHasTheChecksumAndNoBlockTooLong) {
  const std::string path = directory + "/out.gz";
  const auto write = [&](const std::string& text) {
    ExportOptions options;
    options.force = true;
    auto out = Output::Create(path, options).Take();
    StoredGzip zip(*out);
    zip.Write(text);
    zip.End();
    EXPECT_TRUE(out->Commit().ok());
    return ReadFile(path).Take();
  };
  EXPECT_EQ(write("abc"), std::string("\x1f\x8b\x08\0\0\0\0\0\0\xff"
                                      "\x01\x03\0\xfc\xff"
                                      "abc"
                                      "\xc2\x41\x24\x35\x03\0\0\0",
                                      26));
  const std::string two = write(std::string(65'536, 'x'));
  EXPECT_EQ(two.size(), 10 + 5 + 65'535 + 5 + 1 + 8u);
  EXPECT_EQ(two.substr(10, 5), std::string("\0\xff\xff\0\0", 5));
  EXPECT_EQ(two.substr(10 + 5 + 65'535, 6),
            std::string("\x01\x01\0\xfe\xffx", 6));
}

}  // namespace
}  // namespace sonde

#include <gtest/gtest.h>

#include <bit>

#include "import/text_reader.h"
#include "tools/random_trace.h"
#include "trace/reader.h"
#include "trace/text_words.h"
#include "trace/text_writer.h"

namespace sonde {
namespace {

std::string Normal(std::string_view text) {
  const auto bytes = ReadText(text, "t");
  if (!bytes.ok()) return bytes.error().what;
  return TextOf(TraceReader::OpenBytes(bytes.value(), "t").Take());
}

// The text of what follows the first two lines.
std::string Body(std::string_view text) {
  const std::string all = Normal("sonde-text 0\n" + std::string(text));
  size_t at = all.find("\nsession ");
  if (at == std::string::npos) return all;
  at = all.find('\n', at + 1);
  return all.substr(at + 1);
}

TEST(Text, AHandWrittenTraceMeansWhatItSays) {
  EXPECT_EQ(Body(R"(
# Slices in any order; the depth comes from how they nest.
meta command ["python","train.py"]   # a comment
meta note "with # and trailing space "
process 7 pid=100 name=python start=0 end=10s exit=3 cpu=9.5s
process 8 parent=7 start=1s signal=9
process 9 start=1s
process 10 end=1s
track 70 name=main
slice 70 0 10ms outer
slice 70 8ms 9.5ms "in ner" args={n=-1,f=2.0,s=word,t="3"}
slice 70 1ms 8ms inner cat=op unfinished
slice 70 2ms 3ms innermost
instant 70 10ms mark
series 5 scope=process:7 name=cpu_ns
series 4 name=mem_free_bytes label="a b"
tick 2 2s 5=1.5s
tick 1 1s 4=2MiB
)"),
            R"(meta command ["python","train.py"]
meta note "with # and trailing space "
process 7 pid=100 start=0 end=10s name=python exit=3 cpu=9500ms
process 8 parent=7 start=1s signal=9
process 9 start=1s running
process 10 end=1s exit=unknown
track 1 kind=thread name=main source=api
series 1 group=2 scope=process:7 name=cpu_ns unit=ns kind=total type=int source=tasks
series 2 group=1 scope=machine name=mem_free_bytes label="a b" unit=bytes kind=gauge type=int source=machine
slice 1 2ms 3ms innermost depth=2
slice 1 1ms 8ms inner depth=1 cat=op unfinished
slice 1 8ms 9500us "in ner" depth=1 args={n=-1,f=2.0,s="word",t="3"}
slice 1 0 10ms outer depth=0
instant 1 10ms mark depth=0
tick 1 1s 2=2097152
tick 2 2s 1=1500000000
)");
}

TEST(Text, RowsOfDevicesModulesAndSamplesAreSaid) {
  const std::string text = R"(thread 3 process=1
device 1 source=nvml vendor=nvidia name="A 100" uuid=GPU-1 number=2
module 1 path=/lib/libc.so.6 build_id=c0ffee
track 1 kind=custom name=gpu source=nvtx
track 2 kind=queue source=calls device=1 parent=1 order=4 clock=gpu0
frame 1 module=1 offset=0x1f
frame 2 function=parse file=loader.py line=31
symbol 1 function=memcpy file=memcpy.S line=7 inlined=1 loop=5
symbol 1 depth=1 function=copy
stack 1 frame=2
stack 2 parent=1 frame=1
slice 2 1ms 2ms gemm depth=0 class=device source=cupti
sample 5ms thread=3 stack=2 weight=5ms
sample 6ms thread=3 stack=1 weight=1ms waiting approximate
loss perf-lost detail="two samples" count=2 source="stacks"
not_collected energy why="no counter" cure="modprobe rapl"
)";
  EXPECT_EQ(Body(text), text);
}

TEST(Text, ARampIsALineThroughTheTicksOfItsGroup) {
  EXPECT_EQ(
      Body(R"(
series 1 scope=process:1 name=cpu_ns
series 2 scope=process:1 name=rss type=double
ramp 1 from=1s to=2s step=500ms value=10 slope=0.5s/s
ramp 2 from=1s to=1.5s step=500ms value=3
tick 2 1.5s 1=7
tick 2 3s 1=gone 2=gone
)"),
      R"(series 1 group=2 scope=process:1 name=cpu_ns unit=ns kind=total type=int source=tasks
series 2 group=2 scope=process:1 name=rss unit=1 kind=gauge type=double source=tasks
tick 2 1s 1=10 2=3.0
tick 2 1500ms 1=7
tick 2 2s 1=500000010
tick 2 3s 1=gone 2=gone
)") << "the later line wins at 1.5 s";
}

TEST(Text, ErrorsNameTheLineAndWhatWasExpected) {
  const std::pair<const char*, const char*> kCases[] = {
      {"slice 1 0 1 a",
       "t:2: expected a track that was named above, found '1'"},
      {"track 1\nslice 1 5ms 4ms a",
       "t:3: expected an end that is not before the begin, found '4ms'"},
      {"track 1\nslice 1 0 1x a",
       "t:3: expected a time like 12ms (ns, us, ms, s), found '1x'"},
      {"track 1\nslice 1 0 1.5 a",
       "t:3: expected a time like 12ms (ns, us, ms, s), found '1.5'"},
      {"track 1\nslice 1 0 1",
       "t:3: expected a word or a string in quotes, found the end of the line"},
      {"track 1\ntrack 1", "t:3: expected an id that is not in use, found '1'"},
      {"track 1\nslice 1 0 10 a\nslice 1 5 15 b",
       "t:4: expected slices that nest, or depth= on them, found the end of "
       "the line"},
      {"track 1 name=\"a", "t:2: expected a closing quote, found '\"'"},
      {"track 1 name=\"a\\q\"",
       "t:2: expected one of \\n \\t \\\" \\\\ \\xNN in the string, found "
       "'\"'"},
      {"track 1 knd=thread",
       "t:2: expected one of kind= process= thread= name= source= "
       "device= parent= order= clock=, found 'knd'"},
      {"track 1 kind=thraed",
       "t:2: expected one of thread process machine custom queue, found "
       "'thraed'"},
      {"process 0", "t:2: expected a number from 1 to 1048576, found '0'"},
      {"stack 2 parent=2",
       "t:2: expected a parent that was named above, found '2'"},
      {"series 1\ntick 2 0 1=5",
       "t:3: expected a group that has a series above, found '2'"},
      {"series 1\nseries 2 group=2\ntick 2 0 1=5",
       "t:4: expected a series of group 2, found '1'"},
      {"series 1\nramp 1 to=1000s step=1ns",
       "t:3: expected a step that gives fewer values, found the end of the "
       "line"},
  };
  for (const auto& [text, want] : kCases) EXPECT_EQ(Body(text), want) << text;
  const std::string unknown = Body("sleis 1");
  EXPECT_TRUE(unknown.starts_with("t:2: expected one of slice instant tick "));
  EXPECT_TRUE(unknown.ends_with(", found 'sleis'")) << unknown;
  EXPECT_EQ(Normal(""),
            "t:1: expected 'sonde-text 0', found the end of the line");
  EXPECT_EQ(ReadText("sonde-text 1\n", "t").error().kind,
            Error::Kind::kUnsupported);
}

TEST(Text, EveryByteOfAStringSurvives) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  for (const std::string& text :
       {all, std::string("caf\xc3\xa9"), std::string("\xc2\x9b[2J"),
        std::string(" "), std::string("#"), std::string("\r\n")}) {
    const std::string line = "loss " + TextWord(text);
    EXPECT_EQ(Body(line), line + "\n");
    EXPECT_EQ(line.find_first_of("\r\n\x9b"), std::string::npos);
    const std::string meta = "meta k " + TextRest(text);
    EXPECT_EQ(Body(meta), meta + "\n");
  }
  EXPECT_EQ(TextWord("caf\xc3\xa9"), "\"caf\xc3\xa9\"");
}

TEST(Text, NumbersReadBackAsTheyWere) {
  for (int64_t ns : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{999},
                     int64_t{1'000}, int64_t{-60'000'000'000}, kMaxTimeNs})
    EXPECT_EQ(ParseTextTime(TextTime(ns)), ns);
  EXPECT_EQ(ParseTextTime("1.5us"), 1500);
  EXPECT_EQ(ParseTextTime("-0.25s"), -250'000'000);
  EXPECT_EQ(ParseTextTime("0.0000000010s"), 1);
  for (const char* bad : {"", "-", ".5s", "1.s", "1.0000000001s", "1e3",
                          "4000000000.1s", "99999999999s", "1 s", "0x10"})
    EXPECT_FALSE(ParseTextTime(bad)) << bad;
  for (uint64_t bits :
       {uint64_t{0}, uint64_t{1} << 63, std::bit_cast<uint64_t>(0.1),
        std::bit_cast<uint64_t>(3.0), std::bit_cast<uint64_t>(1e300),
        uint64_t{1}, uint64_t{0x7ff0000000000000}, uint64_t{0xfff0000000000000},
        uint64_t{0x7ff8000000000000}, uint64_t{0xfff8000000000001}}) {
    const std::string text = TextDouble(std::bit_cast<double>(bits));
    EXPECT_FALSE(ParseTextInt(text)) << text;
    const auto value = ParseTextDouble(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(std::bit_cast<uint64_t>(*value), bits) << text;
  }
}

// The lines of a text, sorted: the order of disordered events is not kept.
std::vector<std::string> SortedLines(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Text, RandomTracesSurviveTheWayThroughText) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    auto bytes = std::make_shared<std::string>();
    auto writer =
        TraceWriter::CreateInMemory(RandomTrace::HeaderOf(seed), bytes);
    RandomTrace content(seed, *writer, false);
    for (int i = 0; i < 60; ++i) {
      content.Step();
      if (i % 25 == 24) writer->Seal();
    }
    ASSERT_TRUE(writer->Close().ok());
    const std::string text = TextOf(TraceReader::OpenBytes(bytes, "t").Take());
    const auto again = ReadText(text, "t");
    ASSERT_TRUE(again.ok()) << again.error().what;
    const TraceReader reader =
        TraceReader::OpenBytes(again.value(), "t").Take();
    EXPECT_TRUE(reader.finished());
    const std::string second = TextOf(reader);
    ASSERT_EQ(SortedLines(second), SortedLines(text)) << seed;
    EXPECT_EQ(Normal(second), second) << "a fixed point, seed " << seed;
  }
}

TEST(Text, AnUnfinishedTraceStaysOne) {
  const auto bytes = ReadText("sonde-text 0\ntrack 1\nunfinished\n", "t");
  ASSERT_TRUE(bytes.ok());
  const TraceReader reader = TraceReader::OpenBytes(bytes.value(), "t").Take();
  EXPECT_FALSE(reader.finished());
  EXPECT_TRUE(TextOf(reader).ends_with("\nunfinished\n"));
}

TEST(Text, DamageBecomesALoss) {
  auto bytes = ReadText("sonde-text 0\ntrack 1\nslice 1 0 1 a\n", "t").Take();
  const TraceReader whole = TraceReader::OpenBytes(bytes, "t").Take();
  for (const FrameRef& f : whole.frames())
    if (f.kind == FrameKind::kEvents)
      (*bytes)[static_cast<size_t>(f.offset + f.size - 1)] ^= 1;
  const std::string text = TextOf(TraceReader::OpenBytes(bytes, "t").Take());
  EXPECT_NE(text.find("loss damaged detail="), std::string::npos) << text;
  EXPECT_NE(text.find(" detail=\"damaged frame ("), std::string::npos) << text;
}

}  // namespace
}  // namespace sonde

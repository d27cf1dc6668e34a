// What is whole is read, what is not is reported with its place, whatever
// happened to the bytes.

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "tools/random_trace.h"
#include "trace/reader.h"

namespace sonde {
namespace {

std::string MakeTrace(uint64_t seed, int steps) {
  auto bytes = std::make_shared<std::string>();
  auto writer = TraceWriter::CreateInMemory(RandomTrace::HeaderOf(seed), bytes);
  RandomTrace content(seed, *writer, false);
  for (int i = 0; i < steps; ++i) {
    content.Step();
    if (i % 20 == 19) writer->Seal();
  }
  EXPECT_TRUE(writer->Close().ok());
  return *bytes;
}

struct Span {
  int64_t begin, end;
  bool operator==(const Span&) const = default;
};

// All frames of a whole file, index and end too.
std::vector<Span> AllFrames(const std::string& bytes) {
  std::vector<Span> out;
  size_t at = kFileHeaderSize;
  while (at < bytes.size()) {
    const auto header = FrameHeader::Decode(std::string_view(bytes).substr(at));
    EXPECT_TRUE(header);
    const size_t size = kFrameHeaderSize + header->length;
    out.push_back({static_cast<int64_t>(at), static_cast<int64_t>(at + size)});
    at += size;
  }
  return out;
}

// Opens `bytes` and decodes all there is.
struct Seen {
  bool opened = false;
  bool finished = false;
  std::vector<uint32_t> payloads;  // their checksums
  std::vector<Damage> damages;
};
Seen Look(std::string bytes) {
  Seen seen;
  auto reader = TraceReader::OpenBytes(
      std::make_shared<std::string>(std::move(bytes)), "t");
  if (!reader.ok()) {
    EXPECT_EQ(reader.error().kind, Error::Kind::kCorrupt);
    return seen;
  }
  seen.opened = true;
  seen.finished = reader.value().finished();
  seen.damages = reader.value().damages();
  for (const FrameRef& f : reader.value().frames()) {
    std::string payload;
    EXPECT_TRUE(reader.value().Read(f, payload));
    if (f.kind == FrameKind::kEvents) {
      EventChunkDecoder decoder;
      EventColumns columns;
      EXPECT_TRUE(decoder.Open(payload) && decoder.Decode(kMaskAll, columns));
    } else if (f.kind == FrameKind::kCounters) {
      CounterChunkDecoder decoder;
      CounterTicks ticks;
      EXPECT_TRUE(decoder.Open(payload) && decoder.Decode(ticks));
    }
    seen.payloads.push_back(Checksum(payload));
  }
  return seen;
}

struct DamageTest : testing::Test {
  void SetUp() override {
    whole = MakeTrace(11, 70);
    frames = AllFrames(whole);
    seen = Look(whole);
    ASSERT_TRUE(seen.finished);
    ASSERT_TRUE(seen.damages.empty());
    ASSERT_EQ(seen.payloads.size() + 2, frames.size()) << "index and end";
    ASSERT_GT(frames.size(), 20u);
  }

  // The payloads of frames that do not touch [begin, end), of those that have
  // one in the listing.
  std::vector<uint32_t> Outside(int64_t begin, int64_t end) const {
    std::vector<uint32_t> out;
    for (size_t i = 0; i < seen.payloads.size(); ++i)
      if (frames[i].end <= begin || frames[i].begin >= end)
        out.push_back(seen.payloads[i]);
    return out;
  }
  // The bytes of all frames (or of the file's header) that touch [begin, end).
  Span Touched(int64_t begin, int64_t end) const {
    Span out{INT64_MAX, 0};
    const auto take = [&](Span s) {
      if (s.end <= begin || s.begin >= end) return;
      out.begin = std::min(out.begin, s.begin);
      out.end = std::max(out.end, s.end);
    };
    take({0, kFileHeaderSize});
    for (const Span& s : frames) take(s);
    return out;
  }

  std::string whole;
  std::vector<Span> frames;
  Seen seen;
};

TEST_F(DamageTest, EveryTruncationKeepsTheFramesBeforeIt) {
  std::vector<size_t> cuts;
  for (size_t i = 0; i < 4096 && i < whole.size(); ++i) {
    cuts.push_back(i);
    cuts.push_back(whole.size() - i);
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) cuts.push_back(random() % whole.size());
  for (const Span& s : frames) cuts.push_back(static_cast<size_t>(s.begin));
  for (size_t cut : cuts) {
    const Seen left = Look(whole.substr(0, cut));
    ASSERT_EQ(left.opened, cut >= kFileHeaderSize) << cut;
    if (!left.opened) continue;
    const int64_t end = static_cast<int64_t>(cut);
    ASSERT_EQ(left.finished, cut == whole.size());
    ASSERT_EQ(left.payloads, Outside(end, INT64_MAX)) << cut;
    const Span torn = Touched(end - 1, end);
    if (torn.end == end) {
      ASSERT_TRUE(left.damages.empty()) << cut << ": cut between two frames";
      continue;
    }
    ASSERT_EQ(left.damages.size(), 1u) << cut;
    ASSERT_EQ(left.damages[0].offset, torn.begin);
    ASSERT_EQ(left.damages[0].bytes, end - torn.begin);
    ASSERT_EQ(left.damages[0].what, "the last frame is incomplete");
  }
}

TEST_F(DamageTest, AFlippedBitCostsItsFrameAndNothingElse) {
  std::mt19937_64 random(2);
  std::string bytes = whole;
  for (int i = 0; i < 10000; ++i) {
    const size_t at = random() % bytes.size();
    const char bit = static_cast<char>(1 << random() % 8);
    bytes[at] ^= bit;
    const Seen left = Look(bytes);
    bytes[at] ^= bit;
    const int64_t place = static_cast<int64_t>(at);
    ASSERT_TRUE(left.opened);
    ASSERT_EQ(left.payloads, Outside(place, place + 1)) << at;
    ASSERT_EQ(left.damages.size(), 1u) << at;
    const Damage& damage = left.damages[0];
    ASSERT_EQ((Span{damage.offset, damage.offset + damage.bytes}),
              Touched(place, place + 1))
        << at;
  }
}

TEST_F(DamageTest, AnOverwrittenRangeCostsTheFramesItTouches) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    const size_t at = random() % whole.size();
    const size_t size =
        std::min<size_t>(1 + random() % 6000, whole.size() - at);
    std::string bytes = whole;
    const char all = static_cast<char>(1 + random() % 255);
    for (size_t b = at; b < at + size; ++b)
      bytes[b] ^= i % 2 ? all : static_cast<char>(1 + random() % 255);
    const int64_t begin = static_cast<int64_t>(at);
    const int64_t end = begin + static_cast<int64_t>(size);
    const Seen left = Look(bytes);
    ASSERT_TRUE(left.opened);
    ASSERT_EQ(left.payloads, Outside(begin, end)) << at << "+" << size;
    const Span touched = Touched(begin, end);
    ASSERT_FALSE(left.damages.empty());
    for (const Damage& damage : left.damages) {
      ASSERT_GE(damage.offset, touched.begin);
      ASSERT_LE(damage.offset + damage.bytes, touched.end);
    }
  }
}

TEST_F(DamageTest, BytesCutOutCostTheFramesTheyStoodIn) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 1000; ++i) {
    const size_t at =
        kFileHeaderSize + random() % (whole.size() - kFileHeaderSize);
    const size_t size = 1 + random() % 300;
    std::string bytes = whole;
    bytes.erase(at, size);
    const int64_t begin = static_cast<int64_t>(at);
    const int64_t end = begin + static_cast<int64_t>(size);
    const Seen left = Look(bytes);
    ASSERT_EQ(left.payloads, Outside(begin, end)) << at << "+" << size;
  }
}

TEST_F(DamageTest, FramesCutOutLeaveTheOthers) {
  for (size_t i = 0; i < frames.size(); ++i) {
    std::string bytes = whole;
    bytes.erase(static_cast<size_t>(frames[i].begin),
                static_cast<size_t>(frames[i].end - frames[i].begin));
    const Seen left = Look(bytes);
    ASSERT_EQ(left.payloads, Outside(frames[i].begin, frames[i].end));
    ASSERT_FALSE(left.finished) << "the end names a file of another size";
  }
}

TEST_F(DamageTest, AFrameThatStandsTwiceIsReadOnce) {
  for (const Span& s : frames) {
    std::string bytes = whole;
    bytes.insert(static_cast<size_t>(s.end),
                 whole.substr(static_cast<size_t>(s.begin),
                              static_cast<size_t>(s.end - s.begin)));
    const Seen left = Look(bytes);
    ASSERT_EQ(left.payloads, seen.payloads);
    ASSERT_TRUE(left.damages.empty());
  }
}

TEST_F(DamageTest, AnotherTraceBehindThisOneIsNotMixedIn) {
  const std::string other = MakeTrace(12, 60);
  for (size_t cut : {size_t{0}, size_t{5}, size_t{100}}) {
    const Seen left = Look(whole.substr(0, whole.size() - cut) + other);
    EXPECT_EQ(left.payloads, seen.payloads) << cut;
    ASSERT_EQ(left.damages.size(), cut ? 2u : 1u) << cut;
    const Damage& last = left.damages.back();
    EXPECT_EQ(last.offset, static_cast<int64_t>(whole.size() - cut));
    EXPECT_EQ(last.bytes, static_cast<int64_t>(other.size()));
    EXPECT_EQ(last.what, "another trace was appended here");
  }
}

TEST_F(DamageTest, AFrameInTheContentOfACutOneIsNotBelieved) {
  const std::string inner = EncodeFrame(FrameKind::kMeta, 77, "x", false);
  const std::string outer =
      EncodeFrame(FrameKind::kStrings, 1, std::string(50, 's') + inner, false);
  const std::string file = whole.substr(0, kFileHeaderSize) + outer;
  const Seen left = Look(file.substr(0, file.size()) + "torn");
  ASSERT_EQ(left.payloads.size(), 1u);
  std::string flipped = file;
  flipped[kFileHeaderSize + kFrameHeaderSize] ^= 1;
  EXPECT_TRUE(Look(flipped).payloads.empty());
  const std::string longer =
      EncodeFrame(FrameKind::kStrings, 1, inner + std::string(50, 's'), false);
  EXPECT_TRUE(Look(whole.substr(0, kFileHeaderSize) +
                   longer.substr(0, longer.size() - 1))
                  .payloads.empty());
}

TEST_F(DamageTest, HeadersMadeUpToBeReadAgainAreNotObeyed) {
  // Good headers, each of a frame of a megabyte (or of more than there is) that
  // is none: without a limit this reads hundreds of gigabytes.
  for (size_t size : {1 << 20, 32 << 20}) {
    std::string bytes = whole.substr(0, kFileHeaderSize);
    const std::string header =
        EncodeFrame(FrameKind::kMeta, 0, std::string(size, 'x'), false)
            .substr(0, kFrameHeaderSize);
    for (int i = 0; i < 500'000; ++i) bytes += header;
    const Seen left = Look(bytes);
    EXPECT_TRUE(left.payloads.empty());
    EXPECT_FALSE(left.damages.empty());
  }
}

// A directory that is gone after the test.
struct Directory {
  Directory() {
    std::string name = testing::TempDir() + "/damage_XXXXXX";
    CHECK(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Directory() { std::filesystem::remove_all(path); }
  std::string path;
};

TEST(JournalDamage, ATornJournalKeepsTheFileAndItsOwnWholeFrames) {
  Directory directory;
  const std::string path = directory.path + "/t.sonde";
  {
    auto writer =
        TraceWriter::Create(path, RandomTrace::HeaderOf(5), {}).Take();
    RandomTrace content(5, *writer, false);
    for (int i = 0; i < 200; ++i) {
      content.Step();
      if (i == 100) writer->Seal();
      if (i % 5 == 0) writer->Flush();
    }
  }
  auto open = [&] { return TraceReader::Open(path).Take(); };
  const TraceReader all = open();
  ASSERT_TRUE(all.damages().empty());
  ASSERT_FALSE(all.finished());
  size_t in_file = 0;
  for (const FrameRef& f : all.frames()) in_file += !f.journal;
  ASSERT_GT(in_file, 0u);
  ASSERT_GT(all.frames().size(), in_file + 10);

  const auto size =
      static_cast<int64_t>(std::filesystem::file_size(path + ".journal"));
  for (int64_t cut = size; cut > 0; cut -= 1 + size / 300) {
    std::filesystem::resize_file(path + ".journal",
                                 static_cast<uintmax_t>(cut));
    const TraceReader left = open();
    std::vector<int64_t> want, got;
    for (const FrameRef& f : all.frames())
      if (!f.journal || f.offset + f.size <= cut) want.push_back(f.offset);
    for (const FrameRef& f : left.frames()) got.push_back(f.offset);
    ASSERT_EQ(got, want) << cut;
    for (const Damage& damage : left.damages()) {
      ASSERT_TRUE(damage.journal);
      ASSERT_EQ(damage.offset + damage.bytes, cut);
    }
  }
}

TEST(JournalDamage, AJournalOfAnotherSessionIsLeftAlone) {
  Directory directory;
  const std::string path = directory.path + "/t.sonde";
  for (uint64_t seed : {6, 7}) {
    TraceWriter::Options options;
    options.replace = true;
    auto writer =
        TraceWriter::Create(path, RandomTrace::HeaderOf(seed), options).Take();
    RandomTrace(seed, *writer, false).Steps(50);
    writer->Flush();
    writer.reset();
    if (seed == 6)
      std::filesystem::rename(path + ".journal", directory.path + "/old");
  }
  std::filesystem::rename(directory.path + "/old", path + ".journal");
  const TraceReader reader = TraceReader::Open(path).Take();
  EXPECT_TRUE(reader.frames().empty());
  ASSERT_TRUE(reader.lost_end());
  EXPECT_NE(reader.lost_end()->detail.find("not the journal of this trace"),
            std::string::npos);
}

TEST(JournalDamage, AJournalThatIsGoneIsALossUntilItIsBack) {
  Directory directory;
  const std::string path = directory.path + "/t.sonde";
  auto writer = TraceWriter::Create(path, RandomTrace::HeaderOf(6), {}).Take();
  RandomTrace(6, *writer, false).Steps(50);
  writer->Flush();
  writer.reset();
  EXPECT_FALSE(TraceReader::Open(path).Take().lost_end());
  std::filesystem::rename(path + ".journal", directory.path + "/old");
  const TraceReader without = TraceReader::Open(path).Take();
  ASSERT_TRUE(without.lost_end());
  EXPECT_EQ(without.lost_end()->reason, "journal");
  EXPECT_TRUE(without.lost_end()->detail.ends_with("put it back as " + path +
                                                   ".journal"))
      << without.lost_end()->detail;
  std::filesystem::rename(directory.path + "/old", path + ".journal");
  EXPECT_FALSE(TraceReader::Open(path).Take().lost_end());
}

TEST(JournalDamage, AClosedTraceThatWasCutMissesItsEndAndNoJournal) {
  Directory directory;
  const std::string path = directory.path + "/t.sonde";
  auto writer = TraceWriter::Create(path, RandomTrace::HeaderOf(6), {}).Take();
  RandomTrace(6, *writer, false).Steps(50);
  ASSERT_TRUE(writer->Close().ok());
  writer.reset();
  EXPECT_FALSE(TraceReader::Open(path).Take().lost_end());
  // Through the end mark, at it, and in the middle of a frame.
  for (const size_t cut : {1, 48, 1048}) {
    const std::string part = path + "-" + std::to_string(cut);
    std::filesystem::copy_file(path, part);
    std::filesystem::resize_file(part, std::filesystem::file_size(path) - cut);
    const TraceReader reader = TraceReader::Open(part).Take();
    EXPECT_FALSE(reader.finished()) << cut;
    ASSERT_TRUE(reader.lost_end()) << cut;
    EXPECT_TRUE(reader.cut()) << reader.lost_end()->detail;
    EXPECT_EQ(reader.lost_end()->detail.find("journal"), std::string::npos);
  }
}

TEST(JournalDamage, BytesBehindTheEndMarkAreDamageAndNoLostEnd) {
  Directory directory;
  const std::string path = directory.path + "/t.sonde";
  auto writer = TraceWriter::Create(path, RandomTrace::HeaderOf(6), {}).Take();
  RandomTrace(6, *writer, false).Steps(50);
  ASSERT_TRUE(writer->Close().ok());
  writer.reset();
  std::ofstream(path, std::ios::app) << "more";
  const TraceReader reader = TraceReader::Open(path).Take();
  EXPECT_FALSE(reader.lost_end());
  ASSERT_EQ(reader.damages().size(), 1u);
  EXPECT_EQ(reader.damages()[0].bytes, 4);
}

TEST(JournalDamage, ADamagedHeaderIsReported) {
  Directory directory;
  const std::string path = directory.path + "/t.sonde";
  auto writer = TraceWriter::Create(path, RandomTrace::HeaderOf(6), {}).Take();
  RandomTrace(6, *writer, false).Steps(50);
  writer->Flush();
  writer.reset();
  const int64_t size =
      static_cast<int64_t>(std::filesystem::file_size(path + ".journal"));
  std::filesystem::resize_file(path + ".journal", 0);
  std::filesystem::resize_file(path + ".journal", static_cast<size_t>(size));
  const TraceReader reader = TraceReader::Open(path).Take();
  ASSERT_EQ(reader.damages().size(), 1u);
  EXPECT_TRUE(reader.damages()[0].journal);
  EXPECT_EQ(reader.damages()[0].bytes, size);
  EXPECT_FALSE(reader.lost_end()) << "told once";
}

// A trace on a disk of `bytes`. Null if this process may not mount one.
struct SmallDisk : Directory {
  explicit SmallDisk(const std::string& bytes) {
    mounted = ::mount("tmpfs", path.c_str(), "tmpfs", 0,
                      ("size=" + bytes).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted) ::umount(path.c_str());
  }
  bool mounted = false;
};

TEST(FullDisk, TheTraceStopsIsFinishedAndSaysWhatItLost) {
  SmallDisk disk("8m");
  if (!disk.mounted) GTEST_SKIP() << "needs the right to mount a tmpfs";
  const std::string path = disk.path + "/t.sonde";
  auto writer = TraceWriter::Create(path, RandomTrace::HeaderOf(1), {}).Take();
  const uint32_t track = writer->AddTrack({});
  std::mt19937_64 random(9);
  uint64_t added = 0;
  int64_t now = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 10000; ++i, ++added) {
      Event event;
      event.begin_ns = now += static_cast<int64_t>(random() % 100000);
      event.name = writer->Intern("name" + std::to_string(round));
      writer->AddEvent(track, event);
    }
    writer->Flush();
  }
  ASSERT_TRUE(writer->failure());
  writer->PutMeta("exit", "exit 3");  // after the disk was full
  Process process;
  process.number = 1;
  process.name = writer->Intern("known only at the end");
  writer->PutProcess(process);
  EXPECT_FALSE(writer->Close().ok());
  EXPECT_FALSE(std::filesystem::exists(path + ".journal"));

  const TraceReader reader = TraceReader::Open(path).Take();
  EXPECT_TRUE(reader.finished());
  EXPECT_TRUE(reader.damages().empty());
  uint64_t kept = 0, lost = 0, strings = 0, names = 0;
  std::string payload, exit;
  for (const FrameRef& f : reader.frames()) {
    ASSERT_TRUE(reader.Read(f, payload));
    if (f.kind == FrameKind::kEvents) kept += f.events.count;
    if (f.kind == FrameKind::kLosses)
      DecodeRows<LossRow>(payload, [&](LossRow row) {
        EXPECT_EQ(row.row.reason, "disk-full");
        lost = row.row.count;
      });
    if (f.kind == FrameKind::kMeta)
      DecodeRows<MetaEntry>(payload, [&](MetaEntry row) { exit = row.value; });
    if (f.kind == FrameKind::kProcesses)
      DecodeRows<Process>(payload, [&](Process row) { names = row.name; });
    if (f.kind == FrameKind::kStrings)
      DecodeStrings(payload, [&](uint32_t, std::string_view) { ++strings; });
  }
  EXPECT_GT(kept, 0u);
  EXPECT_EQ(kept + lost, added);
  EXPECT_EQ(exit, "exit 3");
  EXPECT_EQ(strings, 201u) << "also those that came when the disk was full";
  EXPECT_EQ(names, 201u);
}

TEST(FullDisk, TheReserveIsThereWhenOthersFilledTheDisk) {
  SmallDisk disk("4m");
  if (!disk.mounted) GTEST_SKIP() << "needs the right to mount a tmpfs";
  auto sink = FileSink::Create(disk.path + "/t", false, 1 << 20).Take();
  ASSERT_TRUE(sink->Append(std::string(1000, 'a')).ok());
  {
    std::ofstream other(disk.path + "/other", std::ios::binary);
    const std::string block(4096, 'b');
    while (other.write(block.data(), static_cast<std::streamsize>(block.size()))
               .flush()) {
    }
  }
  const std::string chunk(64 << 10, 'c');
  while (sink->Append(chunk).ok()) {
  }
  const int64_t full = sink->size();
  sink->OpenReserve();
  int64_t more = 0;
  while (sink->Append(chunk).ok()) more += static_cast<int64_t>(chunk.size());
  EXPECT_GE(more, (1 << 20) - static_cast<int64_t>(chunk.size()));
  EXPECT_EQ(sink->size(), full + more);
}

}  // namespace
}  // namespace sonde

// Rings that somebody has damaged. A good one is made by a real target; then
// its bytes are changed in every way.

#include "collect/ring/ring_reader.h"

#include <signal.h>
#include <sonde/sonde.h>
#include <sys/mman.h>

#include <random>
#include <thread>

#include "tools/ring_records.h"

namespace sonde {
namespace {

// Takes everything and checks that it is whole.
struct CarefulSink : RingSink {
  void Records(const RingThread&, std::span<const uint64_t> words) override {
    ASSERT_FALSE(words.empty());
    while (!words.empty()) {
      ASSERT_GE(words.size(), 2u);
      const size_t size = 2 + (words[1] >> 40 & 0xff);
      ASSERT_LE(size, words.size());
      words = words.subspan(size);
      ++records;
    }
  }
  void Lost(const RingThread&, const RingLoss& loss) override {
    bytes += loss.bytes;
  }
  void Ended(const RingThread&) override {}
  uint64_t records = 0;
  uint64_t bytes = 0;
};

// The parts of a ring file that are not holes, with where they lie.
struct Image {
  std::string header;
  std::string names;
  std::string blocks;
};

struct RingReaderTest : RingTest {
  static constexpr size_t kBlocks = kFirstBlockChunk * kChunkBytes;

  Image Make() {
    StartAndWait([] {
      std::vector<std::thread> threads;
      for (int i = 0; i < 3; ++i)
        threads.emplace_back([] {
          const sonde_arg arg = sonde_arg_text(sonde_name("key"), "a text");
          for (int k = 0; k < 3000; ++k) {
            SONDE_BEGIN("slice");
            sonde_instant_args(1, &arg, 1);
            SONDE_END();
          }
        });
      for (auto& thread : threads) thread.join();
    });
    const Fd fd(::open(RingPath().c_str(), O_RDONLY | O_CLOEXEC));
    const auto part = [&](size_t offset, size_t size) {
      std::string bytes(size, '\0');
      EXPECT_EQ(::pread(fd.get(), bytes.data(), size, off_t(offset)),
                ssize_t(size));
      return bytes;
    };
    RingHeader header;
    std::memcpy(&header, part(0, sizeof(header)).data(), sizeof(header));
    return {part(0, kHeaderBytes), part(kNamesOffset, kSlotBytes),
            part(kBlocks, (header.chunks - kFirstBlockChunk) * kChunkBytes)};
  }

  void StartAndWait(const std::function<void()>& body) {
    int status;
    ASSERT_GT(::waitpid(StartTarget(session, body), &status, 0), 0);
    ASSERT_EQ(status, 0);
  }

  std::string RingPath() {
    for (const auto& entry : std::filesystem::directory_iterator(session.path))
      if (entry.path().extension() == ".ring") return entry.path();
    return "";
  }

  static Fd Store(const Image& image) {
    Fd fd(::memfd_create("ring", MFD_CLOEXEC));
    EXPECT_EQ(::pwrite(fd.get(), image.header.data(), image.header.size(), 0),
              ssize_t(image.header.size()));
    EXPECT_EQ(::pwrite(fd.get(), image.names.data(), image.names.size(),
                       kNamesOffset),
              ssize_t(image.names.size()));
    EXPECT_EQ(
        ::pwrite(fd.get(), image.blocks.data(), image.blocks.size(), kBlocks),
        ssize_t(image.blocks.size()));
    return fd;
  }

  static CarefulSink ReadAll(int fd) {
    RingReader reader(fd);
    CarefulSink sink;
    if (!reader.Open()) return sink;
    reader.Read(sink);
    reader.Finish(sink);
    for (uint32_t id = 8000; id < 9000; ++id) reader.Name(id);
    EXPECT_LE(sink.bytes, 4 * kRingBytes);
    return sink;
  }
};

TEST_F(RingReaderTest, AGoodRingIsReadToTheEnd) {
  const Image image = Make();
  const Fd fd = Store(image);
  RingReader reader(fd.get());
  CarefulSink sink;
  ASSERT_TRUE(reader.Open());
  reader.Read(sink);
  EXPECT_EQ(sink.records, 3u * 9000);
  EXPECT_EQ(reader.records(), 3u * 9000);
  EXPECT_EQ(reader.lost(), 0u);
  EXPECT_EQ(reader.Read(sink), 0u) << "nothing is handed out twice";
  EXPECT_EQ(reader.TakeDrained().size(), 3u * 4) << "one small, three big";
  EXPECT_EQ(reader.TakeDrained().size(), 0u);
}

TEST_F(RingReaderTest, AFileThatIsNoRingIsRefused) {
  Image image = Make();
  image.header[0] ^= 1;
  const Fd fd = Store(image);
  RingReader reader(fd.get());
  EXPECT_FALSE(reader.Open());
  EXPECT_TRUE(reader.bad());
  std::memset(image.header.data(), 0, 8);
  const Fd early = Store(image);
  RingReader not_yet(early.get());
  EXPECT_FALSE(not_yet.Open());
  EXPECT_FALSE(not_yet.bad()) << "its target is not ready";
}

TEST_F(RingReaderTest, ABlockThatIsDamagedLosesItsRestAndNothingElse) {
  Image image = Make();
  // A record of kind 0 in the first block of somebody.
  std::memset(image.blocks.data() + 512, 0, 16);
  const CarefulSink sink = ReadAll(Store(image).get());
  EXPECT_GT(sink.bytes, 3000u);
  EXPECT_LT(sink.bytes, 4096u);
  EXPECT_GT(sink.records, 3u * 9000 - 300);
  EXPECT_LT(sink.records, 3u * 9000);
}

// Fault 29: garbage in a ring.
TEST_F(RingReaderTest, AnyBytesAnywhereDoNoHarm) {
  const Image good = Make();
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    Image image = good;
    for (int i = 0; i < 1 + round % 20; ++i) {
      const uint64_t value = round % 3 ? random() : random() % 64;
      const uint64_t where = random();
      // Feet, directory, uses, header and data, the interesting ones often.
      std::string& part = where % 4 ? image.blocks : image.header;
      size_t at = random() % (part.size() - 8) / 2 * 2;
      if (where % 3 == 0 && &part == &image.blocks)
        at = (random() % (part.size() / kSlotBytes) + 1) * kSlotBytes - 64 +
             random() % 8 * 8;
      if (where % 3 == 0 && &part == &image.header)
        at = random() % 2 ? 1088 + random() % 8
                          : kDirectoryOffset + 2048 + random() % 128 / 2 * 2;
      std::memcpy(part.data() + at, &value, random() % 8 + 1);
    }
    ReadAll(Store(image).get());
  }
}

// Fault 30: a file that shrinks.
TEST_F(RingReaderTest, AFileCutAnywhereDoesNoHarm) {
  const Image image = Make();
  const Fd fd = Store(image);
  const size_t whole = kBlocks + image.blocks.size();
  for (size_t cut = 0; cut < whole;
       cut += cut < image.blocks.size() ? 3001 : 300'001) {
    const size_t size = whole - cut;
    ASSERT_EQ(::ftruncate(fd.get(), off_t(size)), 0);
    ReadAll(fd.get());
  }
}

TEST_F(RingReaderTest, ATargetThatScribblesHurtsOnlyItself) {
  const pid_t good = StartTarget(session, [] {
    for (int i = 0; i < 300'000; ++i) SONDE_INSTANT("good");
  });
  const pid_t bad = StartTarget(session, [] {
    char* const base = guest::process->base;
    const pid_t self = ::getpid();
    // Another process, with the same file under it.
    if (::fork() == 0) {
      std::mt19937_64 random(1);
      for (int i = 0; i < 2'000'000; ++i)
        base[(i % 2 ? 0 : kBlocks) + random() % kHeaderBytes] = char(random());
      ::kill(self, SIGKILL);
      ::_exit(0);
    }
    for (;;) SONDE_INSTANT("bad");
  });
  DrainTarget(session, good);
  DrainTarget(session, bad);
  uint64_t of_good = 0;
  for (const auto& [path, one] : session.rings) {
    if (one->reader.header().pid != uint32_t(good)) continue;
    of_good = one->reader.records();
    EXPECT_EQ(one->reader.lost(), 0u);
    EXPECT_EQ(one->sink.damaged, 0u);
  }
  EXPECT_EQ(of_good, 300'000u);
}

}  // namespace
}  // namespace sonde

// The recorder and the reader together: targets that are children of this
// process, drained as a collector would.

#include <errno.h>
#include <signal.h>
#include <sonde/sonde.h>
#include <sys/time.h>

#include <map>
#include <thread>
#include <vector>

#include "sdk/names.h"
#include "tools/ring_records.h"

namespace sonde {
namespace {

struct RecorderTest : RingTest {};

void Pairs(long count) {
  for (long i = 0; i < count; ++i) {
    SONDE_BEGIN("outer");
    SONDE_INSTANT("inside");
    SONDE_END();
  }
}

TEST_F(RecorderTest, EveryRecordArrivesOnceAndInOrder) {
  ASSERT_EQ(RunTarget(session,
                      [] {
                        std::vector<std::thread> threads;
                        for (int i = 0; i < 3; ++i)
                          threads.emplace_back([] { Pairs(20'000); });
                        for (auto& thread : threads) thread.join();
                      }),
            0);
  EXPECT_EQ(session.records() + session.lost(), 3u * 60'000);
  EXPECT_EQ(session.damaged(), 0u);
  ASSERT_EQ(session.lost(), 0u) << "a collector that keeps up loses nothing";
  std::map<uint32_t, std::vector<const Seen*>> threads;
  for (const Seen& one : seen) threads[one.thread].push_back(&one);
  ASSERT_EQ(threads.size(), 3u);
  const uint8_t order[] = {SONDE_KIND_BEGIN, SONDE_KIND_INSTANT,
                           SONDE_KIND_END};
  const uint16_t depth[] = {0, 1, 0};
  for (const auto& [number, records] : threads) {
    uint64_t before = 0;
    for (size_t i = 0; i < records.size(); ++i) {
      ASSERT_EQ(records[i]->head.kind, order[i % 3]);
      ASSERT_EQ(records[i]->head.depth, depth[i % 3]);
      ASSERT_GE(records[i]->head.time, before);
      before = records[i]->head.time;
    }
  }
  EXPECT_EQ(NameIn(session, seen[0].head.id), "outer");
}

TEST_F(RecorderTest, ARingThatIsFullDropsTheNewestAndSaysHowMany) {
  int ready[2], go[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(go), 0);
  constexpr long kMany = 2'000'000;  // three times what the pool takes
  const pid_t child = StartTarget(session, [&] {
    char byte = 0;
    Pairs(kMany);
    if (::write(ready[1], &byte, 1) != 1 || ::read(go[0], &byte, 1) != 1)
      ::_exit(1);
    SONDE_INSTANT("after");
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  session.Find();
  ASSERT_EQ(session.rings.size(), 1u);
  struct stat status;
  ASSERT_EQ(::fstat(session.rings.begin()->second->ring.get(), &status), 0);
  EXPECT_LE(status.st_blocks * 512, 64 << 20);
  session.Drain();
  ASSERT_EQ(::write(go[1], &byte, 1), 1);
  ASSERT_EQ(DrainTarget(session, child), 0);
  EXPECT_EQ(session.records() + session.lost(), 3ull * kMany + 1);
  EXPECT_GT(session.lost(), 1'000'000u);
  // The oldest are there, then the loss, then what came when there was room.
  ASSERT_GE(seen.size(), 2u);
  const Seen& last = seen.back();
  const Seen& lost = seen[seen.size() - 2];
  EXPECT_EQ(NameIn(session, last.head.id), "after");
  ASSERT_EQ(lost.head.kind, SONDE_KIND_LOST);
  EXPECT_EQ(lost.words[0], session.lost());
  EXPECT_LE(lost.words[1], lost.words[2]);
  EXPECT_LE(lost.words[2], last.head.time);
  EXPECT_EQ(last.head.depth, 0) << "dropped records count for the depth";
}

TEST_F(RecorderTest, LossesOfAKilledTargetAreCountedWithoutARecord) {
  constexpr long kMany = 2'000'000;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = StartTarget(session, [&] {
    Pairs(kMany);
    char byte = 0;
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    ::pause();
  });
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(child, SIGKILL);
  DrainTarget(session, child);
  EXPECT_EQ(Count(SONDE_KIND_LOST), 0u);
  EXPECT_EQ(session.records() + session.lost(), 3ull * kMany);
}

TEST_F(RecorderTest, AKilledTargetLosesNothingItHadRecorded) {
  int counted[2];
  ASSERT_EQ(::pipe(counted), 0);
  const pid_t child = StartTarget(session, [&] {
    for (uint64_t i = 1;; ++i) {
      SONDE_INSTANT("one");
      if (i % 1000 == 0 && ::write(counted[1], &i, 8) != 8) ::_exit(1);
    }
  });
  ::close(counted[1]);
  uint64_t told = 0;
  while (told < 300'000) {
    ASSERT_EQ(::read(counted[0], &told, 8), 8);
    session.Find();
    session.Drain();
  }
  ::kill(child, SIGKILL);
  DrainTarget(session, child);
  uint64_t more;
  while (::read(counted[0], &more, 8) == 8) told = more;
  EXPECT_GE(session.records() + session.lost(), told);
  EXPECT_LT(session.records() + session.lost(), told + 1001);
  EXPECT_EQ(session.damaged(), 0u);
}

TEST_F(RecorderTest, InAForkedChildAnotherThreadMayRecordFirst) {
  constexpr long kMany = 20'000;
  ASSERT_EQ(RunTarget(session,
                      [] {
                        Pairs(10);
                        const pid_t child = ::fork();
                        if (child == 0) {
                          std::thread other([] { Pairs(kMany); });
                          ::usleep(1000);
                          Pairs(kMany);
                          other.join();
                          ::_exit(0);
                        }
                        int status;
                        ::waitpid(child, &status, 0);
                        ::_exit(WEXITSTATUS(status));
                      }),
            0);
  EXPECT_EQ(session.records() + session.lost(), 30u + 2 * 3 * kMany);
  EXPECT_EQ(session.lost(), 0u);
  std::map<uint32_t, int> depth;  // by thread: begins and ends must match
  for (const Seen& record : seen) {
    int& now = depth[record.thread];
    if (record.head.kind == SONDE_KIND_BEGIN) {
      ASSERT_EQ(record.head.depth, now++);
    }
    if (record.head.kind == SONDE_KIND_END) {
      ASSERT_EQ(record.head.depth, --now);
    }
  }
}

TEST_F(RecorderTest, AForkedChildHasARingOfItsOwnAndKeepsTheIds) {
  ASSERT_EQ(RunTarget(session,
                      [] {
                        const uint32_t id = sonde_name("made before");
                        sonde_begin(id);
                        Pairs(10);
                        const pid_t child = ::fork();
                        Pairs(1000);
                        sonde_begin(id);
                        if (child == 0) {
                          if (sonde_name("made before") != id) ::_exit(9);
                          SONDE_INSTANT("in the child");
                          ::_exit(0);
                        }
                        int status;
                        ::waitpid(child, &status, 0);
                        ::_exit(WEXITSTATUS(status));
                      }),
            0);
  ASSERT_EQ(session.rings.size(), 2u);
  EXPECT_EQ(session.records() + session.lost(), 1u + 30 + 2 * 3001 + 1);
  EXPECT_EQ(session.lost(), 0u);
  uint64_t keys = 0;
  for (const auto& [path, one] : session.rings)
    keys += one->reader.header().parent_key != 0;
  EXPECT_EQ(keys, 1u) << "the child says whose child it is";
  for (const auto& [path, one] : session.rings)
    for (const Seen& record : seen)
      if (record.head.kind == SONDE_KIND_BEGIN) {
        EXPECT_TRUE(one->reader.Name(record.head.id));
      }
}

volatile sig_atomic_t handled = 0;
void RecordInHandler(int) {
  SONDE_INSTANT("handler");
  handled = handled + 1;
}

TEST_F(RecorderTest, ARecordInsideARecordIsDroppedAndCounted) {
  int result[2];
  ASSERT_EQ(::pipe(result), 0);
  ASSERT_EQ(RunTarget(session,
                      [&] {
                        ::signal(SIGALRM, RecordInHandler);
                        const itimerval every = {{0, 50}, {0, 50}};
                        ::setitimer(ITIMER_REAL, &every, nullptr);
                        Pairs(2'000'000);
                        const itimerval never = {};
                        ::setitimer(ITIMER_REAL, &never, nullptr);
                        const uint64_t count = uint64_t(handled);
                        if (::write(result[1], &count, 8) != 8) ::_exit(1);
                      }),
            0);
  uint64_t count = 0;
  ASSERT_EQ(::read(result[0], &count, 8), 8);
  EXPECT_GT(count, 100u);
  EXPECT_EQ(session.records() + session.lost(), 6'000'000 + count);
  EXPECT_EQ(session.damaged(), 0u);
}

TEST_F(RecorderTest, ThreadsThatEndGiveBackTheirBlocks) {
  ASSERT_EQ(RunTarget(session,
                      [] {
                        for (int i = 0; i < 3000; ++i)
                          std::thread([] { Pairs(2); }).join();
                      }),
            0);
  EXPECT_EQ(session.records(), 3000u * 6);
  EXPECT_EQ(session.lost(), 0u);
  const RingOfTarget& one = *session.rings.begin()->second;
  EXPECT_GE(one.sink.ended, 3000u);
  EXPECT_LT(one.reader.header().chunks, kFirstBlockChunk + 100);
}

// Blocks of the file that belong to the shared overflow.
int OverflowBlocks(const RingOfTarget& one) {
  int count = 0;
  const RingHeader& header = one.reader.header();
  for (size_t chunk = kFirstBlockChunk; chunk < kChunks; ++chunk) {
    if (header.use[chunk] != static_cast<uint8_t>(ChunkUse::kBig)) continue;
    BlockFoot foot = {};
    CHECK(::pread(one.ring.get(), &foot, sizeof(foot),
                  off_t(chunk * kChunkBytes + BlockRoom(true))) ==
          sizeof(foot));
    count += foot.generation != 0 && foot.thread == 0;
  }
  return count;
}

TEST_F(RecorderTest, MoreThreadsThanThePoolHasBlocksGoByTheOverflow) {
  // Each thread fills a small block and wants three big ones, and nothing is
  // drained while they run: 1200 for the 960 there are.
  constexpr int kThreads = 400;
  constexpr long kEach = 3000;
  const pid_t child = StartTarget(session, [] {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([] { Pairs(kEach); });
    for (auto& thread : threads) thread.join();
  });
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  session.Finish();
  EXPECT_EQ(session.records() + session.lost(), 3u * kEach * kThreads);
  EXPECT_EQ(session.damaged(), 0u);
  EXPECT_GT(session.lost(), 0u);
  EXPECT_EQ(OverflowBlocks(*session.rings.begin()->second), 4)
      << "the blocks kept for it, and no others";
  std::map<uint32_t, uint64_t> before;
  for (const Seen& one : seen) {
    uint64_t& last = before[one.thread];
    ASSERT_LE(last, one.head.time) << "of thread " << one.thread;
    last = one.head.time;
  }
  EXPECT_FALSE(before.contains(0)) << "whose each record is, is known";
}

// Chunks of the ring of a target that records much while nobody reads.
uint32_t ChunksAfter(RingSession& session, const std::function<void()>& first) {
  const pid_t child = StartTarget(session, [&] {
    first();
    Pairs(300'000);
  });
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  session.Finish();
  EXPECT_EQ(session.records() + session.lost(), 900'000u);
  return session.rings.begin()->second->reader.header().chunks -
         kFirstBlockChunk;
}

TEST_F(RecorderTest, WhoGivesUpSystemCallsHasAllItWillEverHave) {
  const uint32_t chunks = ChunksAfter(session, guest::GiveUpCalls);
  EXPECT_GE(chunks, 64u);
  EXPECT_LT(chunks, 128u);
  EXPECT_GT(session.lost(), 0u);
}

TEST_F(RecorderTest, WithoutSystemCallsAThreadIsStillKnown) {
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  uint32_t seen_tid = 0;
  session.on_records = [&](const RingThread& thread,
                           std::span<const uint64_t>) {
    seen_tid = thread.tid;
  };
  ASSERT_EQ(RunTarget(session,
                      [&] {
                        guest::GiveUpCalls();
                        std::thread([&] {
                          SONDE_INSTANT("here");
                          const pid_t tid = ::gettid();
                          if (::write(told[1], &tid, 4) != 4) ::_exit(2);
                        }).join();
                      }),
            0);
  uint32_t tid = 0;
  ASSERT_EQ(::read(told[0], &tid, 4), 4);
  EXPECT_EQ(seen_tid, tid);
}

TEST_F(RecorderTest, WhoIsRefusedAFilterGoesOnAsBefore) {
  const uint32_t chunks = ChunksAfter(session, [] {
    guest::GiveUpCalls();
    guest::TakeBackCalls();
  });
  EXPECT_GT(chunks, 200u);
  EXPECT_EQ(session.lost(), 0u);
}

TEST_F(RecorderTest, NothingOfTheTargetsChanges) {
  ASSERT_EQ(RunTarget(session,
                      [] {
                        const int next = ::dup(0);
                        errno = 77;
                        Pairs(100'000);
                        sonde_name("a name");
                        if (errno != 77) ::_exit(2);
                        if (::dup(0) != next + 1) ::_exit(3);
                        // Whoever closes everything closes nothing of ours.
                        for (int fd = 3; fd < 1000; ++fd) ::close(fd);
                        Pairs(100'000);
                        if (const pid_t child = ::fork(); child == 0) {
                          Pairs(10);
                          ::_exit(0);
                        }
                        ::wait(nullptr);
                      }),
            0);
  EXPECT_EQ(session.records() + session.lost(), 600'030u);
}

TEST_F(RecorderTest, WhileNobodyRecordsNothingIsWritten) {
  ASSERT_EQ(RunTarget(session,
                      [this] {
                        SONDE_INSTANT("one");
                        session.SetRecording(false);
                        Pairs(1000);
                        session.SetRecording(true);
                        SONDE_INSTANT("two");
                        sonde_pause();
                        Pairs(1000);
                        sonde_resume();
                        SONDE_INSTANT("three");
                      }),
            0);
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen[2].head.kind, SONDE_KIND_PAUSE);
  EXPECT_EQ(seen[3].head.kind, SONDE_KIND_RESUME);
}

TEST_F(RecorderTest, AnotherClockTakesTheLongWayAndArrivesToo) {
  RingSession other("/dev/shm", WireClock::kMonotonic);
  other.on_records = session.on_records;
  ASSERT_EQ(RunTarget(other, [] { Pairs(1000); }), 0);
  ASSERT_EQ(other.records(), 3000u);
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t now_ns = uint64_t(now.tv_sec) * 1'000'000'000;
  EXPECT_LT(seen[0].head.time, now_ns + 1'000'000'000);
  EXPECT_GT(seen[0].head.time, now_ns - 60'000'000'000);
}

TEST_F(RecorderTest, NoSessionNoRecords) {
  const pid_t child = ::fork();
  if (child == 0) {
    guest::Start("/nowhere");
    Pairs(10);
    ::_exit(sonde_recording() != 0 || sonde_name("x") != 0 ||
            sonde_abi_self != nullptr);
  }
  int status;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace sonde

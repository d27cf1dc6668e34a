// Each function of sonde.h: what it writes, word by word.

#include <sonde/sonde.hpp>
#include <string>
#include <thread>

#include "sdk/names.h"
#include "tools/ring_records.h"

namespace sonde {
namespace {

struct ApiTest : RingTest {
  // What the argument at word `at` says of itself.
  struct ArgHead {
    uint32_t key;
    uint8_t type;
    uint8_t words;
    uint16_t bytes;
  };
  static ArgHead ArgAt(const Seen& record, size_t at) {
    ArgHead head;
    std::memcpy(&head, &record.words.at(at), sizeof(head));
    return head;
  }
  std::optional<RingName> NameAt(uint32_t id) {
    return session.rings.begin()->second->reader.Name(id);
  }
};

double AsDouble(uint64_t word) {
  double value;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

TEST_F(ApiTest, CountersHaveOneWord) {
  RunTarget(session, [] {
    const uint32_t id = sonde_name("queue");
    sonde_counter(id, -5);
    sonde_counter_add(id, 7);
    sonde_counter_double(id, 0.5);
    sonde_counter_add_double(id, -0.25);
  });
  ASSERT_EQ(seen.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(seen[i].head.kind, SONDE_KIND_COUNTER + i);
    EXPECT_EQ(NameIn(session, seen[i].head.id), "queue");
    ASSERT_EQ(seen[i].words.size(), 1u);
  }
  EXPECT_EQ(int64_t(seen[0].words[0]), -5);
  EXPECT_EQ(int64_t(seen[1].words[0]), 7);
  EXPECT_EQ(AsDouble(seen[2].words[0]), 0.5);
  EXPECT_EQ(AsDouble(seen[3].words[0]), -0.25);
}

TEST_F(ApiTest, ACallByItsAddressReachesTheLibrary) {
  RunTarget(session, [] {
    void (*volatile begin)(uint32_t) = &sonde_begin;
    void (*volatile end)(void) = &sonde_end;
    uint32_t (*volatile name)(const char*) = &sonde_name;
    begin(name("step"));
    end();
  });
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(NameIn(session, seen[0].head.id), "step");
  EXPECT_EQ(seen[1].head.kind, SONDE_KIND_END);
}

TEST_F(ApiTest, FlowsAndRangesAreToldApartById) {
  RunTarget(session, [] {
    const uint64_t flow = sonde_new_id();
    const uint64_t range = sonde_new_id();
    if (flow == range) ::_exit(1);
    sonde_flow_begin(1, flow);
    sonde_flow_step(1, flow);
    sonde_range_begin(2, range);
    std::thread([=] {
      sonde_flow_end(1, flow);
      sonde_range_instant(2, range);
      sonde_range_end(range);
    }).join();
  });
  ASSERT_EQ(seen.size(), 6u);
  const uint8_t kinds[] = {SONDE_KIND_FLOW_BEGIN,    SONDE_KIND_FLOW_STEP,
                           SONDE_KIND_RANGE_BEGIN,   SONDE_KIND_FLOW_END,
                           SONDE_KIND_RANGE_INSTANT, SONDE_KIND_RANGE_END};
  std::stable_sort(seen.begin(), seen.end(), [](const Seen& a, const Seen& b) {
    return a.head.time < b.head.time;
  });
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(seen[i].head.kind, kinds[i]);
  EXPECT_EQ(seen[0].words[0], seen[3].words[0]);
  EXPECT_EQ(seen[2].words[0], seen[5].words[0]);
  EXPECT_NE(seen[0].thread, seen[5].thread);
}

TEST_F(ApiTest, ArgumentsOfEveryType) {
  RunTarget(session, [] {
    const uint32_t key = sonde_name("key");
    const sonde_arg args[] = {
        sonde_arg_int(key, -1),
        sonde_arg_double(key, 1.5),
        sonde_arg_text(key, "twelve bytes"),
        sonde_arg_bytes(key, "\0\1\2", 3),
        sonde_arg_text(key, nullptr),
        sonde_arg_color(0xff00ff00),
        sonde_arg_track(17),
        sonde_arg_time(99),
    };
    sonde_instant_args(sonde_name("all"), args, 8);
  });
  ASSERT_EQ(seen.size(), 1u);
  const Seen& record = seen[0];
  EXPECT_EQ(NameIn(session, ArgAt(record, 0).key), "key");
  EXPECT_EQ(ArgAt(record, 0).type, SONDE_ARG_INT);
  EXPECT_EQ(int64_t(record.words[1]), -1);
  EXPECT_EQ(AsDouble(record.words[3]), 1.5);
  EXPECT_EQ(ArgAt(record, 4).type, SONDE_ARG_TEXT);
  EXPECT_EQ(ArgAt(record, 4).bytes, 12);
  EXPECT_EQ(ArgAt(record, 4).words, 2);
  EXPECT_EQ(std::memcmp(&record.words[5], "twelve bytes\0\0\0\0", 16), 0);
  EXPECT_EQ(ArgAt(record, 7).bytes, 3);
  EXPECT_EQ(ArgAt(record, 9).bytes, 0);
  EXPECT_EQ(ArgAt(record, 10).key, 0xff00ff00u);
  EXPECT_EQ(ArgAt(record, 11).key, 17u);
  EXPECT_EQ(record.words[13], 99u);
  EXPECT_EQ(record.words.size(), 14u);
}

TEST_F(ApiTest, WhatIsTooLongIsCutAndSaysSo) {
  RunTarget(session, [] {
    const std::string text(100'000, 'x');
    const uint32_t id = sonde_name(text.c_str());
    const sonde_arg one[] = {sonde_arg_text(1, text.c_str())};
    sonde_instant_args(id, one, 1);
    std::vector<sonde_arg> many(300, sonde_arg_int(2, 3));
    sonde_instant_args(id, many.data(), many.size());
  });
  ASSERT_EQ(seen.size(), 2u);
  const auto name = NameAt(seen[0].head.id);
  ASSERT_TRUE(name);
  EXPECT_EQ(name->text, std::string(SONDE_MAX_TEXT, 'x'));
  EXPECT_TRUE(name->cut);
  EXPECT_EQ(ArgAt(seen[0], 0).type, SONDE_ARG_CUT_TEXT);
  EXPECT_EQ(ArgAt(seen[0], 0).bytes, SONDE_MAX_TEXT);
  EXPECT_EQ(seen[1].words.size(), 254u) << "127 of two words";
}

TEST_F(ApiTest, LabelsTracksAndClocksAreDefinitions) {
  RunTarget(session, [] {
    const uint32_t clock = sonde_clock("gpu0", 1'000'000'000);
    const uint32_t queue = sonde_track("gpu0", clock, 0, 0);
    const uint32_t stream = sonde_track("stream 7", clock, queue, 7);
    const uint32_t label = sonde_label("gemm", "kernel", 0xff112233);
    if (sonde_label("gemm", "kernel", 0xff112233) != label) ::_exit(1);
    sonde_clock_pair(clock, 1234);
    const sonde_arg where[] = {sonde_arg_track(stream)};
    sonde_complete(label, 5, 8, where, 1);
  });
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].head.kind, SONDE_KIND_CLOCK_PAIR);
  const auto clock = NameAt(uint32_t(seen[0].words[0]));
  ASSERT_TRUE(clock && clock->kind == NameKind::kClock);
  EXPECT_EQ(NameIn(session, clock->name), "gpu0");
  EXPECT_EQ(clock->ticks_per_second, 1'000'000'000u);
  EXPECT_EQ(seen[0].words[1], 1234u);
  EXPECT_EQ(seen[1].head.kind, SONDE_KIND_COMPLETE);
  EXPECT_EQ(seen[1].words[0], 5u);
  EXPECT_EQ(seen[1].words[1], 8u);
  const auto label = NameAt(seen[1].head.id);
  ASSERT_TRUE(label && label->kind == NameKind::kLabel);
  EXPECT_EQ(NameIn(session, label->category), "kernel");
  EXPECT_EQ(label->color, 0xff112233u);
  const auto track = NameAt(ArgAt(seen[1], 2).key);
  ASSERT_TRUE(track && track->kind == NameKind::kTrack);
  EXPECT_EQ(track->clock, uint32_t(seen[0].words[0]));
  EXPECT_EQ(NameIn(session, NameAt(track->parent)->name), "gpu0");
  EXPECT_EQ(track->order, 7u);
}

TEST_F(ApiTest, LabelsAndTracksOfOthersSayWhoseTheyAre) {
  RunTarget(session, [] {
    const uint32_t call =
        sonde_label_of("write", "io", 0, SONDE_CLASS_CALL, "calls");
    if (call == sonde_label("write", "io", 0)) ::_exit(1);
    if (call != sonde_label_of("write", "io", 0, SONDE_CLASS_CALL, "calls"))
      ::_exit(1);
    sonde_begin(call);
    sonde_begin(sonde_label_of("range", nullptr, 0, 0, "nvtx"));
    const sonde_arg where[] = {sonde_arg_track(
        sonde_track_of("stream 7", 0, 0, 7, SONDE_TRACK_QUEUE, "driver"))};
    sonde_complete(sonde_name("gemm"), 5, 8, where, 1);
  });
  ASSERT_EQ(seen.size(), 3u);
  const auto call = NameAt(seen[0].head.id);
  ASSERT_TRUE(call && call->kind == NameKind::kLabel);
  EXPECT_EQ(NameIn(session, call->category), "io");
  EXPECT_EQ(call->cls, uint32_t{SONDE_CLASS_CALL});
  EXPECT_EQ(NameIn(session, call->source), "calls");
  const auto range = NameAt(seen[1].head.id);
  ASSERT_TRUE(range && range->kind == NameKind::kLabel);
  EXPECT_EQ(range->category, 0u);
  EXPECT_EQ(range->cls, 0u);
  EXPECT_EQ(NameIn(session, range->source), "nvtx");
  const auto track = NameAt(ArgAt(seen[2], 2).key);
  ASSERT_TRUE(track && track->kind == NameKind::kTrack);
  EXPECT_EQ(track->order, 7u);
  EXPECT_EQ(track->track_kind, uint32_t{SONDE_TRACK_QUEUE});
  EXPECT_EQ(NameIn(session, track->source), "driver");
}

TEST_F(ApiTest, WhatSaysNoMoreThanTheProgramIsTheProgramsOwn) {
  RunTarget(session, [] {
    const uint32_t label = sonde_label("gemm", "kernel", 0);
    const uint32_t track = sonde_track("row", 0, 0, 1);
    if (sonde_label_of("gemm", "kernel", 0, 0, "") != label ||
        sonde_label_of("gemm", nullptr, 0, 0, nullptr) != sonde_name("gemm") ||
        sonde_track_of("row", 0, 0, 1, SONDE_TRACK_ROW, nullptr) != track)
      ::_exit(1);
    const sonde_arg where[] = {sonde_arg_track(track)};
    sonde_complete(label, 5, 8, where, 1);
  });
  // The shorter definitions, which older libraries make, too.
  ASSERT_EQ(seen.size(), 1u);
  const auto label = NameAt(seen[0].head.id);
  ASSERT_TRUE(label);
  EXPECT_EQ(label->cls, 0u);
  EXPECT_EQ(label->source, 0u);
  const auto track = NameAt(ArgAt(seen[0], 2).key);
  ASSERT_TRUE(track);
  EXPECT_EQ(track->track_kind, 0u);
  EXPECT_EQ(track->source, 0u);
}

TEST_F(ApiTest, TheSameTextHasTheSameIdFromEveryThread) {
  ASSERT_EQ(RunTarget(session,
                      [] {
                        uint32_t ids[4][2000];
                        std::vector<std::thread> threads;
                        for (auto& mine : ids)
                          threads.emplace_back([&mine] {
                            for (int i = 0; i < 2000; ++i) {
                              const std::string text =
                                  "name " + std::to_string(i);
                              mine[i] = sonde_name(text.c_str());
                              sonde_begin(mine[i]);
                            }
                          });
                        for (auto& thread : threads) thread.join();
                        for (int i = 0; i < 2000; ++i) {
                          const std::string text = "name " + std::to_string(i);
                          const uint32_t id = sonde_name(text.c_str());
                          if (id == 0 || id != sonde_name(text.c_str()))
                            ::_exit(1);
                        }
                      }),
            0);
  ASSERT_EQ(seen.size(), 8000u);
  std::map<uint32_t, int> next;
  for (const Seen& one : seen)
    ASSERT_EQ(NameIn(session, one.head.id),
              "name " + std::to_string(next[one.thread]++));
}

TEST_F(ApiTest, WhenNamesHaveNoRoomRecordsGoOnWithoutThem) {
  RunTarget(session, [] {
    const std::string rest(1000, '.');
    uint32_t late = 1;
    for (int i = 0; i < 6000; ++i)
      late = sonde_name((std::to_string(i) + rest).c_str());
    if (late != 0) ::_exit(1);
    sonde_begin(late);
  });
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].head.id, 0u);
  EXPECT_GT(session.rings.begin()->second->reader.header().names_lost, 1000u);
}

// Fault 23: what programs say by mistake.
TEST_F(ApiTest, NonsenseIsTakenAndDoesNoHarm) {
  ASSERT_EQ(
      RunTarget(
          session,
          [] {
            for (int i = 0; i < 3; ++i) SONDE_END();
            if (sonde_name(nullptr) != 0 || sonde_name("") != 0) ::_exit(1);
            const uint32_t bytes = sonde_name_n("\xff\xfe\0x", 4);
            sonde_label(nullptr, nullptr, 0);
            sonde_track(nullptr, 99, 98, 0);
            sonde_clock_pair(sonde_clock(nullptr, 0), 0);
            const sonde_arg args[] = {sonde_arg_make(0, 0, 0, nullptr),
                                      sonde_arg_make(7, 999, 7, nullptr),
                                      sonde_arg_text(bytes, nullptr),
                                      sonde_arg_bytes(77, nullptr, 1 << 30),
                                      sonde_arg_track(12345)};
            sonde_begin_args(~0u, args, 5);
            sonde_end_args(nullptr, 0);
            sonde_range_end(1);
            const uint64_t words[] = {1, 2, 3};
            for (const uint32_t kind : {0u, 300u, uint32_t{SONDE_KIND_LOST}})
              sonde_record(kind, 1, words, 3, nullptr, 0);
            sonde_record(SONDE_KIND_INSTANT, 1, words, 1000, nullptr, 0);
            sonde_thread_name(nullptr);
            SONDE_INSTANT("after");
          }),
      0);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(NameIn(session, seen.back().head.id), "after");
  EXPECT_EQ(seen.back().head.depth, 0);
  EXPECT_EQ(Count(SONDE_KIND_LOST), 0u);
  EXPECT_EQ(session.damaged(), 0u);
}

TEST_F(ApiTest, ThreadsAndProcessesHaveNames) {
  RunTarget(session, [] {
    sonde_process_name("trainer");
    sonde_thread_name("loader 3");
    sonde_thread_name(nullptr);
  });
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].head.kind, SONDE_KIND_PROCESS_NAME);
  EXPECT_EQ(NameIn(session, seen[0].head.id), "trainer");
  EXPECT_EQ(seen[1].head.kind, SONDE_KIND_THREAD_NAME);
  EXPECT_EQ(NameIn(session, seen[1].head.id), "loader 3");
  EXPECT_EQ(seen[2].head.id, 0u);
}

TEST_F(ApiTest, ScopesBeginAndEnd) {
  RunTarget(session, [] {
    static Name name("step", "training");
    {
      const Scope step(name, {{"batch", 32}, {"loss", 0.5}, {"mode", "train"}});
      SONDE_SCOPE("inner");
    }
    Range range(name);
    Range moved(std::move(range));
    SONDE_END();  // of nothing
  });
  ASSERT_EQ(seen.size(), 7u);
  EXPECT_EQ(seen[0].head.kind, SONDE_KIND_BEGIN);
  EXPECT_EQ(seen[0].words.size(), 6u);
  EXPECT_EQ(seen[1].head.depth, 1);
  EXPECT_EQ(NameIn(session, seen[1].head.id), "inner");
  EXPECT_EQ(seen[2].head.kind, SONDE_KIND_END);
  EXPECT_EQ(seen[3].head.depth, 0);
  EXPECT_EQ(seen[4].head.kind, SONDE_KIND_RANGE_BEGIN);
  EXPECT_EQ(seen[5].head.depth, 0);
  EXPECT_EQ(seen[6].head.kind, SONDE_KIND_RANGE_END);
}

}  // namespace
}  // namespace sonde

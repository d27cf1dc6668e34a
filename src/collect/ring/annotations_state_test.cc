// Whoever goes on from a state, goes on as if nothing had happened.

#include "tools/annotations_records.h"
#include "trace/text_writer.h"

namespace sonde {
namespace {

// Records of two threads that leave something open at nearly every moment.
struct Script {
  uint32_t key;
  Words words;
};
std::vector<Script> MixedScript(uint32_t step, uint32_t load, uint32_t clock,
                                uint32_t track) {
  const uint64_t on_track = ArgWord(track, SONDE_ARG_TRACK, 0, 0);
  const uint32_t full = static_cast<uint32_t>(LostWhy::kFull);
  return {
      {1, Rec(SONDE_KIND_CLOCK_PAIR, 50, 0, 0, {clock, 1000})},
      {1, Rec(SONDE_KIND_BEGIN, 100, step, 0,
              {ArgWord(load, SONDE_ARG_INT, 1, 0), 42})},
      {2, Rec(SONDE_KIND_RANGE_BEGIN, 105, load, 0, {77})},
      {1, Rec(SONDE_KIND_BEGIN, 110, load, 1)},
      {2, Rec(SONDE_KIND_RANGE_BEGIN, 115, load, 0, {78})},
      {1, Rec(SONDE_KIND_BEGIN, 118, load, 2, {on_track})},
      {1, Rec(SONDE_KIND_COUNTER_ADD, 120, load, 0, {5})},
      {2, Rec(SONDE_KIND_LOST, 125, full, 0, {3, 121, 124})},
      {2, Rec(SONDE_KIND_RANGE_END, 130, 0, 0, {77})},
      {1, Rec(SONDE_KIND_COMPLETE, 140, load, 0, {1002, 1003, on_track})},
      {2, Rec(SONDE_KIND_COUNTER_ADD, 150, load, 0, {5})},
      {1, Rec(SONDE_KIND_END, 160, 0, 1)},
      {2, Rec(SONDE_KIND_LOST, 165, full, 0, {4, 161, 164})},
      {1, Rec(SONDE_KIND_END, 170, 0, 2, {on_track})},
      {2, Rec(SONDE_KIND_RANGE_BEGIN, 180, load, 0, {79})},
      {1, Rec(SONDE_KIND_END, 190, 0, 0)},
      {2, Rec(SONDE_KIND_RANGE_END, 200, 0, 0, {79})},
  };
}

TEST_F(AnnotationsTest, AnotherGoesOnFromAnyMomentAsIfNothingHadHappened) {
  RingName named;
  named.kind = NameKind::kClock;
  named.name = load;
  named.ticks_per_second = 1'000'000;
  const uint32_t clock = Define(named);
  named.kind = NameKind::kTrack;
  named.name = step;
  named.clock = clock;
  const uint32_t track = Define(named);
  const uint32_t call = LabelOf(SONDE_CLASS_CALL, Text("calls"));
  const std::vector<Script> script = MixedScript(call, load, clock, track);
  std::string whole;
  for (size_t cut = 0; cut <= script.size(); ++cut) {
    bytes = std::make_shared<std::string>();
    out = TraceWriter::CreateInMemory({}, bytes);
    said = New();
    for (size_t i = 0; i < script.size(); ++i) {
      said->Take(script[i].key, script[i].key + 2, 1000, script[i].words);
      said->EndPass(script[i].words[0]);  // the newest one is held back
      if (i + 1 != cut) continue;
      StateArchive saved;
      said->Archive(saved);
      said = New();
      const std::string state = saved.Take();
      StateArchive restored(state, Limits());
      said->Archive(restored);
      ASSERT_TRUE(restored.ok() && restored.AtEnd()) << "behind record " << i;
    }
    said->ProcessEnded(500);
    EXPECT_EQ(said->records(), script.size());
    EXPECT_EQ(said->strange(), 0u);
    CHECK(out->Close().ok());
    const std::string text =
        TextOf(TraceReader::OpenBytes(bytes, "made").Take());
    if (cut == 0) whole = text;
    EXPECT_EQ(text, whole) << "cut behind record " << cut;
  }
}

TEST_F(AnnotationsTest, SlicesOfTheProgramAreSavedAsTheyAlwaysWere) {
  OpenSlice slice;
  slice.depth = 3;
  StateArchive saved;
  slice.Archive(saved);
  EXPECT_EQ(saved.Take(), std::string("\0\0\0\3\0\0\0", 7));
}

TEST_F(AnnotationsTest, AStateThatCannotBeIsRefused) {
  said->Take(1, 3, 1000,
             Rec(SONDE_KIND_BEGIN, 100, LabelOf(1, Text("calls")), 0) +
                 Rec(SONDE_KIND_COUNTER, 110, load, 0, {1}) +
                 Rec(SONDE_KIND_RANGE_BEGIN, 120, load, 0, {5}));
  said->EndPass(UINT64_MAX);
  StateArchive saved;
  said->Archive(saved);
  const std::string state = saved.Take();
  const auto accepts = [&](std::string_view input, const StateLimits& limits) {
    StateArchive archive(input, limits);
    New()->Archive(archive);
    return archive.ok() && archive.AtEnd();
  };
  EXPECT_TRUE(accepts(state, Limits()));
  for (size_t size = 0; size < state.size(); ++size)
    EXPECT_FALSE(accepts(std::string_view(state).substr(0, size), Limits()));
  // Ids beyond what the trace has.
  for (uint32_t StateLimits::*limit :
       {&StateLimits::strings, &StateLimits::tracks, &StateLimits::series,
        &StateLimits::groups}) {
    StateLimits fewer = Limits();
    fewer.*limit = 0;
    EXPECT_FALSE(accepts(state, fewer));
  }
}

}  // namespace
}  // namespace sonde

// Reads hostile bytes as a trace and decodes all there is.
//
// The first byte chooses: bytes as they are, whose frames are mutated with
// their checksums (mutate_frames.h), or a list of payloads from which valid
// frames are made. Property: a prefix of a whole file gives a prefix of its
// frames.

#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "mutate_frames.h"
#include "trace/reader.h"
#include "trace/tables.h"
#include "trace/text_writer.h"

namespace sonde {
namespace {

// Input of the second mode: (kind:u8 flags:u8 length:u16 payload)*. Flag 1
// compresses, flag 2 counts the sequence number twice.
std::string FramesFrom(std::string_view input) {
  FileHeader header;
  std::string file = header.Encode();
  uint32_t sequence = 0;
  while (input.size() >= 4) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(input[i]); };
    const size_t length =
        std::min<size_t>(byte(2) + size_t{byte(3)} * 256, input.size() - 4);
    file += EncodeFrame(static_cast<FrameKind>(byte(0)), sequence,
                        input.substr(4, length), (byte(1) & 1) != 0);
    sequence += (byte(1) & 2) ? 0 : 1;
    input.remove_prefix(4 + length);
  }
  return file;
}

std::vector<uint32_t> Explore(const std::string& file) {
  auto opened =
      TraceReader::OpenBytes(std::make_shared<std::string>(file), "input");
  std::vector<uint32_t> sequences;
  if (!opened.ok()) return sequences;
  const TraceReader& trace = opened.value();
  std::string payload;
  for (const FrameRef& frame : trace.frames()) {
    sequences.push_back(frame.sequence);
    if (!trace.Read(frame, payload)) continue;
    EventChunkDecoder events;
    if (frame.kind == FrameKind::kEvents && events.Open(payload)) {
      EventColumns columns;
      if (events.Decode(kMaskAll, columns))
        for (size_t i = 0; i < columns.size(); ++i) {
          const Event event = columns.At(i);
          CHECK(event.dur_ns >= 0 && event.begin_ns >= events.info().begin_ns &&
                event.begin_ns + event.dur_ns <= events.info().end_ns &&
                event.depth <= events.info().max_depth);
        }
      std::vector<NameAggregate> aggregates;
      if (events.Aggregates(aggregates)) {
        NameAggregate sum;
        for (const NameAggregate& row : aggregates) sum.Merge(row);
        sum.Quantile(0.5);
      }
      std::vector<LodRow> lod;
      for (bool coarse : {false, true})
        if (events.Lod(coarse, lod))
          for (const LodRow& row : lod)
            CHECK(row.depth <= events.info().max_depth);
    }
    CounterChunkDecoder counters;
    if (frame.kind == FrameKind::kCounters && counters.Open(payload)) {
      CounterTicks ticks;
      if (counters.Decode(ticks) && ticks.size() > 0) {
        CHECK(ticks.changed_end.back() == ticks.changes.size());
        CHECK(ticks.gone_end.back() == ticks.gone.size());
      }
      std::vector<SeriesAggregate> aggregates;
      (void)counters.Aggregates(aggregates);
    }
    TotalsPart totals;
    if (frame.kind == FrameKind::kTotals && DecodeTotals(payload, totals))
      DecodeRows<TrackTotal>(totals.rows, [](const TrackTotal&) {});
  }
  size_t written = 0;
  (void)WriteText(trace, [&](std::string_view piece) -> Status {
    written += piece.size();
    if (written > (16 << 20)) return Error{Error::Kind::kIo, "enough"};
    return Ok();
  });
  return sequences;
}

// True if something in the file looks like a frame within a frame: when the
// outer one is cut, nobody can tell.
bool HasFramesInFrames(const std::string& file) {
  const std::string_view magic(reinterpret_cast<const char*>(kFrameMagic),
                               sizeof(kFrameMagic));
  size_t at = kFileHeaderSize;
  while (const auto header = FrameHeader::Decode(
             std::string_view(file).substr(std::min(at, file.size())))) {
    const size_t end = at + kFrameHeaderSize + header->length;
    if (file.find(magic, at + 1) < end) return true;
    at = end;
  }
  return at != file.size();
}

void CheckPrefix(const std::string& file, size_t cut) {
  const std::vector<uint32_t> all = Explore(file);
  if (HasFramesInFrames(file)) return;
  const std::vector<uint32_t> some = Explore(file.substr(0, cut));
  // Frames are listed by number, so a prefix's are among them in that order.
  size_t at = 0;
  for (uint32_t sequence : some) {
    while (at < all.size() && all[at] != sequence) ++at;
    CHECK(at < all.size());
    ++at;
  }
}

}  // namespace
}  // namespace sonde

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int seed) {
  return size > 0 && data[0] == 'b'
             ? sonde::MutateFrames(data, size, max_size, 4, seed)
             : LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view rest = input.substr(4);
  const std::string file =
      data[0] == 'b' ? std::string(rest) : sonde::FramesFrom(rest);
  const size_t cut = data[1] + size_t{data[2]} * 256 + size_t{data[3]} * 65536;
  sonde::CheckPrefix(file, cut % (file.size() + 1));
  return 0;
}

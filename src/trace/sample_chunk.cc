// The payload of a kSamples frame:
//
//     count first_ordinal begin end-begin
//     columns
//
// kTime holds the differences from sample to sample, the first from `begin`:
// signed, since samples of several cores come a little out of order.

#include "trace/sample_chunk.h"

#include <algorithm>

#include "base/check.h"

namespace sonde {
namespace {

uint8_t Id(SampleColumn column) { return static_cast<uint8_t>(column); }

// One value of each sample, as varints, or as one value if all are equal.
template <typename Get>
void PutColumn(SampleColumn column, std::span<const Sample> samples,
               std::string& scratch, ColumnWriter& out, Get get) {
  const uint64_t first = get(samples[0]);
  if (std::all_of(samples.begin(), samples.end(),
                  [&](const Sample& s) { return get(s) == first; })) {
    if (first != 0) out.AddConstant(Id(column), first);
    return;
  }
  out.Add(Id(column), ToVarints(samples.data(), samples.size(), scratch, get));
}

}  // namespace

void SampleChunkInfo::Encode(ByteWriter& out) const {
  out.Varint(count);
  out.Varint(first_ordinal);
  out.Signed(begin_ns);
  out.Varint(static_cast<uint64_t>(end_ns) - static_cast<uint64_t>(begin_ns));
}

bool SampleChunkInfo::Decode(ByteReader& in) {
  count = in.Varint32();
  first_ordinal = in.Varint();
  begin_ns = in.Signed();
  end_ns = static_cast<int64_t>(static_cast<uint64_t>(begin_ns) + in.Varint());
  return in.ok() && count > 0 && count <= kMaxChunkEvents &&
         begin_ns >= -kMaxTimeNs && end_ns >= begin_ns && end_ns <= kMaxTimeNs;
}

std::string EncodeSampleChunk(std::span<const Sample> samples,
                              CompressionMemory& memory,
                              SampleChunkInfo& info) {
  CHECK(!samples.empty() && samples.size() <= kMaxChunkEvents);
  info.count = static_cast<uint32_t>(samples.size());
  info.begin_ns = info.end_ns = samples[0].time_ns;
  for (const Sample& s : samples) {
    info.begin_ns = std::min(info.begin_ns, s.time_ns);
    info.end_ns = std::max(info.end_ns, s.time_ns);
  }
  ColumnWriter columns(memory);
  std::string scratch;
  int64_t before = info.begin_ns;
  columns.Add(
      Id(SampleColumn::kTime),
      ToVarints(samples.data(), samples.size(), scratch, [&](const Sample& s) {
        const int64_t step = s.time_ns - before;
        before = s.time_ns;
        return ZigZag(step);
      }));
  PutColumn(SampleColumn::kThread, samples, scratch, columns,
            [](const Sample& s) { return uint64_t{s.thread}; });
  PutColumn(SampleColumn::kStack, samples, scratch, columns,
            [](const Sample& s) { return uint64_t{s.stack}; });
  PutColumn(SampleColumn::kWeight, samples, scratch, columns,
            [](const Sample& s) { return s.weight_ns; });
  PutColumn(SampleColumn::kFlags, samples, scratch, columns,
            [](const Sample& s) { return uint64_t{s.flags}; });
  ByteWriter payload;
  info.Encode(payload);
  columns.AppendTo(payload);
  return payload.Take();
}

bool DecodeSampleChunk(std::string_view payload, std::vector<Sample>& out) {
  ByteReader in(payload);
  SampleChunkInfo info;
  ColumnReader columns;
  if (!info.Decode(in) || !columns.Parse(in)) return false;
  std::string scratch;
  std::vector<uint64_t> values;
  out.assign(info.count, {});
  const auto column = [&](SampleColumn id, auto put) {
    if (!columns.Values(Id(id), info.count, scratch, values)) return false;
    for (size_t i = 0; i < values.size(); ++i) put(out[i], values[i]);
    return true;
  };
  uint64_t now = static_cast<uint64_t>(info.begin_ns);
  const bool whole =
      column(SampleColumn::kTime,
             [&](Sample& s, uint64_t v) {
               now += static_cast<uint64_t>(UnZigZag(v));
               s.time_ns = static_cast<int64_t>(now);
             }) &&
      column(
          SampleColumn::kThread,
          [](Sample& s, uint64_t v) { s.thread = static_cast<uint32_t>(v); }) &&
      column(
          SampleColumn::kStack,
          [](Sample& s, uint64_t v) { s.stack = static_cast<uint32_t>(v); }) &&
      column(SampleColumn::kWeight,
             [](Sample& s, uint64_t v) { s.weight_ns = v; }) &&
      column(SampleColumn::kFlags,
             [](Sample& s, uint64_t v) { s.flags = static_cast<uint8_t>(v); });
  return whole && std::all_of(out.begin(), out.end(), [&](const Sample& s) {
           return s.time_ns >= info.begin_ns && s.time_ns <= info.end_ns;
         });
}

}  // namespace sonde

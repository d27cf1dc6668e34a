#include "trace/aggregate.h"

#include <algorithm>
#include <cmath>

namespace sonde {

void Histogram::Add(uint32_t bucket, uint64_t count) {
  const auto at = std::lower_bound(
      buckets_.begin(), buckets_.end(), bucket,
      [](const auto& entry, uint32_t b) { return entry.first < b; });
  if (at != buckets_.end() && at->first == bucket)
    at->second += count;
  else
    buckets_.insert(at, {static_cast<uint8_t>(bucket), count});
}

void Histogram::Merge(const Histogram& other) {
  for (const auto& [bucket, count] : other.buckets_) Add(bucket, count);
}

uint64_t NameAggregate::Quantile(double share) const {
  const auto& buckets = durations.buckets();
  double total = 0;
  for (const auto& entry : buckets) total += static_cast<double>(entry.second);
  if (!(total > 0) || min > max) return 0;
  // The rank of the one that is looked for: 1 is the shortest.
  const double rank = std::clamp(std::ceil(share * total), 1.0, total);
  if (rank == 1) return min;
  if (rank == total) return max;
  double before = 0;
  for (const auto& [bucket, entries] : buckets) {
    const double hits = static_cast<double>(entries);
    if (before + hits < rank) {
      before += hits;
      continue;
    }
    const uint64_t low = std::max(min, Histogram::LowerBound(bucket));
    const uint64_t high = bucket + 1 < Histogram::kBuckets
                              ? std::min(max, Histogram::LowerBound(bucket + 1))
                              : max;
    const double inside = (rank - before - 0.5) / hits;
    return std::clamp(
        low + static_cast<uint64_t>(
                  inside * static_cast<double>(high < low ? 0 : high - low)),
        min, max);
  }
  return max;
}

void NameAggregate::Merge(const NameAggregate& other) {
  count += other.count;
  sum += other.sum;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  // Wraps instead of overflowing on the sums a damaged file may claim.
  self = static_cast<int64_t>(static_cast<uint64_t>(self) +
                              static_cast<uint64_t>(other.self));
  durations.Merge(other.durations);
}

void NameAggregate::Encode(ByteWriter& out) const {
  out.Varint(name);
  out.Varint(count);
  out.Varint(sum);
  out.Varint(min);
  out.Varint(max);
  out.Signed(self);
  out.Varint(durations.buckets().size());
  for (const auto& [bucket, hits] : durations.buckets()) {
    out.Varint(bucket);
    out.Varint(hits);
  }
}

bool NameAggregate::Decode(ByteReader& in) {
  name = in.Varint32();
  count = in.Varint();
  sum = in.Varint();
  min = in.Varint();
  max = in.Varint();
  self = in.Signed();
  const uint64_t buckets = in.Varint();
  if (buckets > Histogram::kBuckets) return false;
  for (uint64_t i = 0; i < buckets && in.ok(); ++i) {
    const uint64_t bucket = in.Varint();
    if (bucket >= Histogram::kBuckets) return false;
    durations.Add(static_cast<uint32_t>(bucket), in.Varint());
  }
  return in.ok() && count > 0 && min <= max;
}

void SeriesAggregate::Encode(ByteWriter& out) const {
  out.Varint(series);
  out.Varint(count);
  out.Signed(first_ns);
  out.Varint(static_cast<uint64_t>(last_ns - first_ns));
  for (double v : {first, last, min, max, integral}) out.Double(v);
}

bool SeriesAggregate::Decode(ByteReader& in) {
  series = in.Varint32();
  count = in.Varint();
  first_ns = in.Signed();
  last_ns = static_cast<int64_t>(static_cast<uint64_t>(first_ns) + in.Varint());
  for (double* v : {&first, &last, &min, &max, &integral}) *v = in.Double();
  return in.ok();
}

}  // namespace sonde

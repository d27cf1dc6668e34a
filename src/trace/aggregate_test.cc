#include "trace/aggregate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace sonde {
namespace {

TEST(Histogram, BucketsCoverAllDurationsInOrder) {
  EXPECT_EQ(Histogram::LowerBound(0), 0u);
  EXPECT_EQ(Histogram::BucketOf(UINT64_MAX), Histogram::kBuckets - 1u);
  for (uint32_t b = 0; b < Histogram::kBuckets; ++b) {
    const uint64_t low = Histogram::LowerBound(b);
    EXPECT_EQ(Histogram::BucketOf(low), b);
    if (b > 0) {
      EXPECT_EQ(Histogram::BucketOf(low - 1), b - 1);
    }
    // A quarter of an octave, above the first few.
    if (b >= 8 && b + 1 < Histogram::kBuckets) {
      const double width =
          static_cast<double>(Histogram::LowerBound(b + 1) - low);
      EXPECT_LE(width / static_cast<double>(low), 0.25);
    }
  }
}

NameAggregate Of(const std::vector<uint64_t>& durations) {
  NameAggregate out;
  for (uint64_t ns : durations) {
    ++out.count;
    out.sum += ns;
    out.min = std::min(out.min, ns);
    out.max = std::max(out.max, ns);
    out.self += static_cast<int64_t>(ns / 2);
    out.durations.Add(Histogram::BucketOf(ns), 1);
  }
  return out;
}

TEST(NameAggregate, AQuantileIsNearTheTruth) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> durations;
  for (int i = 0; i < 10000; ++i)
    durations.push_back((random() % 1000000) * (random() % 1000) + 8);
  const NameAggregate sum = Of(durations);
  std::sort(durations.begin(), durations.end());
  for (double share : {0.01, 0.5, 0.9, 0.99}) {
    const double exact = static_cast<double>(
        durations[static_cast<size_t>(std::ceil(share * 10000)) - 1]);
    const double got = static_cast<double>(sum.Quantile(share));
    EXPECT_LE(std::fabs(got - exact) / exact, 0.05) << share;
  }
  EXPECT_EQ(NameAggregate().Quantile(0.5), 0u);
}

TEST(NameAggregate, TheShortestAndTheLongestAreExact) {
  EXPECT_EQ(Of({2'000'000'000, 4'000'000'000}).Quantile(0.5), 2'000'000'000u);
  EXPECT_EQ(Of({2'000'000'000, 4'000'000'000}).Quantile(0.99), 4'000'000'000u);
  EXPECT_EQ(Of({7}).Quantile(0.5), 7u);
}

TEST(NameAggregate, OfLikeDurationsTheNinetyNinthPercentileIsNotBelowTheMean) {
  // All but a few lie at the upper end of a bucket of a quarter of an octave.
  std::vector<uint64_t> durations(300, 10'400'000);
  for (uint64_t i = 0; i < 5; ++i) durations.push_back(9'000'000 + i * 100'000);
  for (uint64_t i = 0; i < 100; ++i) durations.push_back(10'450'000 + i * 300);
  const NameAggregate sum = Of(durations);
  EXPECT_GE(sum.Quantile(0.99), sum.sum / sum.count);
  EXPECT_LE(sum.Quantile(0.99), sum.max);
}

std::string Encoded(const NameAggregate& row) {
  ByteWriter out;
  row.Encode(out);
  return out.Take();
}

TEST(NameAggregate, PartsMergedAreTheWhole) {
  const std::vector<uint64_t> a = {2, 100, 5000, 7}, b = {1, 100, 1u << 30};
  std::vector<uint64_t> all = a;
  all.insert(all.end(), b.begin(), b.end());
  NameAggregate merged = Of(a);
  merged.Merge(Of(b));
  // Halves were cut off in self, alike in parts and whole.
  EXPECT_EQ(Encoded(merged), Encoded(Of(all)));
  NameAggregate with_nothing = Of(a);
  with_nothing.Merge(NameAggregate());
  EXPECT_EQ(Encoded(with_nothing), Encoded(Of(a)));
}

TEST(NameAggregate, ReadsBackAndRefusesEveryTruncation) {
  const std::string bytes = Encoded(Of({1, 50, 50, 1u << 20}));
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    ByteReader in(std::string_view(bytes).substr(0, cut));
    NameAggregate row;
    ASSERT_EQ(row.Decode(in), cut == bytes.size()) << cut;
    if (cut == bytes.size()) {
      EXPECT_EQ(Encoded(row), bytes);
    }
  }
}

TEST(SeriesAggregate, ReadsBackAndRefusesEveryTruncation) {
  const SeriesAggregate row{3, 4, -5, 10, 1.5, 2.5, -1, 9, 77.25};
  ByteWriter out;
  row.Encode(out);
  for (size_t cut = 0; cut <= out.bytes().size(); ++cut) {
    ByteReader in(std::string_view(out.bytes()).substr(0, cut));
    SeriesAggregate got;
    ASSERT_EQ(got.Decode(in), cut == out.bytes().size()) << cut;
    if (cut < out.bytes().size()) continue;
    EXPECT_EQ(got.series, 3u);
    EXPECT_EQ(got.first_ns, -5);
    EXPECT_EQ(got.last_ns, 10);
    EXPECT_EQ(got.integral, 77.25);
  }
}

}  // namespace
}  // namespace sonde

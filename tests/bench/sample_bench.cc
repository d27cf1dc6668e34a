// What samples cost: finding a stack again, and a sample in the file. One JSON
// object a line; see `bench` in sonde.sh.
//
// The stream is made up, from a fixed seed: 64 threads, 20 000 different stacks
// of 40 frames chosen by Zipf's law, a sample of each thread about 199 times a
// second.

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "trace/sample_chunk.h"
#include "trace/stack_table.h"

namespace sonde {
namespace {

constexpr uint32_t kThreads = 64;
constexpr size_t kStacks = 20'000, kDepth = 40;
constexpr int kRounds = 5;

int64_t CpuNs() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

bool Report(const char* bar, double value, const char* unit, double limit,
            bool at_most, const std::string& peers) {
  const bool ok = at_most ? value <= limit : value >= limit;
  fmt::print(
      "{{\"bar\":\"{}\",\"value\":{:.4g},\"unit\":\"{}\",\"limit\":{},"
      "\"ok\":{},\"peers\":{{{}}}}}\n",
      bar, value, unit, limit, ok, peers);
  std::fflush(stdout);
  return ok;
}

using Stack = std::vector<StackFrame>;

// Stacks share their outer frames, as those of a program do.
std::vector<Stack> MakeStacks(std::mt19937_64& random) {
  std::vector<Stack> out;
  for (size_t i = 0; i < kStacks; ++i) {
    Stack stack;
    if (i > 0) {
      const Stack& like = out[random() % i];
      stack.assign(like.begin(),
                   like.begin() + static_cast<ptrdiff_t>(random() % kDepth));
    }
    while (stack.size() < kDepth) {
      StackFrame frame;
      frame.module = static_cast<uint32_t>(1 + random() % 50);
      frame.offset = random() % (8 << 20);
      stack.push_back(frame);
    }
    out.push_back(std::move(stack));
  }
  return out;
}

// Which stack each sample has: the n-th most frequent 1/n as often as the
// first.
std::vector<uint32_t> Choose(size_t count, std::mt19937_64& random) {
  std::vector<double> sums;
  for (size_t i = 0; i < kStacks; ++i)
    sums.push_back((i ? sums.back() : 0) + 1 / static_cast<double>(i + 1));
  std::uniform_real_distribution<double> any(0, sums.back());
  std::vector<uint32_t> out(count);
  for (uint32_t& one : out)
    one = static_cast<uint32_t>(
        std::lower_bound(sums.begin(), sums.end(), any(random)) - sums.begin());
  return out;
}

bool Intern(const std::vector<Stack>& stacks,
            const std::vector<uint32_t>& chosen) {
  std::vector<double> found_ns, missed_ns;
  for (int round = 0; round < kRounds; ++round) {
    StackTable table;
    int64_t start = CpuNs();
    for (const Stack& stack : stacks) table.AddStack(stack);
    missed_ns.push_back(static_cast<double>(CpuNs() - start) /
                        static_cast<double>(stacks.size()));
    uint64_t sum = 0;
    start = CpuNs();
    for (const uint32_t one : chosen) sum += table.AddStack(stacks[one]);
    found_ns.push_back(static_cast<double>(CpuNs() - start) /
                       static_cast<double>(chosen.size()));
    asm volatile("" ::"r"(sum));
  }
  return Report("intern_ns", Median(found_ns), "ns", 300, true,
                fmt::format("\"a new stack, ns\":{:.0f}", Median(missed_ns)));
}

bool Encode(const std::vector<uint32_t>& chosen, std::mt19937_64& random) {
  std::vector<Sample> samples(chosen.size());
  int64_t now_ns = 1'000'000'000;
  for (size_t i = 0; i < samples.size(); ++i) {
    // About evenly, each a little early or late.
    now_ns +=
        static_cast<int64_t>(1e9 / 199 / kThreads * 2 *
                             (static_cast<double>(random() % 1000) / 1e3));
    samples[i].time_ns = now_ns;
    samples[i].thread = static_cast<uint32_t>(1 + random() % kThreads);
    samples[i].stack = 1 + chosen[i];
    samples[i].weight_ns = 1'000'000'000 / 199;
  }
  size_t bytes = 0;
  std::vector<double> rates;
  for (int round = 0; round < kRounds; ++round) {
    CompressionMemory memory;
    bytes = 0;
    const int64_t start = CpuNs();
    for (size_t at = 0; at < samples.size(); at += kMaxChunkEvents) {
      SampleChunkInfo info;
      const size_t count =
          std::min<size_t>(kMaxChunkEvents, samples.size() - at);
      bytes +=
          EncodeSampleChunk(std::span(samples).subspan(at, count), memory, info)
              .size();
    }
    rates.push_back(static_cast<double>(samples.size()) * 1e3 /
                    static_cast<double>(CpuNs() - start));
  }
  const bool fast = Report("sample_encode_meps", Median(rates),
                           "million samples/s", 10, false, "");
  return Report(
             "sample_bytes",
             static_cast<double>(bytes) / static_cast<double>(samples.size()),
             "bytes", 6, true, "") &&
         fast;
}

}  // namespace
}  // namespace sonde

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  std::mt19937_64 random(1);
  const auto stacks = sonde::MakeStacks(random);
  const auto chosen = sonde::Choose(quick ? 50'000 : 4'000'000, random);
  const bool interns = sonde::Intern(stacks, chosen);
  return sonde::Encode(chosen, random) && interns ? 0 : 1;
}

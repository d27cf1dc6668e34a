#include "training_trace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace sonde {
namespace {

constexpr uint32_t kSeriesPerRank = 4;
constexpr uint32_t kSeries = TrainingTrace::kRanks * kSeriesPerRank;

constexpr const char* kNameTexts[TrainingTrace::kNames] = {
    "train_step",      "forward",         "backward",       "optimizer.step",
    "dataloader.next", "layer.attention", "layer.mlp",      "aten::linear",
    "aten::addmm",     "aten::softmax",   "aten::gelu",     "aten::layer_norm",
    "aten::dropout",   "aten::copy_",     "aten::mul_",     "aten::add_",
    "gemm_128x128",    "gemm_64x64",      "flash_fwd",      "flash_bwd",
    "softmax_kernel",  "gelu_kernel",     "norm_kernel",    "adam_kernel",
    "memcpy_h2d",      "memcpy_d2h",      "nccl_allreduce", "nccl_allgather",
    "cudaLaunch",      "cudaSync",
};

// splitmix64: small, fast, and the same everywhere, unlike <random>'s
// distributions.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  // About normal: the sum of four uniforms, scaled to variance 1.
  double Normal() {
    return (Uniform() + Uniform() + Uniform() + Uniform() - 2) * 1.7320508;
  }

 private:
  uint64_t state_;
};

// One slice of a step before jitter.
struct Planned {
  double gap_ns;
  double dur_ns;
  uint8_t name;
};

// The innermost slices of one step. On a host thread ten of them make a layer,
// five layers a phase, three phases the step; on a device queue they stand
// alone.
std::vector<Planned> PlanStep(Random& random, bool host) {
  std::vector<Planned> plan;
  const int leaves = host ? 150 : 200;
  for (int i = 0; i < leaves; ++i) {
    const uint8_t name = static_cast<uint8_t>(host ? 7 + random.Next() % 9
                                                   : 16 + random.Next() % 14);
    plan.push_back({std::exp(7.0 + random.Normal()),
                    std::exp(8.5 + 1.2 * random.Normal()), name});
  }
  return plan;
}

}  // namespace

TrainingTrace::TrainingTrace(uint64_t events, uint64_t seed) {
  Random random(seed);
  const std::array<std::vector<Planned>, 2> plans = {PlanStep(random, true),
                                                     PlanStep(random, false)};
  std::array<int64_t, kSeries> values = {};
  std::array<int64_t, kTracks> now = {};
  records_.reserve(events + 64 * 1024);
  while (records_.size() + tick_values_.size() < events) {
    for (uint32_t track = 0; track < kTracks; ++track) {
      const bool host = track % kTracksPerRank < 2;
      const std::vector<Planned>& plan = plans[host ? 0 : 1];
      // What the open slices of each depth contain so far.
      int64_t step_ns = 0, phase_ns = 0, layer_ns = 0;
      const auto put = [&](double gap, double dur, uint8_t name, uint8_t depth,
                           bool instant) {
        const uint32_t gap_ns = static_cast<uint32_t>(std::max(0.0, gap));
        const uint32_t dur_ns = static_cast<uint32_t>(std::max(0.0, dur));
        records_.push_back({gap_ns, dur_ns, name, depth,
                            static_cast<uint8_t>(track), instant});
      };
      const uint8_t leaf = host ? 3 : 0;
      for (size_t i = 0; i < plan.size(); ++i) {
        const double gap = plan[i].gap_ns * std::exp(0.2 * random.Normal());
        const double dur = plan[i].dur_ns * std::exp(0.2 * random.Normal());
        const int64_t taken =
            static_cast<int64_t>(gap) + static_cast<int64_t>(dur);
        put(gap + dur, dur, plan[i].name, leaf, false);
        step_ns += taken;
        phase_ns += taken;
        layer_ns += taken;
        if (!host) continue;
        if (i % 10 == 9) {
          put(50, static_cast<double>(layer_ns + 50),
              static_cast<uint8_t>(5 + i / 10 % 2), 2, false);
          layer_ns = 0;
          phase_ns += 50;
          step_ns += 50;
        }
        if (i % 50 == 49) {
          put(80, static_cast<double>(phase_ns + 80),
              static_cast<uint8_t>(1 + i / 50 % 3), 1, false);
          phase_ns = 0;
          step_ns += 80;
        }
      }
      if (host) {
        put(100, static_cast<double>(step_ns + 100), 0, 0, false);
        put(500, 0, 4, 0, true);
      }
    }
    tick_places_.push_back(records_.size());
    for (uint32_t s = 0; s < kSeries; ++s) {
      values[s] += static_cast<int64_t>(random.Next() % 2'000'000);
      tick_values_.push_back(values[s]);
    }
  }
  events_ = records_.size() + tick_values_.size();
  for (const Record& record : records_) now[record.track] += record.gap_ns;
  length_ns_ = *std::max_element(now.begin(), now.end()) + 1'000;
}

void TrainingTrace::WriteTo(TraceWriter& writer, uint32_t times) const {
  std::array<uint32_t, kNames> names;
  for (uint32_t i = 0; i < kNames; ++i) names[i] = writer.Intern(kNameTexts[i]);
  std::array<uint32_t, kTracks> tracks;
  std::array<uint32_t, kSeries> series;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    Process process;
    process.number = rank + 1;
    process.pid = static_cast<int32_t>(1000 + rank);
    process.start_ns = 0;
    process.name = writer.Intern("rank" + std::to_string(rank));
    writer.PutProcess(process);
    for (uint32_t i = 0; i < kTracksPerRank; ++i) {
      Track track;
      track.kind = i < 2 ? Track::Kind::kThread : Track::Kind::kCustom;
      track.process = rank + 1;
      track.name = writer.Intern(i < 2 ? "host" : "stream");
      tracks[rank * kTracksPerRank + i] = writer.AddTrack(track);
    }
    for (uint32_t i = 0; i < kSeriesPerRank; ++i) {
      Series row;
      row.group = 1;
      row.scope = Series::Scope::kProcess;
      row.scope_id = rank + 1;
      row.name = writer.Intern("counter" + std::to_string(i));
      row.kind = Series::Kind::kTotal;
      series[rank * kSeriesPerRank + i] = writer.AddSeries(row);
    }
  }
  constexpr int64_t kBegin = 1'000'000'000;
  std::array<int64_t, kTracks> now;
  for (uint32_t round = 0; round < times; ++round) {
    now.fill(kBegin + round * length_ns_);
    size_t tick = 0;
    for (size_t i = 0; i < records_.size(); ++i) {
      const Record& record = records_[i];
      now[record.track] += record.gap_ns;
      Event event;
      event.begin_ns = now[record.track] - record.dur_ns;
      event.dur_ns = record.dur_ns;
      event.name = names[record.name];
      event.depth = record.depth;
      event.kind = record.instant ? Event::Kind::kInstant : Event::Kind::kSlice;
      writer.AddEvent(tracks[record.track], event);
      if (i + 1 != tick_places_[tick]) continue;
      writer.BeginTick(1, now[record.track]);
      for (uint32_t s = 0; s < kSeries; ++s)
        writer.Set(series[s], tick_values_[tick * kSeries + s] +
                                  round * int64_t{1'000'000});
      writer.EndTick();
      ++tick;
    }
  }
}

}  // namespace sonde

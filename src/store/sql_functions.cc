// Table functions: answers computed from sums, not from rows.

#include <algorithm>
#include <array>
#include <map>

#include "store/event_scan.h"
#include "store/lod.h"
#include "store/sql_table.h"

namespace sonde {
namespace {

using Cells = std::vector<SqlValue>;

// A track's number from a parameter; 0 (all) if there is none.
std::optional<uint32_t> TrackOf(std::optional<int64_t> value,
                                std::string& error) {
  if (!value) return 0;
  if (*value < 0 || *value > UINT32_MAX) {
    error = "there is no track " + std::to_string(*value);
    return std::nullopt;
  }
  return static_cast<uint32_t>(*value);
}

// Up to the last moment, which the range of a store includes.
int64_t Behind(int64_t ns) { return ns == INT64_MAX ? ns : ns + 1; }

}  // namespace

// top_ops(t0, t1, track)
std::unique_ptr<SqlRows> OpenTopOps(const Store& store,
                                    const SqlRequest& request,
                                    std::string& error) {
  constexpr int kFirst = 11;
  const auto track = TrackOf(request.Equal(kFirst + 2), error);
  if (!track) return nullptr;
  TimeRange window;
  window.begin_ns = request.Equal(kFirst).value_or(window.begin_ns);
  window.end_ns = request.Equal(kFirst + 1).value_or(window.end_ns);
  std::vector<OpTotal> ops = store.TopOps(window, *track);
  if (request.Late(error)) return nullptr;
  std::array<double, 2> selves = {};  // of the host, of devices
  for (const OpTotal& op : ops)
    selves[op.device] += static_cast<double>(std::max<int64_t>(0, op.self_ns));
  return RowsOf(std::move(ops), [&store, selves](const OpTotal& op) -> Cells {
    const double self = selves[op.device];
    return {TextOrNull(store, op.name),
            Clamped(op.count),
            Clamped(op.total_ns),
            op.self_ns,
            Clamped(op.total_ns / std::max<uint64_t>(1, op.count)),
            Clamped(op.min_ns),
            Clamped(op.max_ns),
            Clamped(op.p50_ns),
            Clamped(op.p99_ns),
            self > 0 ? SqlValue(static_cast<double>(op.self_ns) / self)
                     : SqlValue(),
            int64_t{op.device}};
  });
}

// px(track, t0, t1, n)
std::unique_ptr<SqlRows> OpenPixels(const Store& store,
                                    const SqlRequest& request,
                                    std::string& error) {
  constexpr int kFirst = 6;
  const auto track = TrackOf(request.Equal(kFirst), error);
  if (!track) return nullptr;
  if (*track == 0) {
    error = "which track? px(TRACK, t0, t1, n)";
    return nullptr;
  }
  TimeRange window;
  window.begin_ns = request.Equal(kFirst + 1).value_or(store.range().begin_ns);
  window.end_ns =
      request.Equal(kFirst + 2).value_or(Behind(store.range().end_ns));
  const int64_t width = request.Equal(kFirst + 3).value_or(1000);
  if (width < 1 || width > kMaxPixels) {
    error = "n is from 1 to " + std::to_string(kMaxPixels);
    return nullptr;
  }
  auto pixels = ReadPixels(store, *track, window, static_cast<uint32_t>(width));
  if (request.Late(error)) return nullptr;
  return RowsOf(std::move(pixels), [&store](const Pixel& pixel) -> Cells {
    return {int64_t{pixel.x},
            int64_t{pixel.depth},
            Clamped(pixel.count),
            static_cast<int64_t>(std::min(pixel.busy_ns, 9e18)),
            Clamped(pixel.max_dur_ns),
            TextOrNull(store, pixel.name)};
  });
}

// idle_gaps(min_ns, track)
std::unique_ptr<SqlRows> OpenIdleGaps(const Store& store,
                                      const SqlRequest& request,
                                      std::string& error) {
  constexpr int kFirst = 3;
  struct Gap {
    int64_t begin_ns, dur_ns;
    uint32_t track;
  };
  const int64_t min_ns =
      std::max<int64_t>(1, request.Equal(kFirst).value_or(1));
  const auto track = TrackOf(request.Equal(kFirst + 1), error);
  if (!track) return nullptr;
  EventFilter filter;
  filter.kind = Event::Kind::kSlice;
  if (*track != 0) filter.track = *track;
  EventScan scan(store, filter, kMaskTime | kMaskDepth);
  std::map<uint32_t, int64_t> busy_until;
  std::vector<Gap> gaps;
  while (scan.Next()) {
    if (request.Late(error)) return nullptr;
    const EventColumns& events = scan.events();
    auto [until, fresh] = busy_until.try_emplace(scan.info().track, INT64_MAX);
    for (uint32_t i : scan.wanted()) {
      if (events.depth[i] != 0) continue;
      const int64_t begin = events.end_ns[i] - events.dur_ns[i];
      if (until->second < begin) {
        const uint64_t gap =
            static_cast<uint64_t>(begin) - static_cast<uint64_t>(until->second);
        if (gap >= static_cast<uint64_t>(min_ns))
          gaps.push_back({until->second, Clamped(gap), scan.info().track});
      }
      until->second = until->second == INT64_MAX
                          ? events.end_ns[i]
                          : std::max(until->second, events.end_ns[i]);
    }
  }
  return RowsOf(std::move(gaps), [](const Gap& gap) -> Cells {
    return {gap.begin_ns, gap.dur_ns, int64_t{gap.track}};
  });
}

// series_stats(series)
std::unique_ptr<SqlRows> OpenSeriesStats(const Store& store,
                                         const SqlRequest& request,
                                         std::string& error) {
  constexpr int kFirst = 7;
  const auto wanted = request.Equal(kFirst);
  std::map<uint32_t, SeriesTotal> sums;
  std::vector<SeriesAggregate> rows;
  for (const FrameRef& chunk : store.counter_chunks()) {
    if (request.Late(error)) return nullptr;
    if (!store.ReadSeriesAggregates(chunk, rows)) continue;
    for (const SeriesAggregate& row : rows)
      if (!wanted || row.series == *wanted) AddAggregate(sums, row);
  }
  return RowsOf(std::move(sums), [](const auto& one) -> Cells {
    const SeriesTotal& sum = one.second;
    return {int64_t{one.first}, Clamped(sum.count), sum.min, sum.max,
            sum.Mean(),         sum.first,          sum.last};
  });
}

}  // namespace sonde

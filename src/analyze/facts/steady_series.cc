#include "analyze/facts/steady_series.h"

#include <algorithm>

#include "analyze/series/counter_scan.h"

namespace sonde {
namespace {

constexpr double kMinOwn = 0.20;
constexpr double kMinBytesPerSec = 64e3;

}  // namespace

double SeriesView::At(size_t window, double unknown) const {
  return window < part_.size() && part_.known[window] ? part_.values[window]
                                                      : unknown;
}

double SeriesView::QuantileAt(double q) const {
  return Quantile(part_.KnownValues(), q);
}

SteadySeries::SteadySeries(const Facts& facts, const Steady& steady)
    : facts_(facts) {
  from_ = OnGrid(steady.from_ns);
  to_ = std::max(from_, OnGrid(steady.to_ns));
  of_judged_ =
      std::min(1.0, static_cast<double>(steady.known_ns) / facts.JudgedNs());
  known_.resize(size());
  for (const CpuWindow* w : steady.windows)
    if (const size_t at = WindowOf(w->from_ns, w->to_ns); at < size())
      known_[at] = true;
}

size_t SteadySeries::OnGrid(int64_t time_ns) const {
  const Grid& grid = facts_.series->grid;
  return std::min(grid.size(),
                  static_cast<size_t>(Elapsed(grid.begin_ns, time_ns) /
                                      std::max<int64_t>(1, grid.step_ns)));
}

size_t SteadySeries::WindowOf(int64_t from_ns, int64_t to_ns) const {
  const size_t at = OnGrid(from_ns + Elapsed(from_ns, to_ns) / 2);
  return std::max(at, from_) - from_;
}

SeriesView SteadySeries::Find(std::string_view name) const {
  const RegularSeries* const series = facts_.series->Find(name);
  return series == nullptr ? SeriesView() : Of(*series);
}

SeriesView SteadySeries::OwnPressure() const {
  const SeriesView psi = Find("psi_io");
  const MaybeNumber blocked = OwnBlocked(facts_);
  if (!blocked || psi.Mean() <= *blocked) return psi;
  RegularSeries own = psi.part();
  for (double& value : own.values) value *= *blocked / psi.Mean();
  return SeriesView(std::move(own));
}

SeriesView SteadySeries::Of(const RegularSeries& series) const {
  return SeriesView(series.Part(from_, to_));
}

SeriesView SteadySeries::Computing() const {
  return SeriesView(ComputingOf(*facts_.series).Part(from_, to_));
}

double SteadySeries::ShareWhere(
    const std::function<bool(size_t window)>& test) const {
  size_t count = 0, all = 0;
  for (size_t i = 0; i < size(); ++i) {
    if (!known_[i]) continue;
    ++all;
    count += test(i) ? 1 : 0;
  }
  return all > 0 ? static_cast<double>(count) / static_cast<double>(all) : 0;
}

bool SteadySeries::OwnsDisks() const {
  const double own = Find("tree_read").Mean() + Find("tree_write").Mean();
  const double all = Find("disk_read").Mean() + Find("disk_write").Mean();
  return own >= kMinBytesPerSec && own >= kMinOwn * all;
}

}  // namespace sonde

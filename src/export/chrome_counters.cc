#include "export/chrome_counters.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <unordered_set>

namespace sonde {
namespace {

bool IsCorePart(const Store& store, const Series& series,
                std::string_view name) {
  return !store.OfProgram(series) && series.scope == Series::Scope::kMachine &&
         series.kind == Series::Kind::kTotal &&
         series.type == Series::Type::kInt && series.label != 0 &&
         (name == "cpu_user_ns" || name == "cpu_nice_ns" ||
          name == "cpu_system_ns" || name == "cpu_irq_ns");
}

// "read_bytes" of unit "bytes" is "read": the unit stands beside it.
std::string_view Stem(std::string_view name, std::string_view unit) {
  if (unit.size() > 1 && name.size() > unit.size() + 1 &&
      name.ends_with(unit) && name[name.size() - unit.size() - 1] == '_')
    name.remove_suffix(unit.size() + 1);
  return name;
}

}  // namespace

ChromeCounters::ChromeCounters(const Store& store, const ChromeIds& ids,
                               ChromeEvents& events)
    : store_(store), ids_(ids), events_(events) {
  const std::string started = store.Meta("started_ns");
  if (!started.empty())
    started_ns_ = std::strtoll(started.c_str(), nullptr, 10);
  for (const auto& [id, series] : store.series()) {
    Counter& counter = counters_.emplace_back();
    counter.series = &series;
    if (!IsCorePart(store, series, store.Str(series.name))) continue;
    counter.sum = &sums_[series.label];
    counter.sum->series = &series;
    counter.sum->is_sum = true;
  }
  // Two series that look the same would be drawn as one.
  std::unordered_set<size_t> seen;
  for (Counter& counter : counters_) {
    Describe(counter);
    const size_t look =
        std::hash<std::string>{}(fmt::format("{}/{}/{}", pid_, key_, name_));
    counter.ambiguous = !seen.insert(look).second;
  }
}

uint64_t ChromeCounters::Write(const ExportOptions& options) {
  CounterReplay replay(store_);
  for (uint32_t i = 0; i < counters_.size(); ++i)
    replay.Want(*this, counters_[i].series->id, i);
  while (!(options.cancelled && *options.cancelled) && replay.Next()) {
  }
  // What stood still before the end of the recording must not look busy.
  const auto rest = [&](Counter& counter) {
    const auto last = last_ticks_.find(counter.series->group);
    if (counter.live && last != last_ticks_.end() &&
        last->second > counter.changed_ns)
      Rest(counter);
  };
  for (Counter& counter : counters_) rest(counter);
  for (auto& [label, sum] : sums_) rest(sum);
  return values_;
}

void ChromeCounters::Tick(const CounterTick& tick) {
  int64_t& before = last_ticks_.try_emplace(tick.group, kNoTime).first->second;
  for (const CounterValue& v : tick.values)
    if (!v.repeated) Value(counters_[v.slot], v.bits, tick.time_ns, before);
  for (const CounterValue& v : tick.gone) End(counters_[v.slot], tick.time_ns);
  for (auto& [label, sum] : sums_) {
    if (sum.pending > 0) Grow(sum, sum.pending, tick.time_ns, before);
    sum.pending = 0;
  }
  before = tick.time_ns;
}

void ChromeCounters::Hole(const CounterHole& hole) {
  for (const CounterValue& v : hole.lost) {
    Counter& counter = counters_[v.slot];
    End(counter, hole.last_ns);
    if (counter.sum != nullptr) End(*counter.sum, hole.last_ns);
  }
  last_ticks_[hole.group] = kNoTime;
}

int64_t ChromeCounters::BornNs(const Series& series) const {
  int64_t born = kNoTime;
  if (series.scope == Series::Scope::kProcess) {
    const auto at = store_.processes().find(series.scope_id);
    if (at != store_.processes().end()) born = at->second.start_ns;
  } else if (series.scope == Series::Scope::kThread) {
    const auto at = store_.threads().find(series.scope_id);
    if (at != store_.threads().end()) born = at->second.start_ns;
  }
  return born >= started_ns_ ? born : kNoTime;
}

void ChromeCounters::Begin(Counter& counter, int64_t now_ns) {
  counter.live = true;
  counter.drawn = false;
  counter.since_ns = counter.changed_ns = now_ns;
}

void ChromeCounters::Value(Counter& counter, uint64_t bits, int64_t now_ns,
                           int64_t before_ns) {
  const Series& series = *counter.series;
  const uint64_t last = counter.bits;
  counter.bits = bits;
  if (series.kind != Series::Kind::kTotal) {
    counter.live = counter.drawn = true;
    number_.clear();
    if (series.type == Series::Type::kInt) {
      number_ = std::to_string(static_cast<int64_t>(bits));
    } else {
      const double value = ValueAsDouble(bits, series.type);
      if (!std::isfinite(value)) return;
      AppendNumber(value, number_);
    }
    Put(counter, now_ns);
    return;
  }
  const double value = ValueAsDouble(bits, series.type);
  if (!counter.live) {
    const bool again = counter.since_ns != kNoTime;
    Begin(counter, now_ns);
    if (counter.sum && !counter.sum->live) Begin(*counter.sum, now_ns);
    // The kernel counts from 0 at birth: the time before the first tick is not
    // lost if it was born under our eyes.
    const int64_t born = BornNs(series);
    if (again || born == kNoTime || born >= now_ns) return;
    counter.since_ns = counter.changed_ns = born;
    Grow(counter, value, now_ns, born);
    return;
  }
  const double delta =
      series.type == Series::Type::kInt
          ? static_cast<double>(static_cast<int64_t>(bits - last))
          : value - ValueAsDouble(last, series.type);
  Grow(counter, delta, now_ns, before_ns);
  if (counter.sum && delta > 0) counter.sum->pending += delta;
}

void ChromeCounters::Grow(Counter& counter, double delta, int64_t now_ns,
                          int64_t before_ns) {
  if (counter.changed_ns < before_ns) Rest(counter);
  counter.changed_ns = now_ns;
  // A total that shrank was reset; how much it grew is not known.
  if (before_ns == kNoTime || now_ns <= before_ns || !(delta > 0)) return;
  double rate =
      delta / (static_cast<double>(now_ns) - static_cast<double>(before_ns));
  rate *= store_.Str(counter.series->unit) == "ns" ? 100 : 1e9;
  if (!std::isfinite(rate)) return;
  if (!counter.drawn && counter.since_ns < before_ns)
    ShowRate(counter, counter.since_ns, 0);
  ShowRate(counter, before_ns, rate);
}

// It has not changed since its last change.
void ChromeCounters::Rest(Counter& counter) {
  if (counter.series->kind == Series::Kind::kTotal && counter.drawn &&
      counter.shown != 0)
    ShowRate(counter, counter.changed_ns, 0);
}

void ChromeCounters::End(Counter& counter, int64_t now_ns) {
  if (!counter.live) return;
  if (counter.series->kind == Series::Kind::kTotal) {
    Rest(counter);
  } else if (counter.drawn) {
    number_.assign(1, '0');
    Put(counter, now_ns);
  }
  counter.live = false;
}

void ChromeCounters::ShowRate(Counter& counter, int64_t time_ns, double rate) {
  if (counter.drawn && counter.shown == rate) return;
  counter.drawn = true;
  counter.shown = rate;
  char digits[64];
  const auto end = rate < 1e15
                       ? std::to_chars(digits, digits + sizeof(digits), rate,
                                       std::chars_format::fixed, 3)
                       : std::to_chars(digits, digits + sizeof(digits), rate);
  number_.assign(digits, end.ptr);
  Put(counter, time_ns);
}

// Fills in pid_, name_ and key_.
void ChromeCounters::Describe(const Counter& counter) {
  const Series& series = *counter.series;
  const std::string_view unit = store_.Str(series.unit);
  const std::string_view label = store_.Str(series.label);
  std::string name(Stem(store_.Str(series.name), unit));
  pid_ = ChromeIds::kMachine;
  if (counter.is_sum) {
    name = fmt::format("cpu core {}", label);
  } else {
    if (!label.empty())
      name +=
          fmt::format(" {}{}", name.starts_with("cpu_") ? "core " : "", label);
    if (series.scope == Series::Scope::kProcess) {
      pid_ = ids_.PidOf(series.scope_id);
      const auto& devices = store_.rows().Of<Device>();
      if (const auto at = devices.find(series.device); at != devices.end())
        name += fmt::format(" of device {}", at->second.index);
    } else if (series.scope == Series::Scope::kThread) {
      const auto at = store_.threads().find(series.scope_id);
      if (at != store_.threads().end()) {
        pid_ = ids_.PidOf(at->second.process);
        name += fmt::format(" of thread {} {}", at->second.tid,
                            store_.Str(at->second.name));
      } else {
        name += fmt::format(" of thread #{}", series.scope_id);
      }
    }
  }
  if (counter.ambiguous) name += fmt::format(" #{}", series.id);
  std::string_view key = unit.empty() || unit == "1" ? "value" : unit;
  if (series.kind == Series::Kind::kTotal)
    key = unit == "ns" ? "%" : unit == "bytes" ? "bytes/s" : "per s";
  name_.clear();
  AppendJson(name, name_);
  key_.clear();
  AppendJson(key, key_);
}

void ChromeCounters::Put(const Counter& counter, int64_t time_ns) {
  Describe(counter);
  events_.Counter(pid_, name_, key_, time_ns, number_);
  ++values_;
}

}  // namespace sonde

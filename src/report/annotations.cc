#include "report/annotations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/text.h"

namespace sonde {
namespace {

constexpr size_t kNamesOfATrack = 4;

// "augment 60.1 %, forward 20.0 %, and 3 more"
std::string TopNames(const std::vector<SliceFacts>& slices) {
  std::string out;
  const size_t shown = RowsShown(slices.size(), kNamesOfATrack);
  for (size_t i = 0; i < shown; ++i)
    out += fmt::format("{}{} {}", i == 0 ? "" : ", ",
                       Printable(slices[i].name, 24),
                       FormatShare(slices[i].share));
  if (shown < slices.size())
    out += fmt::format(", and {} more", slices.size() - shown);
  return out;
}

// In seven columns, whatever it is.
std::string Count(uint64_t count) {
  if (count < 10'000'000) return std::to_string(count);
  const double millions = static_cast<double>(count) / 1e6;
  return fmt::format("{:.{}f} M", millions, millions < 1000 ? 1 : 0);
}

std::string Value(double value) {
  return value == std::floor(value) && std::abs(value) < 1e15
             ? fmt::format("{:.0f}", value)
             : fmt::format("{:.4g}", value);
}

}  // namespace

Lines SliceLines(const Facts& facts, size_t top) {
  static const std::vector<Column> kTable = {
      {"Slice", 24}, {"count", 8}, {"total", 8}, {"self", 8},
      {"mean", 8},   {"p50", 8},   {"p99", 8},   {"share", 8}};
  Lines out;
  if (facts.said.slices.empty()) return out;
  out.push_back(TitlesOf(kTable));
  const size_t shown = RowsShown(facts.said.slices.size(), top);
  for (size_t i = 0; i < shown; ++i) {
    const SliceFacts& s = facts.said.slices[i];
    const auto ns = [](uint64_t value) {
      return FormatDuration(
          static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX)));
    };
    out.push_back(RowOf(
        kTable,
        {s.name.empty() ? "(no name)" : Printable(s.name, 40), Count(s.count),
         ns(s.total_ns), FormatDuration(s.self_ns), ns(s.mean_ns()),
         ns(s.p50_ns), ns(s.p99_ns), FormatShare(s.share)}));
  }
  if (shown < facts.said.slices.size()) {
    uint64_t count = 0;
    double self_ns = 0, share = 0;
    for (size_t i = shown; i < facts.said.slices.size(); ++i) {
      count += facts.said.slices[i].count;
      self_ns += static_cast<double>(facts.said.slices[i].self_ns);
      share += facts.said.slices[i].share;
    }
    out.push_back(RowOf(
        kTable,
        {fmt::format("and {} more", facts.said.slices.size() - shown),
         Count(count), "-",
         FormatDuration(static_cast<int64_t>(std::min(self_ns, kMaxValue))),
         "-", "-", "-", FormatShare(share)}));
  }
  return out;
}

// What was said while it ran, from the start of the run.
Lines MarkLines(const Facts& facts, size_t top) {
  Lines out;
  if (facts.marks.empty()) return out;
  out.push_back("Mark");
  const size_t shown = RowsShown(facts.marks.size(), top);
  for (size_t i = 0; i < shown; ++i) {
    const Mark& m = facts.marks[i];
    const double seconds =
        static_cast<double>(Elapsed(facts.run.begin_ns, m.time_ns)) / 1e9;
    out.push_back(Cut(
        fmt::format("{:>10.3f} s  {}", seconds, Printable(m.text, kColumns)),
        kColumns));
  }
  if (shown < facts.marks.size())
    out.push_back(fmt::format("and {} more", facts.marks.size() - shown));
  return out;
}

// Which row spent its time where. A single row of the host is the table above.
Lines SliceTrackLines(const Facts& facts, size_t top) {
  Lines out;
  // Rows that have only moments spent no time; they stand last.
  std::span<const TrackSlices> tracks = facts.said.tracks;
  while (!tracks.empty() && tracks.back().self_ns == 0)
    tracks = tracks.first(tracks.size() - 1);
  if (tracks.size() < (facts.said.slices.empty() ? 1 : 2)) return out;
  const size_t shown = RowsShown(tracks.size(), top);
  out.push_back("Where each row of the timeline spent its time");
  for (size_t i = 0; i < shown; ++i) {
    const TrackSlices& t = tracks[i];
    const std::string name =
        fmt::format("{}{} {}", t.process, t.thread != 0 ? " thread" : "",
                    t.name.empty() ? "?" : Printable(t.name, 20));
    Append(out, Wrap(PadRight(name, 26) + " ",
                     fmt::format("{}: {}", FormatDuration(t.self_ns),
                                 TopNames(t.slices))));
  }
  if (shown < tracks.size())
    out.push_back(fmt::format("and {} more", tracks.size() - shown));
  return out;
}

Lines CounterLines(const Facts& facts, size_t top) {
  static const std::vector<Column> kTable = {{"Counter", 28}, {"values", 10},
                                             {"min", 10},     {"mean", 10},
                                             {"max", 10},     {"last", 10}};
  Lines out;
  const std::vector<CounterFacts>& counters = facts.said.counters;
  if (counters.empty()) return out;
  out.push_back(TitlesOf(kTable));
  const size_t shown = RowsShown(counters.size(), top);
  for (size_t i = 0; i < shown; ++i) {
    const CounterFacts& c = counters[i];
    const std::string unit = c.unit == "1" || c.unit.empty()
                                 ? ""
                                 : fmt::format(" {}", Printable(c.unit, 8));
    out.push_back(RowOf(
        kTable, {fmt::format("{} {}{}", c.process, Printable(c.name, 40), unit),
                 Count(c.values), Value(c.min), Value(c.mean), Value(c.max),
                 Value(c.last)}));
  }
  if (shown < counters.size())
    out.push_back(fmt::format("and {} more", counters.size() - shown));
  return out;
}

Lines SliceSummary(const Facts& facts) {
  if (facts.said.slices.empty()) return {};
  return Wrap("Slices   ",
              TopNames(facts.said.slices) + " of the annotated time");
}

}  // namespace sonde

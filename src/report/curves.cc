#include "report/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analyze/pattern/pattern.h"
#include "analyze/series/counter_scan.h"
#include "base/text.h"
#include "export/chart/scale.h"

namespace sonde {
namespace {

constexpr size_t kNameColumns = 25, kValueColumns = 12;
constexpr size_t kLeastColumns = 20;  // of a curve
constexpr size_t kMaxCurves = 20;

// How much of a group a terminal shows; the pictures show all of it.
struct Shown {
  size_t plots = 0;  // from the first on
  size_t lines = 0;  // of each
};

Shown ShownOf(const ChartGroup& group) {
  if (group.name == "cpu") return {1, 3};
  if (group.name == "memory") return {1, 1};
  if (group.name == "disk") return {1, 2};
  if (group.name == "network") return {2, 1};
  if (group.name == "pressure") return {1, 3};
  if (group.name == "counters") return {3, 1};
  if (group.name.starts_with("gpu")) return {2, 1};
  return {};
}

class Curves {
 public:
  Curves(const Charts& charts, const CurveOptions& options)
      : charts_(charts),
        options_(options),
        width_(std::max(options.columns,
                        kNameColumns + kValueColumns + kLeastColumns) -
               kNameColumns - kValueColumns) {}

  Lines Draw() {
    for (const ChartGroup& group : charts_.groups) Add(group, ShownOf(group));
    if (curves_.empty()) return {};
    Lines out = Phases();
    Append(out, std::move(curves_));
    Append(out, Findings());
    out.push_back(Axis());
    return out;
  }

 private:
  std::string Coloured(const char* code, const std::string& text) const {
    return options_.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text)
                           : text;
  }

  void Add(const ChartGroup& group, const Shown& share) {
    for (size_t p = 0; p < std::min(share.plots, group.plots.size()); ++p) {
      const ChartPlot& plot = group.plots[p];
      const Scale scale = ScaleOf(plot);
      size_t lines = 0;
      for (const RegularSeries& line : plot.lines) {
        const double greatest = std::max(0.0, Quantile(line.KnownValues(), 1));
        if (greatest == 0 || lines == share.lines ||
            curves_.size() == kMaxCurves)
          continue;
        ++lines;
        const std::string& which = share.lines > 1 ? line.name : plot.title;
        curves_.push_back(
            PadRight(group.name + ": " + which, kNameColumns - 1) + " " +
            Coloured("36", Curve(line, scale)) +
            PadLeft(FormatValue(greatest, plot.unit), kValueColumns));
      }
    }
  }

  // The mean of what is known in each column.
  std::string Curve(const RegularSeries& line, const Scale& scale) const {
    static constexpr std::string_view kBlocks[] = {"▁", "▂", "▃", "▄",
                                                   "▅", "▆", "▇", "█"};
    static constexpr std::string_view kAscii[] = {"_", ".", ":", "-",
                                                  "=", "+", "*", "#"};
    std::string out;
    for (size_t i = 0; i < width_; ++i) {
      const size_t from = i * line.size() / width_;
      const size_t to = std::max(from + 1, (i + 1) * line.size() / width_);
      const RegularSeries part = line.Part(from, to);
      const double share = scale.Share(part.Mean());
      const auto level = std::min<size_t>(7, static_cast<size_t>(share * 8));
      out += part.KnownCount() == 0 ? " "
             : options_.unicode     ? kBlocks[level]
                                    : kAscii[level];
    }
    return out;
  }

  size_t At(int64_t time_ns) const {
    const auto length = static_cast<double>(
        Elapsed(charts_.grid.begin_ns, charts_.grid.end_ns));
    const auto from =
        static_cast<double>(Elapsed(charts_.grid.begin_ns, time_ns));
    return std::min(
        width_,
        static_cast<size_t>(
            from / std::max(length, 1.0) * static_cast<double>(width_) + 0.5));
  }

  Lines Phases() const {
    std::string row(width_, ' ');
    bool any = false;
    for (const ChartMark& mark : charts_.marks) {
      if (mark.kind != ChartMark::Kind::kPhase) continue;
      any = true;
      const size_t from = At(mark.from_ns), to = At(mark.to_ns);
      if (from >= to) continue;
      row[from] = '|';
      for (size_t i = 0; i < mark.label.size() && from + 1 + i < to; ++i)
        row[from + 1 + i] = mark.label[i];
    }
    if (!any) return {};
    row.resize(row.find_last_not_of(' ') + 1);
    return {PadRight("phases", kNameColumns) + row};
  }

  Lines Findings() const {
    Lines out;
    for (const ChartMark& mark : charts_.marks) {
      if (mark.kind != ChartMark::Kind::kFinding) continue;
      const size_t from = std::min(At(mark.from_ns), width_ - 1);
      const size_t to = std::max(from + 1, At(mark.to_ns));
      std::string row(from, ' ');
      for (size_t i = from; i < to; ++i) row += options_.unicode ? "━" : "~";
      out.push_back(PadRight(mark.label, kNameColumns - 1) + " " +
                    Coloured("33", row));
    }
    return out;
  }

  std::string Axis() const {
    const std::string end =
        FormatDuration(Elapsed(charts_.grid.begin_ns, charts_.grid.end_ns));
    return PadRight("", kNameColumns) + "0" + PadLeft(end, width_ - 1) +
           PadLeft("greatest", kValueColumns);
  }

  const Charts& charts_;
  CurveOptions options_;
  size_t width_;
  Lines curves_;
};

}  // namespace

Lines CurveLines(const Charts& charts, const CurveOptions& options) {
  return Curves(charts, options).Draw();
}

}  // namespace sonde

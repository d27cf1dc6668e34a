#include "export/chart/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "analyze/pattern/pattern.h"
#include "base/text.h"
#include "export/chart/markup.h"
#include "export/chart/scale.h"

namespace sonde {
namespace {

// All in pixels.
constexpr double kWidth = 960, kLeft = 76, kRight = 14;
constexpr double kField = kWidth - kLeft - kRight;
constexpr double kPlotHeight = 104, kLowPlotHeight = 40;
constexpr size_t kManyPlots = 6;  // more than so many are drawn low
constexpr double kLane = 17;      // one row of labels above the plots
constexpr double kCharWidth = 6.9, kBoldWidth = 7.6;  // of a mean character
constexpr size_t kMaxFindings = 4;
constexpr size_t kStyles = 6;  // of lines, in the style sheet

// The colours by name, on white and on black paper.
struct Colour {
  std::string_view name, light, dark;
};
constexpr Colour kColours[] = {
    {"ink", "#1b1f24", "#e6edf3"},  {"soft", "#57606a", "#a3adb8"},
    {"grid", "#d8dee4", "#30363d"}, {"paper", "#ffffff", "#14171c"},
    {"band", "#8c959f", "#7d8590"}, {"find", "#b35900", "#f0a04b"},
    {"loss", "#a40e26", "#ff7b86"}, {"mark", "#6639ba", "#c297ff"},
    {"c0", "#0072b2", "#5ab4ea"},   {"c1", "#d55e00", "#ff8a3d"},
    {"c2", "#00795a", "#2fc79a"},   {"c3", "#a8327c", "#eb94c6"},
    {"c4", "#8a6100", "#e0b13a"},   {"c5", "#2b7a9f", "#93d3f2"},
};

constexpr std::string_view kRules = R"(
.sonde-chart{font-family:system-ui,-apple-system,"Segoe UI",sans-serif;
font-size:12px;color:var(--ink)}
.sonde-chart text{fill:var(--ink)}
.sonde-chart .soft{fill:var(--soft)}
.sonde-chart .title{font-size:15px;font-weight:600}
.sonde-chart .plot{font-weight:600}
.sonde-chart .paper{fill:var(--paper)}
.sonde-chart .grid{stroke:var(--grid);stroke-width:1;fill:none}
.sonde-chart .limit{stroke:var(--soft);stroke-dasharray:2 4;fill:none}
.sonde-chart .band{fill:var(--band);fill-opacity:.10}
.sonde-chart .band.odd{fill-opacity:.22}
.sonde-chart .edge{stroke:var(--band);stroke-dasharray:3 3}
.sonde-chart .hatch{stroke:var(--find);stroke-width:2}
.sonde-chart .find{stroke:var(--find);stroke-opacity:.8}
.sonde-chart .lost{stroke:var(--loss);fill:var(--loss);fill-opacity:.15}
.sonde-chart .mark{stroke:var(--mark);stroke-width:1.5}
.sonde-chart .line{fill:none;stroke-width:1.6;stroke-linejoin:round}
.sonde-chart .area{stroke:none;fill-opacity:.16}
.sonde-chart .s0{stroke:var(--c0)}.sonde-chart .s1{stroke:var(--c1);stroke-dasharray:7 3}
.sonde-chart .s2{stroke:var(--c2);stroke-dasharray:2 2}
.sonde-chart .s3{stroke:var(--c3);stroke-dasharray:9 3 2 3}
.sonde-chart .s4{stroke:var(--c4);stroke-dasharray:4 4}
.sonde-chart .s5{stroke:var(--c5);stroke-dasharray:12 4}
.sonde-chart .area.s0{fill:var(--c0);stroke:none}
)";

// In a file of its own: many programs that draw SVG know neither variables nor
// that a colour may depend on the screen.
std::string PlainStyle() {
  std::string out(kRules);
  for (const Colour& colour : kColours) {
    const std::string used = fmt::format("var(--{})", colour.name);
    for (size_t at; (at = out.find(used)) != std::string::npos;)
      out.replace(at, used.size(), colour.light);
  }
  return out;
}

// As many characters of `text` as fit `width` pixels; nothing if too few.
std::string Fit(std::string_view text, double width) {
  const auto chars = static_cast<size_t>(std::max(0.0, width) / kCharWidth);
  return chars < 4 ? "" : Printable(text, chars);
}

bool NothingBut0(const ChartPlot& plot) {
  for (const RegularSeries& line : plot.lines)
    for (const double v : line.values)
      if (v != 0) return false;
  return true;
}

class Drawer {
 public:
  Drawer(const ChartGroup& group, const Charts& charts, bool standalone)
      : group_(group),
        charts_(charts),
        standalone_(standalone),
        length_ns_(Elapsed(charts.grid.begin_ns, charts.grid.end_ns)),
        time_(TimeScale(length_ns_, 9)) {}

  std::string Draw() {
    y_ = 8;
    Put("<text class=\"title\" x=\"8\" y=\"{:g}\">{}</text>\n", y_ + 14,
        Escaped(group_.title));
    y_ += 26;
    const double top = y_;
    Lanes();
    for (const ChartPlot& plot : group_.plots) Plot(plot);
    Times();
    LeftOut();
    const std::string front = std::move(out_);
    out_.clear();
    // Behind the lines: what goes through all plots.
    Marks(top);
    Names(top);
    return Head() + out_ + front + "</svg>\n";
  }

 private:
  template <typename... T>
  void Put(fmt::format_string<T...> format, T&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(args)...);
  }

  double X(int64_t time_ns) const {
    return kLeft + kField * time_.Share(static_cast<double>(Elapsed(
                                            charts_.grid.begin_ns, time_ns)) /
                                        1e9);
  }

  std::string Head() const {
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sonde-chart\" "
        "role=\"img\" viewBox=\"0 0 {0:g} {1:g}\" {2}"
        "aria-labelledby=\"t-{3} d-{3}\">\n"
        "<title id=\"t-{3}\">{4}</title>\n<desc id=\"d-{3}\">{5}</desc>\n"
        "<defs><pattern id=\"h-{3}\" width=\"6\" height=\"6\" "
        "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
        "<path class=\"hatch\" d=\"M0 0V6\"/></pattern></defs>\n",
        kWidth, y_,
        standalone_ ? fmt::format("width=\"{:g}\" height=\"{:g}\" ", kWidth, y_)
                    : "",
        group_.name, Escaped(group_.title), Escaped(Description()));
    if (standalone_)
      out += fmt::format(
          "<style>{}</style>\n<rect class=\"paper\" width=\"100%\" "
          "height=\"100%\"/>\n",
          PlainStyle());
    return out;
  }

  std::string Description() const {
    std::string out =
        fmt::format("{} over {}.", group_.title, FormatDuration(length_ns_));
    for (const ChartPlot& plot : group_.plots)
      for (const RegularSeries& line : plot.lines)
        out += fmt::format(
            " {}, {}: {} on average, {} at most.", plot.title, line.name,
            FormatValue(line.Mean(), plot.unit),
            FormatValue(Quantile(line.KnownValues(), 1), plot.unit));
    for (const ChartMark& mark : charts_.marks)
      out += fmt::format(
          " From {:.1f} to {:.1f} s: {}.",
          static_cast<double>(Elapsed(charts_.grid.begin_ns, mark.from_ns)) /
              1e9,
          static_cast<double>(Elapsed(charts_.grid.begin_ns, mark.to_ns)) / 1e9,
          mark.label);
    if (!charts_.left_out.empty()) out += " " + charts_.left_out + ".";
    return out;
  }

  // The rows of names above the plots: phases, then each finding.
  void Lanes() {
    size_t phases = 0, findings = 0;
    for (const ChartMark& mark : charts_.marks) {
      const double from = X(mark.from_ns), width = X(mark.to_ns) - from;
      if (mark.kind == ChartMark::Kind::kPhase) {
        Put("<g><title>{}</title><rect class=\"band{}\" x=\"{:.1f}\" "
            "y=\"{:g}\" width=\"{:.1f}\" height=\"{:g}\"/>"
            "<text x=\"{:.1f}\" y=\"{:g}\">{}</text></g>\n",
            Escaped(mark.label + ": " + mark.text), phases % 2 ? " odd" : "",
            from, y_, width, kLane, from + 3, y_ + 13,
            Escaped(Fit(mark.label, width - 4)));
        ++phases;
      } else if (mark.kind == ChartMark::Kind::kFinding &&
                 findings < kMaxFindings) {
        if (findings++ == 0 && phases > 0) y_ += kLane + 2;
        Put("<g><title>{}</title><rect fill=\"url(#h-{})\" class=\"find\" "
            "x=\"{:.1f}\" y=\"{:g}\" width=\"{:.1f}\" height=\"7\"/>"
            "<text x=\"{:.1f}\" y=\"{:g}\">{}</text></g>\n",
            Escaped(mark.text), group_.name, from, y_ + 14, width,
            std::min(from, kWidth - 8 - kCharWidth * 20), y_ + 11,
            Escaped(Printable(mark.label, 30)));
        y_ += 24;
      }
    }
    if (findings == 0 && phases > 0) y_ += kLane + 2;
    plots_from_ = y_;
  }

  void Marks(double top) {
    size_t phases = 0;
    const double height = plots_to_ - plots_from_;
    for (const ChartMark& mark : charts_.marks) {
      const double from = X(mark.from_ns), to = X(mark.to_ns);
      switch (mark.kind) {
        case ChartMark::Kind::kPhase:
          if (phases++ % 2)
            Put("<rect class=\"band\" x=\"{:.1f}\" y=\"{:g}\" "
                "width=\"{:.1f}\" height=\"{:g}\"/>\n",
                from, plots_from_, to - from, height);
          break;
        case ChartMark::Kind::kFinding:
          Put("<path class=\"edge find\" d=\"M{:.1f} {:g}V{:g}M{:.1f} "
              "{:g}V{:g}\"/>\n",
              from, plots_from_, plots_to_, to, plots_from_, plots_to_);
          break;
        case ChartMark::Kind::kLoss:
          Put("<g><title>{}</title><rect class=\"lost\" x=\"{:.1f}\" "
              "y=\"{:g}\" width=\"{:.1f}\" height=\"{:g}\"/></g>\n",
              Escaped(mark.text), from, plots_from_, std::max(1.0, to - from),
              height);
          break;
        case ChartMark::Kind::kMark:
          Put("<g><title>{}</title><path class=\"mark\" d=\"M{:.1f} "
              "{:g}V{:g}\"/></g>\n",
              Escaped(mark.text), from, top, plots_to_);
          break;
      }
    }
  }

  // The names of losses and marks, beside the title, where there is room.
  void Names(double top) {
    double free =
        16 + 10 * static_cast<double>(group_.title.size());  // it is larger
    for (const ChartMark& mark : charts_.marks) {
      if (mark.kind != ChartMark::Kind::kLoss &&
          mark.kind != ChartMark::Kind::kMark)
        continue;
      const double x = X(mark.from_ns);
      const std::string name = Fit(mark.label, kWidth - x);
      if (x < free || name.empty()) continue;
      Put("<text class=\"soft\" x=\"{:.1f}\" y=\"{:g}\">{}</text>\n", x,
          top - 4, Escaped(name));
      free = x + 8 + kCharWidth * static_cast<double>(name.size());
    }
  }

  void Plot(const ChartPlot& plot) {
    const double height = group_.plots.size() > kManyPlots || NothingBut0(plot)
                              ? kLowPlotHeight
                              : kPlotHeight;
    y_ += 20;
    Legend(plot);
    y_ += 6;
    const Scale scale = ScaleOf(plot);
    const size_t every =
        height == kPlotHeight ? 1 : std::max<size_t>(1, scale.ticks.size() - 1);
    for (size_t i = 0; i < scale.ticks.size(); i += every) {
      const double y = y_ + height * (1 - scale.Share(scale.ticks[i]));
      Put("<path class=\"grid\" d=\"M{:g} {:.1f}H{:g}\"/>"
          "<text class=\"soft\" text-anchor=\"end\" x=\"{:g}\" "
          "y=\"{:.1f}\">{}</text>\n",
          kLeft, y, kLeft + kField, kLeft - 6, y + 4,
          Escaped(ValueLabel(scale.ticks[i], plot.unit)));
    }
    for (const double t : time_.ticks) {
      const double x = kLeft + kField * time_.Share(t);
      Put("<path class=\"grid\" d=\"M{:.1f} {:.1f}v{:g}\"/>\n", x, y_, height);
    }
    if (plot.full_scale && *plot.full_scale <= scale.high)
      Put("<path class=\"limit\" d=\"M{:g} {:.1f}H{:g}\"/>\n", kLeft,
          y_ + height * (1 - scale.Share(*plot.full_scale)), kLeft + kField);
    for (size_t i = 0; i < plot.lines.size(); ++i)
      Line(plot.lines[i], scale, height, i % kStyles,
           /*area=*/plot.lines.size() == 1);
    y_ += height;
    plots_to_ = y_;
    y_ += 6;
  }

  // The plot's title, then a sample and a name for each line.
  void Legend(const ChartPlot& plot) {
    const double width_of_title =
        14 + kBoldWidth * static_cast<double>(plot.title.size());
    Put("<text class=\"plot\" x=\"{:g}\" y=\"{:g}\">{}</text>\n", kLeft, y_,
        Escaped(plot.title));
    double x = kLeft + width_of_title;
    for (size_t i = 0; i < plot.lines.size(); ++i) {
      const double room = kWidth - kRight - x - 30;
      const std::string name = Fit(plot.lines[i].name, room);
      if (name.empty()) {
        Put("<text class=\"soft\" x=\"{:g}\" y=\"{:g}\">+{}</text>\n", x, y_,
            plot.lines.size() - i);
        return;
      }
      Put("<path class=\"line s{}\" d=\"M{:g} {:g}h22\"/>"
          "<text x=\"{:g}\" y=\"{:g}\">{}</text>\n",
          i % kStyles, x, y_ - 4, x + 27, y_, Escaped(name));
      x += 42 + kCharWidth * static_cast<double>(name.size());
    }
  }

  void Line(const RegularSeries& line, const Scale& scale, double height,
            size_t style, bool area) {
    const std::vector<Pixels> columns =
        PixelsOf(line, static_cast<size_t>(kField));
    const double width = kField / static_cast<double>(columns.size());
    const auto y = [&](double value) {
      return y_ + height * (1 - scale.Share(value));
    };
    std::string path, areas;
    for (size_t i = 0; i < columns.size();) {
      if (!columns[i].known) {
        ++i;
        continue;
      }
      const size_t first = i;
      double low = columns[i].low, high = columns[i].high;
      std::string piece = fmt::format(
          "{:.1f} {:.1f}", kLeft + width * static_cast<double>(i), y(low));
      for (; i < columns.size() && columns[i].known; ++i) {
        low = columns[i].low, high = columns[i].high;
        // A flat stretch is one line.
        if (i > first && i + 1 < columns.size() && low == high &&
            columns[i + 1].known && columns[i - 1].low == low &&
            columns[i - 1].high == low && columns[i + 1].low == low &&
            columns[i + 1].high == low)
          continue;
        const double x = kLeft + width * (static_cast<double>(i) + 0.5);
        fmt::format_to(std::back_inserter(piece), "L{:.1f} {:.1f}", x, y(low));
        if (high != low)
          fmt::format_to(std::back_inserter(piece), "V{:.1f}", y(high));
      }
      const double end = kLeft + width * static_cast<double>(i);
      fmt::format_to(std::back_inserter(piece), "L{:.1f} {:.1f}", end, y(high));
      path += "M" + piece;
      if (area)
        areas += fmt::format("M{:.1f} {:.1f}L{}V{:.1f}Z",
                             kLeft + width * static_cast<double>(first),
                             y_ + height, piece, y_ + height);
    }
    if (area) Put("<path class=\"area s{}\" d=\"{}\"/>\n", style, areas);
    Put("<path class=\"line s{}\" d=\"{}\"><title>{}</title></path>\n", style,
        path, Escaped(line.name));
  }

  void LeftOut() {
    if (charts_.left_out.empty()) return;
    y_ += 8;
    Put("<text class=\"soft\" x=\"{:g}\" y=\"{:g}\">{}</text>\n", kLeft, y_,
        Escaped(charts_.left_out));
    y_ += 10;
  }

  void Times() {
    y_ += 10;
    for (const double t : time_.ticks) {
      const double x = kLeft + kField * time_.Share(t);
      const bool last = x > kWidth - 40;
      Put("<text class=\"soft\" text-anchor=\"{}\" x=\"{:.1f}\" "
          "y=\"{:g}\">{}</text>\n",
          last ? "end" : "middle", last ? kLeft + kField : x, y_,
          TimeLabel(t, time_));
    }
    y_ += 10;
  }

  const ChartGroup& group_;
  const Charts& charts_;
  bool standalone_;
  int64_t length_ns_;
  Scale time_;
  std::string out_;
  double y_ = 0;  // of what comes next
  double plots_from_ = 0, plots_to_ = 0;
};

}  // namespace

std::string SvgStyle() {
  std::string light, dark;
  for (const Colour& colour : kColours) {
    light += fmt::format("--{}:{};", colour.name, colour.light);
    dark += fmt::format("--{}:{};", colour.name, colour.dark);
  }
  return fmt::format(
      "\n.sonde-chart{{{}}}\n@media "
      "(prefers-color-scheme:dark){{.sonde-chart{{{}}}}}{}",
      light, dark, kRules);
}

std::string SvgOf(const ChartGroup& group, const Charts& charts,
                  bool standalone) {
  return Drawer(group, charts, standalone).Draw();
}

}  // namespace sonde

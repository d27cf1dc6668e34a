// The CPU time of stacks as one picture, without script: an SVG flame graph.
// Page: docs/formats/flame.md.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "export/chart/markup.h"
#include "export/exporter.h"
#include "export/flame_boxes.h"
#include "export/output.h"
#include "store/stack_sums.h"
#include "store/stack_tree.h"

namespace sonde {
namespace {

// In pixels.
constexpr double kFlameWidth = 1200, kFlameMargin = 10, kFlameRow = 17;
constexpr double kFlameField = kFlameWidth - 2 * kFlameMargin;
constexpr double kFlameChar = 6.7;  // of a font in which all are equal
constexpr double kLeastPixels = 0.25;
constexpr size_t kMostFlameBoxes = 20'000;
constexpr size_t kFlameNameChars = 300;

// One set of colours that reads well on its own white paper: many programs
// that draw SVG know neither variables nor that a colour may depend on the
// screen.
constexpr char kFlameStyle[] = R"(
.sonde-chart{font-family:"DejaVu Sans Mono",Menlo,Consolas,monospace;font-size:11px}
.sonde-chart text{fill:#1b1f24}
.sonde-chart .title{font-family:system-ui,"Segoe UI",sans-serif;font-size:15px;font-weight:600}
.sonde-chart .soft{font-family:system-ui,"Segoe UI",sans-serif;font-size:12px;fill:#57606a}
.sonde-chart .paper{fill:#ffffff}
.sonde-chart .box{stroke:#ffffff;stroke-width:.5}
.sonde-chart .frame{fill:#e4e8ec}
.sonde-chart .python{fill:#ffd58a}
.sonde-chart .native{fill:#a9d1f5}
.sonde-chart .other{fill:#b8e0b4}
.sonde-chart .unknown{fill:#c3c9d0}
)";

// As much of `text` as fits `width` pixels; nothing if too little. What lies
// behind U+1000 can be twice as wide as the rest.
std::string FitBox(std::string_view text, double width) {
  const auto cells = static_cast<size_t>(std::max(0.0, width) / kFlameChar);
  if (cells < 3) return "";
  const std::string whole = Printable(text, cells);
  size_t used = 0, keep = 0;
  for (size_t at = 0; at < whole.size();) {
    const size_t bytes =
        std::max<size_t>(1, Utf8Length(std::string_view(whole).substr(at)));
    used += bytes >= 3 ? 2 : 1;
    if (used > cells) return whole.substr(0, keep) + "..";
    if (used + 2 <= cells) keep = at + bytes;
    at += bytes;
  }
  return whole;
}

class FlameDrawer {
 public:
  FlameDrawer(const Store& store, const std::vector<FlameBox>& boxes)
      : store_(store), boxes_(boxes), whole_(boxes[0]) {}

  std::string Draw() {
    double y = 24;
    Put("<text class=\"title\" x=\"{:g}\" y=\"{:g}\">{}</text>\n", kFlameMargin,
        y, Escaped(Title()));
    y += 18;
    Legend(y);
    top_ = y + 10;
    uint32_t deepest = 0;
    for (const FlameBox& box : boxes_) {
      deepest = std::max(deepest, box.depth);
      Box(box);
    }
    y = top_ + kFlameRow * (deepest + 1) + 6;
    for (const std::string& note : Notes())
      Put("<text class=\"soft\" x=\"{:g}\" y=\"{:g}\">{}</text>\n",
          kFlameMargin, y += 15, Escaped(note));
    return Head(y + 12) + out_ + "</svg>\n";
  }

 private:
  template <typename... T>
  void Put(fmt::format_string<T...> format, T&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(args)...);
  }

  std::string Title() const {
    return fmt::format(
        "CPU time by stack: {} in {} {}",
        FormatDuration(
            static_cast<int64_t>(std::min<uint64_t>(whole_.ns, INT64_MAX))),
        whole_.samples, whole_.samples == 1 ? "sample" : "samples");
  }

  std::string Head(double height) const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sonde-chart\" "
        "role=\"img\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
        "height=\"{1:g}\" aria-labelledby=\"t-flame d-flame\">\n"
        "<title id=\"t-flame\">{2}</title>\n<desc id=\"d-flame\">A flame graph "
        "from the top: all, processes, threads, functions from the outermost "
        "in. Widths are CPU time, the largest first.</desc>\n"
        "<style>{3}</style>\n"
        "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
        kFlameWidth, height, Escaped(Title()), kFlameStyle);
  }

  void Legend(double y) {
    using Look = FlameBox::Look;
    double x = kFlameMargin;
    for (const auto& [look, text] :
         {std::pair(Look::kPython, "Python"),
          std::pair(Look::kNative, "native"), std::pair(Look::kOther, "other"),
          std::pair(Look::kNotKnown, "not known"),
          std::pair(Look::kFrame, "process, thread, too small to draw")}) {
      Put("<rect class=\"{}\" x=\"{:g}\" y=\"{:g}\" width=\"12\" "
          "height=\"12\"/><text class=\"soft\" x=\"{:g}\" "
          "y=\"{:g}\">{}</text>\n",
          NameOf(look), x, y - 10, x + 17, y, text);
      x += 35 + 7 * static_cast<double>(std::string_view(text).size());
    }
  }

  void Box(const FlameBox& box) {
    const double scale =
        kFlameField / static_cast<double>(std::max<uint64_t>(1, whole_.ns));
    const double x = kFlameMargin + scale * static_cast<double>(box.from_ns);
    const double width = scale * static_cast<double>(box.ns);
    const double y = top_ + kFlameRow * box.depth;
    Put("<g><title>{}: {}</title><rect class=\"box {}\" x=\"{:.2f}\" "
        "y=\"{:g}\" width=\"{:.2f}\" height=\"{:g}\"/>",
        Escaped(Printable(box.name, kFlameNameChars)),
        FlameBoxText(box, whole_), NameOf(box.look), x, y, width,
        kFlameRow - 1);
    if (const std::string name = FitBox(box.name, width - 6); !name.empty())
      Put("<text x=\"{:.2f}\" y=\"{:g}\">{}</text>", x + 3, y + 12,
          Escaped(name));
    out_ += "</g>\n";
  }

  std::vector<std::string> Notes() const {
    std::vector<std::string> out;
    out.push_back(
        "From the top: all, processes, threads, functions from the outermost "
        "in. Widths are CPU time; a line is the one with most of it. Point at "
        "a box to read it.");
    if (const size_t losses = store_.losses().size(); losses > 0)
      out.push_back(
          fmt::format("The trace is not complete: {} {} (sonde "
                      "report tells).",
                      losses, losses == 1 ? "loss" : "losses"));
    return out;
  }

  const Store& store_;
  const std::vector<FlameBox>& boxes_;
  const FlameBox& whole_;
  double top_ = 0;  // of the first box
  std::string out_;
};

}  // namespace

Result<ExportSummary> ExportFlame(const Store& store,
                                  const ExportOptions& options) {
  TRY(const std::vector<StackSum> sums, RunningStacks(store));
  const StackTree tree(store, sums);
  const auto least =
      static_cast<uint64_t>(static_cast<double>(tree.nodes()[0].total_ns) *
                            kLeastPixels / kFlameField);
  const std::vector<FlameBox> boxes =
      FlameBoxesOf(tree, kMostFlameBoxes, least);
  TRY(auto out, Output::Create(options.output, options));
  out->Text(FlameDrawer(store, boxes).Draw());
  ExportSummary summary;
  summary.samples = boxes[0].samples;
  summary.bytes = out->bytes();
  TRY_OK(out->Commit());
  return summary;
}

}  // namespace sonde

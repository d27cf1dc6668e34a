#include "export/pai/png.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "export/chart/scale.h"
#include "export/pai/gd_library.h"

namespace sonde {
namespace {

constexpr int kWidth = 960, kHeight = 480;
constexpr int kLeft = 80, kRight = 80, kTop = 48, kBottom = 56;
constexpr int kField = kWidth - kLeft - kRight;
constexpr int kRow = 16, kMaxRows = 6;  // of names above the field
constexpr int kCount = 40;              // room for how many are not named

struct Destroy {
  const GdLibrary* gd;
  void operator()(gdImagePtr image) const { gd->destroy(image); }
};

// gd takes text as unsigned bytes it does not change.
unsigned char* Bytes(const std::string& text) {
  return reinterpret_cast<unsigned char*>(const_cast<char*>(text.c_str()));
}

class Picture {
 public:
  Picture(const GdLibrary& gd, const PngText& text,
          std::span<const PngLine> lines)
      : gd_(gd),
        text_(text),
        lines_(lines),
        image_(gd.create(kWidth, kHeight), Destroy{&gd}) {
    if (!image_) return;
    ink_ = gd_.color(image_.get(), 27, 31, 36);
    grid_ = gd_.color(image_.get(), 216, 222, 228);
    const int paper = gd_.color(image_.get(), 255, 255, 255);
    gd_.rectangle(image_.get(), 0, 0, kWidth, kHeight, paper);
  }

  Result<std::string> Draw() {
    if (!image_)
      return Error{Error::Kind::kIo, text_.title + ": no memory for a picture"};
    Write(gd_.bold(), kWidth / 2, 14, text_.title, 0.5);
    if (lines_.empty()) {
      Write(gd_.small(), kWidth / 2, kHeight / 2, "not collected", 0.5);
    } else {
      Legend();
      Axes();
      for (size_t i = 0; i < lines_.size(); ++i) Line(i);
    }
    int size = 0;
    void* const bytes = gd_.png(image_.get(), &size);
    if (bytes == nullptr)
      return Error{Error::Kind::kIo, text_.title + ": cannot be made a PNG"};
    std::string out(static_cast<const char*>(bytes), static_cast<size_t>(size));
    gd_.free(bytes);
    return out;
  }

 private:
  // At `align` of its width from x: 0 begins there, 1 ends there.
  void Write(gdFontPtr font, int x, int y, const std::string& text,
             double align) {
    const int width = font->w * static_cast<int>(text.size());
    gd_.text(image_.get(), font, x - static_cast<int>(align * width), y,
             Bytes(text), ink_);
  }
  void WriteUp(int x, const std::string& text) {
    const gdFontPtr font = gd_.small();
    const int length = font->w * static_cast<int>(text.size());
    gd_.text_up(image_.get(), font, x, top_ + FieldHeight() / 2 + length / 2,
                Bytes(text), ink_);
  }

  int FieldHeight() const { return kHeight - kBottom - top_; }

  Scale ScaleOfSide(bool right) const {
    ChartPlot plot;
    if ((right ? text_.right : text_.left).ends_with("(%)"))
      plot.full_scale = 100;
    for (const PngLine& line : lines_)
      if (line.right == right) plot.lines.push_back(*line.series);
    Scale out = ScaleOf(plot);
    if (plot.full_scale && out.high < 100) out = RoundScale(0, 100, 4);
    return out;
  }

  void Axes() {
    const Grid& grid = lines_[0].series->grid;
    const Scale time = TimeScale(Elapsed(grid.begin_ns, grid.end_ns), 9);
    for (const double t : time.ticks) {
      const int x = kLeft + static_cast<int>(time.Share(t) * kField);
      gd_.line(image_.get(), x, top_, x, kHeight - kBottom, grid_);
      Write(gd_.small(), x, kHeight - kBottom + 6, ValueLabel(t, ""), 0.5);
    }
    Write(gd_.small(), kWidth / 2, kHeight - 22, "Time(s)", 0.5);
    left_ = ScaleOfSide(false);
    for (const double v : left_.ticks) {
      const int y = Y(left_, v);
      gd_.line(image_.get(), kLeft, y, kLeft + kField, y, grid_);
      Write(gd_.small(), kLeft - 6, y - 6, ValueLabel(v, ""), 1);
    }
    WriteUp(6, text_.left);
    if (text_.right.empty()) return;
    right_ = ScaleOfSide(true);
    for (const double v : right_.ticks)
      Write(gd_.small(), kLeft + kField + 6, Y(right_, v) - 6,
            ValueLabel(v, ""), 0);
    WriteUp(kWidth - 20, text_.right);
  }

  int Y(const Scale& scale, double value) const {
    return top_ + static_cast<int>((1 - scale.Share(value)) * FieldHeight());
  }

  // Colours that also the colour-blind tell apart.
  int Colour(size_t line) {
    static constexpr int kColours[][3] = {
        {0, 114, 178},   {213, 94, 0}, {0, 121, 90},
        {168, 50, 124},  {138, 97, 0}, {86, 180, 233},
        {110, 110, 110}, {0, 0, 0},    {230, 159, 0}};
    const auto& c = kColours[line % std::size(kColours)];
    return gd_.color(image_.get(), c[0], c[1], c[2]);
  }

  void Line(size_t number) {
    const PngLine& line = lines_[number];
    const Scale& scale = line.right ? right_ : left_;
    const int colour = Colour(number);
    const std::vector<Pixels> columns =
        PixelsOf(*line.series, static_cast<size_t>(kField));
    int before_x = -1, before_y = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      const int x =
          kLeft + static_cast<int>((static_cast<double>(i) + 0.5) * kField /
                                   static_cast<double>(columns.size()));
      if (!columns[i].known) {
        before_x = -1;
        continue;
      }
      const int low = Y(scale, columns[i].low);
      const int high = Y(scale, columns[i].high);
      gd_.line(image_.get(), x, low, x, high, colour);
      if (before_x >= 0)
        gd_.line(image_.get(), before_x, before_y, x, low, colour);
      before_x = x;
      before_y = high;
    }
  }

  // As many rows as the names need; the field begins below them.
  void Legend() {
    int x = kLeft, row = 1;
    for (size_t i = 0; i < lines_.size(); ++i) {
      const int width =
          gd_.small()->w * static_cast<int>(lines_[i].name.size());
      if (x > kLeft && x + 24 + width > kWidth - kCount) {
        if (row == kMaxRows) {
          Write(gd_.small(), x, top_ - 18,
                fmt::format("+{}", lines_.size() - i), 0);
          return;
        }
        x = kLeft;
        ++row;
        top_ += kRow;
      }
      gd_.rectangle(image_.get(), x, top_ - 13, x + 16, top_ - 10, Colour(i));
      Write(gd_.small(), x + 21, top_ - 18, lines_[i].name, 0);
      x += 36 + width;
    }
  }

  const GdLibrary& gd_;
  const PngText& text_;
  std::span<const PngLine> lines_;
  std::unique_ptr<gdImage, Destroy> image_;
  int ink_ = 0, grid_ = 0;
  int top_ = kTop;  // of the field
  Scale left_, right_;
};

}  // namespace

Result<std::string> DrawPng(const PngText& text,
                            std::span<const PngLine> lines) {
  TRY(const GdLibrary* const gd, GdLibrary::Load());
  return Picture(*gd, text, lines).Draw();
}

}  // namespace sonde

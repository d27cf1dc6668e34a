#ifndef SONDE_EXPORT_PAI_PNG_H_
#define SONDE_EXPORT_PAI_PNG_H_

#include <span>
#include <string>

#include "analyze/series/series.h"
#include "base/result.h"

namespace sonde {

// A line of a picture and its name in the legend.
struct PngLine {
  const RegularSeries* series;
  std::string name;
  bool right = false;  // measured by the axis on the right
};

// What is written on a picture.
struct PngText {
  std::string title, left, right;  // the axes' names; right: none if empty
};

// A picture of lines over the seconds of a run, as the bytes of a PNG file.
// Axes begin at 0; one named in percent reaches 100 at least. Gaps are gaps.
// Without lines it says that nothing was collected.
Result<std::string> DrawPng(const PngText& text,
                            std::span<const PngLine> lines);

}  // namespace sonde

#endif  // SONDE_EXPORT_PAI_PNG_H_

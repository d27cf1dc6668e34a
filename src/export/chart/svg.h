#ifndef SONDE_EXPORT_CHART_SVG_H_
#define SONDE_EXPORT_CHART_SVG_H_

#include <string>

#include "analyze/verdict/charts.h"

namespace sonde {

// The style of the pictures, light and dark. A page that has them inline needs
// it once.
std::string SvgStyle();

// The plots of one group as an <svg> element.
//
//  - Phases are bands with their names above, findings hatched ranges, marks
//    upright lines. What is not known is a gap. What there was too much of is
//    said below.
//  - Lines differ by colour (safe for the colour-blind) and by dashes.
//  - It has a title and a description in words, and no script. All names are
//    escaped.
//
// `standalone`: a whole file, with its style and background, in plain colours
// that every program which draws SVG knows.
std::string SvgOf(const ChartGroup& group, const Charts& charts,
                  bool standalone);

}  // namespace sonde

#endif  // SONDE_EXPORT_CHART_SVG_H_

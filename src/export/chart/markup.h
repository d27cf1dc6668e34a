#ifndef SONDE_EXPORT_CHART_MARKUP_H_
#define SONDE_EXPORT_CHART_MARKUP_H_

#include <string>
#include <string_view>

namespace sonde {

// `text` as text or as a quoted attribute of HTML and SVG: whatever it holds,
// it cannot become markup. Bytes that are no UTF-8, and control characters, are
// shown as \xNN.
std::string Escaped(std::string_view text);

}  // namespace sonde

#endif  // SONDE_EXPORT_CHART_MARKUP_H_

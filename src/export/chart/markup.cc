#include "export/chart/markup.h"

#include "base/text.h"

namespace sonde {

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : Printable(text, text.size())) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace sonde

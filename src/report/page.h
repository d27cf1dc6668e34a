// The parts of a report's page that are the same for every run.

#ifndef SONDE_REPORT_PAGE_H_
#define SONDE_REPORT_PAGE_H_

#include <string>

namespace sonde {

// From the doctype to the opening of the body. The page may load nothing and
// run nothing but PageScript(); its Content-Security-Policy says so to the
// browser. `title` is not escaped yet.
std::string PageHead(const std::string& title);

// Sorts a table by the column whose title is pressed, and moves in the flame
// graph. The page is whole without it.
std::string PageScript();

}  // namespace sonde

#endif  // SONDE_REPORT_PAGE_H_

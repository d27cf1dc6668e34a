// What the pictures of a run show, however they are drawn.

#ifndef SONDE_ANALYZE_VERDICT_CHARTS_H_
#define SONDE_ANALYZE_VERDICT_CHARTS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/facts.h"
#include "analyze/rules/rule.h"
#include "analyze/series/counter_lines.h"
#include "analyze/series/series.h"
#include "analyze/verdict/phase_marks.h"

namespace sonde {

// Lines of one unit over the run, drawn into one field.
struct ChartPlot {
  std::string title;
  std::string unit;                  // as RegularSeries::unit
  std::optional<double> full_scale;  // the most that is possible, if known
  std::vector<RegularSeries> lines;  // at least one, each known somewhere
};

// Plots of one subject, above each other on one time axis.
struct ChartGroup {
  std::string name;  // "cpu", "gpu0": letters and digits, for a file's name
  std::string title;
  std::vector<ChartPlot> plots;  // at least one
};

// The pictures of a run. All lines are on `grid`.
//
//  - A window that is not known is a gap, never 0.
//  - Text has no control characters; it is not escaped for any markup.
struct Charts {
  Grid grid;
  std::vector<ChartGroup> groups;
  std::vector<ChartMark> marks;  // by kind, then time
  // What there is too much of: "Drawn: the first 100 of 250 marks". Empty if
  // everything is drawn.
  std::string left_out;
};

// Reads the lines of a run's pictures on the replay that reads its facts:
//
//   ChartLines lines;
//   const Facts facts = FactsOf(store, lines.Of(store));
//   ... ChartsOf(facts, findings, &lines);
//
// Which processes used most is not known by then: of up to 200 series of
// processes and threads all are read, of more none.
class ChartLines {
 public:
  // To be used while these lines live.
  AlsoRead Of(std::shared_ptr<const Store> store);

 private:
  friend class ChartMaker;
  std::vector<LineSpec> specs_;
  std::unique_ptr<LineReader> reader_;
};

// Every series of the machine and its devices, sums over the program's
// processes, those processes and threads that used most, and the counters the
// program keeps. What `lines` has not read, all if they are null, is read in
// one replay; their lines are taken away.
//
// However many there are, memory is that of 800 lines: a plot has 32 at most, a
// group 32 plots, and titles say "(the first 32 of 40)".
Charts ChartsOf(const Facts& facts, const std::vector<Finding>& findings,
                ChartLines* lines = nullptr);

}  // namespace sonde

#endif  // SONDE_ANALYZE_VERDICT_CHARTS_H_

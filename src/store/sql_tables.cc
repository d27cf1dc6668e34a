// The list of all tables. `sonde query --tables` prints it; docs/cli/query.md
// explains it.

#include "store/sql_table.h"

namespace sonde {
namespace {

constexpr SqlColumn kSlice[] = {
    {"id", "INTEGER", kUseEqual | kUseOrder | kUseKey},
    {"ts", "INTEGER", kUseEqual | kUseRange},
    {"dur", "INTEGER"},
    {"track_id", "INTEGER", kUseEqual},
    {"name", "TEXT", kUseEqual | kUseGroup},
    {"name_id", "INTEGER", kUseEqual | kUseGroup},
    {"category", "TEXT"},
    {"depth", "INTEGER"},
    {"arg_set_id", "INTEGER"},
    {"stack_id", "INTEGER"},
    {"flow_in", "INTEGER"},
    {"flow_out", "INTEGER"},
    {"unfinished", "INTEGER"},
    {"class", "TEXT"},
    {"source", "TEXT"},
};
constexpr SqlColumn kCounter[] = {
    {"series_id", "INTEGER", kUseEqual},
    {"ts", "INTEGER", kUseEqual | kUseRange | kUseOrderIfEq},
    {"value", ""},
};
constexpr SqlColumn kSeries[] = {
    {"id", "INTEGER", kUseEqual | kUseOrder | kUseKey},
    {"name", "TEXT"},
    {"label", "TEXT"},
    {"unit", "TEXT"},
    {"kind", "TEXT"},
    {"scope", "TEXT"},
    {"process_id", "INTEGER"},
    {"thread_id", "INTEGER"},
    {"device_id", "INTEGER"},
    {"group_id", "INTEGER"},
    {"source", "TEXT"},
};
constexpr SqlColumn kThread[] = {
    {"id", "INTEGER", kUseEqual | kUseOrder | kUseKey},
    {"tid", "INTEGER"},
    {"process_id", "INTEGER"},
    {"name", "TEXT"},
    {"start_ts", "INTEGER"},
    {"end_ts", "INTEGER"},
    {"cpu_ns", "INTEGER"},
};
constexpr SqlColumn kProcess[] = {
    {"id", "INTEGER", kUseEqual | kUseOrder | kUseKey},
    {"pid", "INTEGER"},
    {"parent_id", "INTEGER"},
    {"name", "TEXT"},
    {"cmdline", "TEXT"},
    {"start_ts", "INTEGER"},
    {"end_ts", "INTEGER"},
    {"exit_kind", "TEXT"},
    {"exit_code", "INTEGER"},
    {"execs", "INTEGER"},
    {"cpu_ns", "INTEGER"},
};
constexpr SqlColumn kTrack[] = {
    {"id", "INTEGER", kUseEqual | kUseOrder | kUseKey},
    {"kind", "TEXT"},
    {"name", "TEXT"},
    {"process_id", "INTEGER"},
    {"thread_id", "INTEGER"},
    {"events", "INTEGER"},
    {"source", "TEXT"},
    {"device_id", "INTEGER"},
    {"parent_id", "INTEGER"},
    {"position", "INTEGER"},
    {"clock", "TEXT"},
};
constexpr SqlColumn kSample[] = {
    {"ts", "INTEGER", kUseEqual | kUseRange},
    {"thread_id", "INTEGER"},
    {"stack_id", "INTEGER"},
    {"weight_ns", "INTEGER"},
    {"waiting", "INTEGER"},
    {"approximate", "INTEGER"},
};
constexpr SqlColumn kNotCollected[] = {
    {"source", "TEXT"},
    {"why", "TEXT"},
    {"cure", "TEXT"},
};
constexpr SqlColumn kStack[] = {
    {"id", "INTEGER", kUseEqual | kUseOrder | kUseKey},
    {"parent_id", "INTEGER"},
    {"function", "TEXT"},
    {"module", "TEXT"},
    {"file", "TEXT"},
    {"line", "INTEGER"},
    {"offset", "INTEGER"},
};
constexpr SqlColumn kArg[] = {
    {"set_id", "INTEGER", kUseEqual | kUseOrder},
    {"key", "TEXT"},
    {"value", ""},
};
constexpr SqlColumn kFlow[] = {
    {"id", "INTEGER"},
    {"from_slice", "INTEGER"},
    {"to_slice", "INTEGER"},
};
constexpr SqlColumn kLoss[] = {
    {"reason", "TEXT"},     {"detail", "TEXT"},   {"count", "INTEGER"},
    {"from_ts", "INTEGER"}, {"to_ts", "INTEGER"}, {"source", "TEXT"},
};
constexpr SqlColumn kRun[] = {{"key", "TEXT"}, {"value", "TEXT"}};
constexpr SqlColumn kClock[] = {
    {"ts", "INTEGER"},
    {"realtime_ns", "INTEGER"},
    {"boottime_ns", "INTEGER"},
};
constexpr SqlColumn kTopOps[] = {
    {"name", "TEXT"},
    {"count", "INTEGER"},
    {"total_ns", "INTEGER"},
    {"self_ns", "INTEGER"},
    {"mean_ns", "INTEGER"},
    {"min_ns", "INTEGER"},
    {"max_ns", "INTEGER"},
    {"p50_ns", "INTEGER"},
    {"p99_ns", "INTEGER"},
    {"share", "REAL"},
    {"device", "INTEGER"},
    {"t0", "INTEGER", kUseParameter},
    {"t1", "INTEGER", kUseParameter},
    {"track", "INTEGER", kUseParameter},
};
constexpr SqlColumn kPixels[] = {
    {"x", "INTEGER"},
    {"depth", "INTEGER"},
    {"count", "INTEGER"},
    {"busy_ns", "INTEGER"},
    {"max_dur_ns", "INTEGER"},
    {"name", "TEXT"},
    {"track", "INTEGER", kUseParameter},
    {"t0", "INTEGER", kUseParameter},
    {"t1", "INTEGER", kUseParameter},
    {"n", "INTEGER", kUseParameter},
};
constexpr SqlColumn kIdleGaps[] = {
    {"ts", "INTEGER"},
    {"dur", "INTEGER"},
    {"track_id", "INTEGER"},
    {"min_ns", "INTEGER", kUseParameter},
    {"track", "INTEGER", kUseParameter},
};
constexpr SqlColumn kSeriesStats[] = {
    {"series_id", "INTEGER"}, {"count", "INTEGER"},
    {"min", "REAL"},          {"max", "REAL"},
    {"mean", "REAL"},         {"first", "REAL"},
    {"last", "REAL"},         {"series", "INTEGER", kUseParameter},
};

double Events(const Store& store) {
  return static_cast<double>(store.event_count());
}
double Some(const Store&) { return 100; }
template <typename Rows>
double SizeOf(const Rows& rows) {
  return static_cast<double>(rows.size());
}

std::vector<SqlTable> AllTables() {
  std::vector<SqlTable> all = {
      {"slice", "what ran from ts for dur nanoseconds", kSlice, &Events,
       &OpenSlices},
      {"instant", "what happened at a moment (dur is 0)", kSlice, &Events,
       &OpenInstants},
      {"counter", "values of series when they changed, NULL when they ended",
       kCounter, &Events, &OpenCounters},
      {"series", "what was counted or measured", kSeries,
       [](const Store& s) { return SizeOf(s.series()); }, &OpenSeries},
      {"process", "processes, from fork to exit", kProcess,
       [](const Store& s) { return SizeOf(s.processes()); }, &OpenProcesses},
      {"thread", "their threads", kThread,
       [](const Store& s) { return SizeOf(s.threads()); }, &OpenThreads},
      {"track", "rows of the timeline that slices and instants are on", kTrack,
       [](const Store& s) { return SizeOf(s.tracks()); }, &OpenTracks},
      {"sample", "what threads were doing at a moment", kSample, &Events,
       &OpenSamples},
      {"stack", "call stacks, as a tree", kStack,
       [](const Store& s) { return SizeOf(s.stacks()); }, &OpenStacks},
      {"arg", "arguments of slices and instants", kArg,
       [](const Store& s) { return SizeOf(s.rows().args) * 2; }, &OpenArgs},
      {"flow", "arrows from slice to slice", kFlow, &Some, &OpenFlows},
      {"run", "the recording itself: command, machine, versions", kRun, &Some,
       &OpenRun},
      {"clock", "the same moments on other clocks", kClock, &Some, &OpenClocks},
      {"loss", "what is missing, and why", kLoss, &Some, &OpenLosses},
      {"not_collected", "sources that could not be used, and the cure",
       kNotCollected, &Some, &OpenNotCollected},
      {"top_ops", "cost by name, of devices apart; in [t0, t1), on one track",
       kTopOps, &Some, &OpenTopOps},
      {"px", "a track drawn n pixels wide", kPixels, &Some, &OpenPixels},
      {"idle_gaps", "times of at least min_ns without an outermost slice",
       kIdleGaps, &Some, &OpenIdleGaps},
      {"series_stats", "each series in one row; mean is weighted by time",
       kSeriesStats, &Some, &OpenSeriesStats},
  };
  for (SqlTable& table : PlainRowTables()) all.push_back(std::move(table));
  return all;
}

}  // namespace

std::span<const SqlTable> SqlTables() {
  static const std::vector<SqlTable> kTables = AllTables();
  return kTables;
}

}  // namespace sonde

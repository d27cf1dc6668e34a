#include "analyze/line_reader.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "analyze/pattern/gaps.h"
#include "analyze/scan.h"

namespace sonde {
namespace {

// One series in one line.
struct Follower {
  size_t line = 0;
  double factor = 1;
  Series::Type type = Series::Type::kInt;
  bool from_zero = false;  // its first value is growth
  bool alive = false;
  bool begun = false;
  double last = 0;
};

// One line while its values go by.
struct Line {
  const LineSpec* spec;
  SeriesBuilder builder;
  double value = 0;  // the sum now; of totals: all growth so far
  size_t alive = 0;  // members that have a value
  int64_t end_ns;    // what holds its value holds it until then
};

class Reader {
 public:
  Reader(const Facts& facts, const Grid& grid, std::span<const LineSpec> specs)
      : facts_(facts), store_(*facts.store), grid_(grid), gaps_(*facts.store) {
    for (const LineSpec& spec : specs) AddLine(spec);
  }

  std::vector<RegularSeries> Run() {
    CounterTicks ticks;
    for (const FrameRef& chunk : store_.counter_chunks())
      if (const auto lines = lines_of_.find(chunk.counters.group);
          lines != lines_of_.end() && store_.ReadTicks(chunk, ticks))
        TakeChunk(lines->second, ticks);
    std::vector<RegularSeries> out;
    for (Line& line : lines_) {
      if (line.spec->holds && line.alive > 0)
        line.builder.Add(line.end_ns, line.value);
      out.push_back(line.builder.Take(line.spec->name, line.spec->unit));
    }
    return out;
  }

 private:
  void AddLine(const LineSpec& spec) {
    const size_t number = lines_.size();
    uint32_t group = 0;
    int64_t end_ns = grid_.end_ns;
    for (const LineSpec::Member& member : spec.members) {
      const auto row = store_.series().find(member.series);
      if (row == store_.series().end()) continue;
      if (group == 0) group = row->second.group;
      Follower f;
      f.line = number;
      f.factor = member.factor;
      f.type = row->second.type;
      int64_t start_ns = kNoTime;
      if (row->second.scope == Series::Scope::kProcess) {
        const auto process = store_.processes().find(row->second.scope_id);
        if (process != store_.processes().end()) {
          start_ns = process->second.start_ns;
          if (process->second.end_ns != kNoTime)
            end_ns = std::min(end_ns, process->second.end_ns);
        }
      }
      f.from_zero = BornInRun(start_ns, facts_.run);
      followers_[member.series].push_back(f);
    }
    lines_.push_back(
        {&spec,
         SeriesBuilder(grid_, spec.kind,
                       spec.holds ? INT64_MAX : gaps_.Longest(group)),
         0, 0, end_ns});
    lines_of_[group].push_back(number);
  }

  void TakeChunk(const std::vector<size_t>& lines, const CounterTicks& ticks) {
    size_t change = 0, gone = 0;
    for (size_t tick = 0; tick < ticks.size(); ++tick) {
      for (; change < ticks.changed_end[tick]; ++change) {
        const auto followers = followers_.find(ticks.changes[change].series);
        if (followers == followers_.end()) continue;
        for (Follower& f : followers->second)
          Change(f, ValueAsDouble(ticks.changes[change].value, f.type));
      }
      for (; gone < ticks.gone_end[tick]; ++gone) {
        const auto followers = followers_.find(ticks.gone[gone]);
        if (followers == followers_.end()) continue;
        for (Follower& f : followers->second) Gone(f);
      }
      for (const size_t line : lines)
        if (lines_[line].alive > 0)
          lines_[line].builder.Add(ticks.time_ns[tick], lines_[line].value);
    }
  }

  void Change(Follower& f, double value) {
    // NaN fails the comparison.
    if (!(std::abs(value) <= kMaxValue)) return;
    Line& line = lines_[f.line];
    if (line.spec->kind == Series::Kind::kTotal) {
      const bool counts = f.begun ? value > f.last : f.from_zero;
      if (counts) line.value += f.factor * (value - (f.begun ? f.last : 0));
    } else if (line.spec->members.size() == 1) {
      line.value = f.factor * value;
    } else {
      line.value += f.factor * (value - (f.alive ? f.last : 0));
    }
    if (!f.alive) ++line.alive;
    f.alive = f.begun = true;
    f.last = value;
  }

  void Gone(Follower& f) {
    if (!f.alive) return;
    Line& line = lines_[f.line];
    if (line.spec->kind == Series::Kind::kGauge)
      line.value -= f.factor * f.last;
    f.alive = false;
    --line.alive;
  }

  const Facts& facts_;
  const Store& store_;
  Grid grid_;
  Gaps gaps_;
  std::vector<Line> lines_;
  std::unordered_map<uint32_t, std::vector<Follower>> followers_;  // by series
  std::unordered_map<uint32_t, std::vector<size_t>> lines_of_;     // by group
};

}  // namespace

std::vector<RegularSeries> ReadLines(const Facts& facts, const Grid& grid,
                                     std::span<const LineSpec> specs) {
  return Reader(facts, grid, specs).Run();
}

}  // namespace sonde

#include "analyze/series/counter_lines.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analyze/series/gaps.h"

namespace sonde {
namespace {

// One series in one line.
struct LineFollower {
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

}  // namespace

// One follower for each member of a line, under its slot.
class LineReader::Handler final : public CounterHandler {
 public:
  Handler(const Store& store, const RunSpan& run, const Grid& grid,
          std::vector<LineSpec> specs)
      : store_(store), run_(run), grid_(grid), specs_(std::move(specs)) {}

  void Join(CounterReplay& replay) {
    const Gaps gaps(store_);
    for (const LineSpec& spec : specs_) AddLine(spec, gaps, replay);
  }

  std::vector<RegularSeries> Take() {
    std::vector<RegularSeries> out;
    for (Line& line : lines_) {
      if (line.spec->holds && line.alive > 0)
        line.builder.Add(line.end_ns, line.value);
      out.push_back(line.builder.Take(line.spec->name, line.spec->unit));
    }
    return out;
  }

  void Tick(const CounterTick& tick) override {
    for (const CounterValue& v : tick.values) {
      LineFollower& f = followers_[v.slot];
      Change(f, ValueAsDouble(v.bits, f.type));
    }
    for (const CounterValue& v : tick.gone) Gone(followers_[v.slot]);
    for (const size_t line : lines_of_[tick.group])
      if (lines_[line].alive > 0)
        lines_[line].builder.Add(tick.time_ns, lines_[line].value);
  }

  void Hole(const CounterHole& hole) override {
    for (const CounterValue& v : hole.lost) {
      LineFollower& f = followers_[v.slot];
      Gone(f);
      f.begun = f.from_zero = false;
    }
    for (const size_t line : lines_of_[hole.group])
      lines_[line].builder.Break();
  }

 private:
  // A line is of one group: that of its first member.
  void AddLine(const LineSpec& spec, const Gaps& gaps, CounterReplay& replay) {
    const size_t number = lines_.size();
    uint32_t group = 0;
    int64_t end_ns = grid_.end_ns;
    for (const LineSpec::Member& member : spec.members) {
      const auto row = store_.series().find(member.series);
      if (row == store_.series().end()) continue;
      if (group == 0) group = row->second.group;
      LineFollower f;
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
      f.from_zero = run_.Bore(start_ns);
      replay.Want(*this, member.series,
                  static_cast<uint32_t>(followers_.size()));
      followers_.push_back(f);
    }
    lines_.push_back(
        {&spec,
         SeriesBuilder(grid_, spec.kind,
                       spec.holds ? INT64_MAX : gaps.Longest(group)),
         0, 0, end_ns});
    lines_of_[group].push_back(number);
  }

  void Change(LineFollower& f, double value) {
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

  void Gone(LineFollower& f) {
    if (!f.alive) return;
    Line& line = lines_[f.line];
    if (line.spec->kind == Series::Kind::kGauge)
      line.value -= f.factor * f.last;
    f.alive = false;
    --line.alive;
  }

  const Store& store_;
  const RunSpan run_;
  const Grid grid_;
  const std::vector<LineSpec> specs_;
  std::vector<Line> lines_;
  std::vector<LineFollower> followers_;                         // by slot
  std::unordered_map<uint32_t, std::vector<size_t>> lines_of_;  // by group
};

LineReader::LineReader(const Store& store, const RunSpan& run, const Grid& grid,
                       std::vector<LineSpec> specs)
    : handler_(std::make_unique<Handler>(store, run, grid, std::move(specs))) {}

LineReader::~LineReader() = default;

void LineReader::Join(CounterReplay& replay) { handler_->Join(replay); }

std::vector<RegularSeries> LineReader::Take() { return handler_->Take(); }

std::vector<RegularSeries> ReadLines(const Store& store, const RunSpan& run,
                                     const Grid& grid,
                                     const std::vector<LineSpec>& specs,
                                     const std::vector<LineSpec>& read_specs,
                                     std::vector<RegularSeries> read) {
  using Key = std::tuple<Series::Kind, bool, std::vector<LineSpec::Member>>;
  const auto key = [](const LineSpec& spec) {
    return Key(spec.kind, spec.holds, spec.members);
  };
  std::map<Key, RegularSeries> lines;
  const auto keep = [&](const std::vector<LineSpec>& of,
                        std::vector<RegularSeries> all) {
    for (size_t i = 0; i < all.size(); ++i)
      lines.try_emplace(key(of[i]), std::move(all[i]));
  };
  keep(read_specs, std::move(read));
  std::vector<LineSpec> rest;
  for (const LineSpec& spec : specs)
    if (!lines.contains(key(spec))) rest.push_back(spec);
  if (!rest.empty()) {
    LineReader reader(store, run, grid, rest);
    CounterReplay replay(store);
    reader.Join(replay);
    replay.Run();
    keep(rest, reader.Take());
  }
  std::vector<RegularSeries> out;
  for (const LineSpec& spec : specs) {
    out.push_back(lines.at(key(spec)));
    out.back().name = spec.name;
    out.back().unit = spec.unit;
  }
  return out;
}

}  // namespace sonde

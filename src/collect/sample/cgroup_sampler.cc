#include "collect/sample/cgroup_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <string>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "collect/proc/cgroup_files.h"
#include "collect/proc/text_scanner.h"
#include "collect/sample/sampled_run.h"
#include "trace/sources.h"

namespace sonde {
namespace {

// Ticks jitter: one that comes a little early is the one due.
constexpr int64_t kSeldomNs = kNsPerSec - 50 * kNsPerMs;

// Of cgroups that vanish before they are read there may be any number.
constexpr size_t kMostKnown = 64;

bool StartsWithNumber(const std::string& path) {
  const auto text = ReadFile(path);
  uint64_t number = 0;
  return text.ok() && TextScanner(text.value()).Number(&number);
}

// Does this cgroup itself limit what the controller counts? Unlimited is "max",
// -1, or a number that MemoryLimit leaves out.
bool HasLimit(const std::string& folder, const CgroupFile& file) {
  if (std::string_view(file.controller) == "cpu")
    return StartsWithNumber(folder +
                            (file.version2 ? "/cpu.max" : "/cpu.cfs_quota_us"));
  if (file.version2) return StartsWithNumber(folder + "/memory.max");
  const auto text = ReadFile(folder + "/memory.limit_in_bytes");
  uint64_t bytes = 0;
  return text.ok() && TextScanner(text.value()).Number(&bytes) &&
         bytes < kNoCgroupLimitBytes;
}

}  // namespace

CgroupSampler::CgroupSampler(TraceWriter& out, std::string mountinfo)
    : out_(out), group_(out.AddGroup()), mountinfo_(std::move(mountinfo)) {}

void CgroupSampler::Add(std::string_view cgroup) {
  if (cgroup.empty() || known_.contains(cgroup)) return;
  if (CountRead() >= kMostCgroups) {
    full_ = true;
    return;
  }
  // Those that cannot be read are looked at again then.
  if (known_.size() >= kMostKnown)
    std::erase_if(known_, [&](const auto& one) { return !IsRead(one.second); });
  known_.emplace(cgroup, ++last_added_);
  for (const CgroupFile& file : CgroupFiles()) AddFiles(file, cgroup);
}

bool CgroupSampler::Knows(uint32_t number) const {
  return std::any_of(known_.begin(), known_.end(),
                     [&](const auto& one) { return one.second == number; });
}

bool CgroupSampler::IsRead(uint32_t number) const {
  return std::any_of(
      sources_.begin(), sources_.end(), [&](const Source& source) {
        return std::find(source.added.begin(), source.added.end(), number) !=
               source.added.end();
      });
}

// How many of those that were added are read, be it only those above them.
size_t CgroupSampler::CountRead() const {
  std::set<uint32_t> numbers;
  for (const Source& source : sources_) {
    bool any = false;
    for (const uint32_t one : source.added) {
      if (!Knows(one)) continue;
      numbers.insert(one);
      any = true;
    }
    if (!any) numbers.insert(source.added.back());
  }
  return numbers.size();
}

void CgroupSampler::AddSource(const CgroupFile& file, std::string path,
                              std::string_view label) {
  for (Source& source : sources_) {
    if (source.file != &file || source.path != path) continue;
    std::erase_if(source.added, [&](uint32_t one) { return !Knows(one); });
    source.added.push_back(last_added_);
    return;
  }
  sources_.push_back(
      {&file, std::move(path), out_.Intern(label), {last_added_}});
}

void CgroupSampler::AddFiles(const CgroupFile& file, std::string_view cgroup) {
  const auto place = PlaceOf(cgroup, mountinfo_, file.controller);
  if (!place || place->version2 != file.version2) return;
  std::string path = place->path;
  for (size_t i = 0; i < place->folders.size(); ++i) {
    const std::string& folder = place->folders[i];
    const bool limited = file.of_limits && HasLimit(folder, file);
    // The root of version 2 has no memory of its own, unless it is the root of
    // a namespace only; in version 1 the two look the same.
    const bool root = path.empty() || path == "/";
    const bool own =
        i == 0 &&
        (!root || (file.version2 && ReadFile(folder + "/memory.current").ok()));
    if ((own || limited) && ReadFile(folder + "/" + file.name).ok())
      AddSource(file, folder + "/" + file.name, root ? "/" : path);
    path = path.substr(0, path.rfind('/'));
  }
}

uint32_t CgroupSampler::SeriesOf(Source& source, const CgroupValue& value) {
  for (const auto& [name, series] : source.series)
    if (name == value.name) return series;
  Series row = SampledSeries(value.name, source::kCgroups, group_, out_);
  row.label = source.label;
  const uint32_t series = out_.AddSeries(row);
  source.series.emplace_back(value.name, series);
  return series;
}

void CgroupSampler::Tick(FdBudget& budget, bool all) {
  if (sources_.empty()) return;
  if (!has_group_) {
    // A group exists once it has a series.
    for (Source& source : sources_) {
      values_.clear();
      source.file->Parse(ReadOnce(source.path.c_str(), buffer_), values_);
      for (const CgroupValue& value : values_) SeriesOf(source, value);
      has_group_ |= !values_.empty();
    }
    if (!has_group_) return;
  }
  const int64_t now_ns = NowNs();
  const bool seldom = all || now_ns >= next_seldom_ns_;
  if (seldom) next_seldom_ns_ = now_ns + kSeldomNs;
  out_.BeginTick(group_, now_ns);
  for (Source& source : sources_)
    if (seldom || !source.file->seldom) Sample(source, budget);
  out_.EndTick();
  std::erase_if(sources_, [](const Source& source) { return source.ended; });
}

void CgroupSampler::Sample(Source& source, FdBudget& budget) {
  int error = 0;
  const std::string_view text =
      source.open.Read(source.path.c_str(), budget, buffer_, &error);
  if (error == ENODEV || error == ENOENT) {
    source.ended = true;
    source.open.Close(budget);
    for (const auto& [name, series] : source.series) out_.Gone(series);
    // Another of the same name is added again.
    for (const uint32_t number : source.added)
      std::erase_if(known_,
                    [&](const auto& one) { return one.second == number; });
    return;
  }
  values_.clear();
  source.file->Parse(text, values_);
  for (const CgroupValue& value : values_)
    out_.Set(SeriesOf(source, value), static_cast<int64_t>(value.value));
  // A limit may be lifted. Nothing read is nothing known.
  if (text.empty()) return;
  for (const auto& one : source.series)
    if (std::none_of(
            values_.begin(), values_.end(),
            [&](const CgroupValue& value) { return value.name == one.first; }))
      out_.Gone(one.second);
}

namespace {

constexpr char kMountInfo[] = "/proc/self/mountinfo";

SourceState CheckCgroup() {
  const CgroupLimits limits = FindCgroupLimits(
      ReadText("/proc/self/cgroup"), ReadText(kMountInfo),
      [](const std::string& path) -> std::optional<std::string> {
        auto text = ReadFile(path);
        if (!text.ok()) return std::nullopt;
        return text.Take();
      });
  if (limits.path.empty())
    return SourceState::Fails("no cgroup is mounted",
                              "mount -t cgroup2 cgroup2 /sys/fs/cgroup");
  return SourceState::Works(fmt::format(
      "memory {}, CPU {}",
      limits.memory_bytes
          ? "limit " + FormatBytes(static_cast<double>(*limits.memory_bytes))
          : "not limited",
      limits.cpu_cores ? fmt::format("limit {:.3g} cores", *limits.cpu_cores)
                       : "not limited"));
}

constexpr SourceInfo kCgroup = {
    "cgroup", "use and limits of this container or service", CheckCgroup};
constexpr SourceInfo kCgroupSources[] = {kCgroup};

// Ten times a second, for the cgroups that processes of the tree are in.
class CgroupGatherer : public Gatherer {
 public:
  explicit CgroupGatherer(SampledRun& run)
      : run_(run), cgroups_(run.out, ReadText(kMountInfo)) {
    cgroups_.Add(run.cgroup);
  }

  void Poll(int64_t) override {
    if (!run_.machine_due) return;
    for (const std::string& one : run_.places.cgroups()) cgroups_.Add(one);
    cgroups_.Tick(run_.budget);
  }
  void Stop(int64_t) override {
    if (!run_.paused) cgroups_.Tick(run_.budget, /*all=*/true);
  }
  std::vector<NotCollected> not_collected() const override {
    if (!cgroups_.full()) return {};
    return {Missing(kCgroup, fmt::format("the processes are in more than {}",
                                         CgroupSampler::kMostCgroups))};
  }

 private:
  SampledRun& run_;
  CgroupSampler cgroups_;
};

}  // namespace

extern const GathererInfo kCgroupGatherer = {kCgroupSources,
                                             Make<CgroupGatherer>};

}  // namespace sonde

#include "analyze/series/cgroup_sums.h"

#include <algorithm>
#include <set>

namespace sonde {
namespace {

constexpr size_t kMaxCgroups = 128;

bool LiesIn(std::string_view path, std::string_view above) {
  if (above == "/") return path != "/";
  return path.size() > above.size() && path.starts_with(above) &&
         path[above.size()] == '/';
}

// Those that have this counter, in order.
std::vector<std::string> PathsOf(const Store& store, std::string_view counter,
                                 std::string_view command) {
  std::set<std::string> paths;
  for (const Series* const row :
       store.Sampled(Series::Scope::kMachine, counter)) {
    const std::string_view path = store.Str(row->label);
    if (paths.size() < kMaxCgroups || path == command) paths.emplace(path);
  }
  return {paths.begin(), paths.end()};
}

}  // namespace

std::vector<std::string> OwnCgroups(const std::vector<std::string>& paths,
                                    std::string_view command) {
  const bool named =
      std::find(paths.begin(), paths.end(), command) != paths.end();
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    const bool innermost = std::none_of(
        paths.begin(), paths.end(),
        [&](const std::string& other) { return LiesIn(other, path); });
    const bool in_command = named && LiesIn(path, command);
    if (path == command || (innermost && !in_command)) out.push_back(path);
  }
  return out;
}

std::vector<CounterSum> CgroupSums(const Store& store) {
  constexpr struct {
    const char* name;
    const char* unit;
    const char* counter;
    bool own;
  } kCounters[] = {
      {"cgroup_throttled", "share", "cgroup_cpu_throttled_ns", false},
      {"cgroup_memory", "bytes", "cgroup_memory_bytes", true},
      {"cgroup_psi_io", "share", "cgroup_psi_io_some_ns", true}};
  const std::string command = store.Meta("cgroup");
  std::vector<CounterSum> out;
  for (const auto& one : kCounters) {
    std::vector<std::string> paths = PathsOf(store, one.counter, command);
    if (one.own) paths = OwnCgroups(paths, command);
    for (std::string& path : paths)
      out.push_back({one.name, one.unit, Series::Scope::kMachine, one.counter,
                     1, std::nullopt, std::move(path)});
  }
  return out;
}

}  // namespace sonde

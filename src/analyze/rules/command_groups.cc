#include "analyze/rules/command_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/facts/steady.h"
#include "base/text.h"
#include "base/time.h"

namespace sonde {
namespace {

constexpr uint64_t kMany = 20;
constexpr int64_t kShortNs = 100 * kNsPerMs;
constexpr double kLeader = 0.5;
constexpr size_t kShown = 3;
constexpr double kNotableShare = 0.01;

int64_t MeanLife(const CommandGroup& group) {
  return group.wall_ns /
         static_cast<int64_t>(std::clamp<uint64_t>(group.count, 1, INT64_MAX));
}

}  // namespace

bool CommandGroup::Led() const {
  return busiest != nullptr &&
         busiest->cpu_share.value_or(0) > kLeader * cpu_share;
}

bool CommandGroup::ManyShort() const {
  return !Led() && count >= kMany && MeanLife(*this) < kShortNs;
}

std::string CommandGroup::Call() const {
  if (count > 1 && !Led())
    return fmt::format("its {} processes {}", count, Printable(name, 24));
  return busiest != nullptr ? CallProcess(*busiest) : Printable(name, 40);
}

Where CommandGroup::Look() const {
  if (busiest == nullptr) return {};
  const Process& row = busiest->row;
  return {row.number, 0, row.pid, 0, busiest->name, busiest->cmdline, ""};
}

std::vector<CommandGroup> GroupsByName(const Facts& facts) {
  std::map<std::string, CommandGroup> by_name;
  const auto add = [&](const std::string& name, uint64_t count,
                       const MaybeNumber& share, int64_t wall_ns) {
    CommandGroup& group = by_name[name];
    group.name = name;
    group.count += count;
    group.cpu_share += share.value_or(0);
    if (__builtin_add_overflow(group.wall_ns, wall_ns, &group.wall_ns))
      group.wall_ns = INT64_MAX;
    return &group;
  };
  for (const ProcessFacts& p : facts.processes) {
    CommandGroup* const group = add(p.name, 1, p.cpu_share, p.wall_ns);
    if (group->busiest == nullptr) group->busiest = &p;  // most CPU first
  }
  for (const ShortProcesses& s : facts.short_processes)
    add(s.name, s.count, s.cpu_share, s.wall_ns);
  std::vector<CommandGroup> out;
  for (auto& [name, group] : by_name) out.push_back(std::move(group));
  std::stable_sort(out.begin(), out.end(),
                   [](const CommandGroup& a, const CommandGroup& b) {
                     return a.cpu_share > b.cpu_share;
                   });
  return out;
}

std::string CallTop(const std::vector<CommandGroup>& groups) {
  std::string out;
  for (size_t i = 0; i < groups.size() && i < kShown; ++i) {
    const CommandGroup& g = groups[i];
    if (i > 0 && g.cpu_share < kNotableShare) break;
    out +=
        fmt::format("{}{}{} {}", out.empty() ? "" : ", ", Printable(g.name, 24),
                    g.count > 1 ? fmt::format(" ({} processes)", g.count) : "",
                    FormatShare(g.cpu_share));
  }
  return out;
}

std::string AdviceOnShort(const CommandGroup& group) {
  if (!group.ManyShort()) return "";
  return fmt::format(
      " Each {} lived {} on average, and starting a process is work too: let "
      "one do what many do.",
      Printable(group.name, 24), FormatDuration(MeanLife(group)));
}

}  // namespace sonde

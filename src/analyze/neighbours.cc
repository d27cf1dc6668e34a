#include "analyze/neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace sonde {
namespace {

constexpr size_t kMostNeighbours = 3;
constexpr size_t kMaxNameChars = 24;
constexpr double kMaxCores = 1e5;
// Less than this in a sentence says nothing.
constexpr double kNotableCores = 0.05;

}  // namespace

std::vector<Neighbour> NeighboursOf(const Store& store) {
  std::vector<Neighbour> out;
  const auto json =
      nlohmann::json::parse(store.Meta("neighbours"), nullptr, false);
  if (!json.is_array()) return out;
  for (const auto& one : json) {
    if (out.size() == kMostNeighbours) break;
    if (!one.is_object()) continue;
    const auto name = one.find("name");
    const auto cores = one.find("cores");
    if (name == one.end() || !name->is_string() || cores == one.end() ||
        !cores->is_number())
      continue;
    const double used = cores->get<double>();
    if (!(used >= kNotableCores && used <= kMaxCores)) continue;
    out.push_back(
        {Printable(name->get_ref<const std::string&>(), kMaxNameChars), used});
  }
  std::stable_sort(
      out.begin(), out.end(),
      [](const Neighbour& a, const Neighbour& b) { return a.cores > b.cores; });
  return out;
}

std::string CallNeighbours(const Facts& facts) {
  std::string out;
  for (const Neighbour& one : facts.neighbours)
    out += fmt::format("{}{} {:.2f} cores", out.empty() ? "" : ", ", one.name,
                       one.cores);
  return out;
}

std::string OthersUsed(const Facts& facts, double cores) {
  const std::string who = CallNeighbours(facts);
  return fmt::format("Other programs used {:.2f} cores{}", cores,
                     who.empty() ? "" : fmt::format(" ({})", who));
}

std::string AdviceOnNeighbours(const Facts& facts) {
  const std::string who = CallNeighbours(facts);
  // Where each terminal has a group of its own, nice counts only inside of it.
  const bool nice =
      MetaNumber(*facts.store, "sched_autogroup").value_or(0) == 0;
  return fmt::format(
      "Run it again when the other programs are done{}, or move them to other "
      "cores (taskset){}.{}",
      who.empty() ? "" : fmt::format(" ({})", who),
      nice ? " or behind it (nice)" : "",
      who.empty() ? " `ps -eo pcpu,pid,user,comm --sort=-pcpu | head` shows "
                    "them while they run."
                  : "");
}

}  // namespace sonde

#include "analyze/facts/neighbour_facts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace sonde {
namespace {

constexpr size_t kMostNeighbours = 4;
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

}  // namespace sonde

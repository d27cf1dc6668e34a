#include "analyze/facts/line_facts.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "store/stack_names.h"

namespace sonde {
namespace {

constexpr uint64_t kMostLineSteps = 20'000'000;
constexpr size_t kMostLineRows = 1 << 20;

struct LineRow {
  LineTime time;
  uint64_t seen_in = 0;  // the last sum that had it
};

}  // namespace

std::vector<FileLines> HottestFiles(const Store& store,
                                    const std::vector<StackSum>& sums,
                                    size_t most) {
  StackNames names(store);
  std::unordered_map<std::string_view, uint32_t> file_numbers;
  std::vector<FileLines> files;
  std::vector<uint32_t> file_of;               // by function
  std::unordered_map<uint64_t, LineRow> rows;  // by file and line
  std::vector<StackPlace> places;
  uint64_t steps = 0, number = 0;
  for (const StackSum& sum : sums) {
    ++number;
    names.Of(sum.stack, places,
             steps < kMostLineSteps ? StackNames::kMostPlaces : 1);
    steps += places.size();
    for (size_t i = file_of.size(); i < names.functions().size(); ++i) {
      const std::string_view file = names.functions()[i].file;
      const auto [at, fresh] =
          file_numbers.try_emplace(file, static_cast<uint32_t>(files.size()));
      if (fresh) files.push_back({std::string(file), 0, {}});
      file_of.push_back(at->second);
    }
    const size_t own = places.empty() ? 0 : OwnPlace(names, places);
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i].line == 0) continue;
      const uint32_t file = file_of[places[i].function];
      const uint64_t key = uint64_t{file} << 32 | places[i].line;
      if (rows.size() >= kMostLineRows && !rows.contains(key)) continue;
      LineRow& row = rows[key];
      if (i == 0 || i == own) {
        row.time.self_ns += sum.running_ns;
        files[file].self_ns += sum.running_ns;
      }
      if (row.seen_in == number) continue;  // it called itself
      row.seen_in = number;
      row.time.total_ns += sum.running_ns;
    }
  }
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < files.size(); ++i)
    if (!files[i].file.empty() && files[i].self_ns > 0) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(files[b].self_ns, files[a].file) <
           std::tie(files[a].self_ns, files[b].file);
  });
  order.resize(std::min(order.size(), most));
  for (const auto& [key, row] : rows) {
    const auto file = static_cast<uint32_t>(key >> 32);
    if (std::find(order.begin(), order.end(), file) != order.end())
      files[file].lines.emplace(static_cast<uint32_t>(key), row.time);
  }
  std::vector<FileLines> out;
  for (const uint32_t i : order) out.push_back(std::move(files[i]));
  return out;
}

}  // namespace sonde

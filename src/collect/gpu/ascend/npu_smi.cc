#include "collect/gpu/ascend/npu_smi.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/time.h"
#include "collect/proc/run_tool.h"

namespace sonde {
namespace {

constexpr char kTool[] = "npu-smi";
constexpr int64_t kEveryNs = kNsPerSec;
constexpr int64_t kToolNs = 3 * kNsPerSec / 2;
constexpr double kSmiMegabyte = 1 << 20;
constexpr int kMostChips = 16;

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::optional<double> Number(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

// Calls `line` for each "name : value", and for each empty line with nothing.
template <typename Line>
void ForEachLine(std::string_view text, const Line& line) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view one = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t colon = one.find(':');
    if (one.empty())
      line(std::string_view(), std::string_view());
    else if (colon != std::string_view::npos)
      line(Trim(one.substr(0, colon)), Trim(one.substr(colon + 1)));
  }
}

class NpuSmi : public DeviceSource {
 public:
  explicit NpuSmi(const std::vector<std::pair<int, int>>& cards) {
    for (const auto& [card, chips] : cards)
      for (int chip = 0; chip < chips; ++chip) {
        places_.push_back({card, chip});
        infos_.push_back(
            {"ascend", "Ascend NPU " + std::to_string(card) +
                           (chips > 1 ? " chip " + std::to_string(chip) : "")});
      }
  }

  int64_t interval_ns() const override { return kEveryNs; }

  bool Read(size_t index, DeviceReading& out) override {
    const auto [card, chip] = places_[index];
    if (index == 0 || places_[index - 1].first != card) {
      common_ = Ask("common", card);
      // One that hangs once is not waited for twice.
      usages_ = common_.empty() ? NpuSmiChips() : Ask("usages", card);
    }
    return ReadNpuSmi(common_, usages_, chip, out);
  }

 private:
  static NpuSmiChips Ask(const char* what, int card) {
    const auto text = RunTool(
        {kTool, "info", "-t", what, "-i", std::to_string(card)}, kToolNs);
    return text ? ParseNpuSmi(*text) : NpuSmiChips();
  }

  std::vector<std::pair<int, int>> places_;  // card, chip on it
  NpuSmiChips common_, usages_;              // of the card that was last asked
};

}  // namespace

NpuSmiChips ParseNpuSmi(std::string_view text) {
  NpuSmiChips chips;
  std::map<std::string, std::string> part, unnamed;
  const auto end_part = [&] {
    if (const auto id = part.find("Chip ID"); id != part.end()) {
      if (const auto number = Number(id->second);
          number && *number >= 0 && *number < kMostChips)
        chips[static_cast<int>(*number)].merge(part);
    } else if (!part.contains("Chip Name")) {
      unnamed.merge(part);
    }
    part.clear();
  };
  ForEachLine(text, [&](std::string_view name, std::string_view value) {
    if (name.empty())
      end_part();
    else
      part.emplace(name, value);
  });
  end_part();
  if (chips.empty() && !unnamed.empty()) chips[0] = std::move(unnamed);
  return chips;
}

std::vector<std::pair<int, int>> ParseNpuSmiList(std::string_view text) {
  std::vector<std::pair<int, int>> cards;
  ForEachLine(text, [&](std::string_view name, std::string_view value) {
    const auto number = Number(value);
    if (!number || !(*number >= 0 && *number <= 1 << 20)) return;
    if (name == "NPU ID")
      cards.push_back({static_cast<int>(*number), 1});
    else if (name == "Chip Count" && !cards.empty())
      cards.back().second = std::min(static_cast<int>(*number), kMostChips);
  });
  return cards;
}

bool ReadNpuSmi(const NpuSmiChips& common, const NpuSmiChips& usages, int chip,
                DeviceReading& out) {
  bool any = false;
  const auto get = [&](const NpuSmiChips& chips, const std::string& name) {
    const auto at = chips.find(chip);
    if (at == chips.end()) return kNotRead;
    const auto value = at->second.find(name);
    if (value == at->second.end()) return kNotRead;
    const auto number = Number(value->second);
    any |= number.has_value();
    return number.value_or(kNotRead);
  };
  out.busy_pct = get(common, "Aicore Usage Rate(%)");
  out.clock_mhz = get(common, "Aicore curFreq(MHZ)");
  out.temp_c = get(common, "Temperature(C)");
  out.power_w = get(common, "NPU Real-time Power(W)");
  // Which kind of memory there is depends on the chip; the other has size 0.
  for (const std::string kind : {"HBM", "DDR", "Memory"}) {
    const double size_mb = get(usages, kind + " Capacity(MB)");
    if (!(size_mb > 0)) continue;
    out.mem_total_bytes = size_mb * kSmiMegabyte;
    out.mem_used_bytes =
        out.mem_total_bytes * get(usages, kind + " Usage Rate(%)") / 100;
    out.mem_busy_pct = get(usages, kind + " Bandwidth Usage Rate(%)");
    break;
  }
  return any;
}

std::unique_ptr<DeviceSource> OpenNpuSmi(std::string& why) {
  const auto text = RunTool({kTool, "info", "-l"}, 2 * kToolNs);
  if (!text) {
    why = "libdcmi.so cannot be loaded, and npu-smi does not work";
    return nullptr;
  }
  auto source = std::make_unique<NpuSmi>(ParseNpuSmiList(*text));
  if (!source->devices().empty()) return source;
  why = "libdcmi.so cannot be loaded, and npu-smi lists no device";
  return nullptr;
}

}  // namespace sonde

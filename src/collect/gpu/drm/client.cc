#include "collect/gpu/drm/client.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace sonde {
namespace {

// "2048 KiB" and the like as bytes.
double Bytes(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return kNotRead;
  const std::string_view unit(
      end, static_cast<size_t>(text.data() + text.size() - end));
  if (unit.find("KiB") != std::string_view::npos) return value * 1024;
  if (unit.find("MiB") != std::string_view::npos) return value * 1024 * 1024;
  return value;
}

void AddBytes(std::string_view text, std::optional<double>& sum) {
  if (const double bytes = Bytes(text); !std::isnan(bytes))
    sum = sum.value_or(0) + bytes;
}

// Sums of all regions, by the kind of the number.
struct Memory {
  std::optional<double> resident, memory, total;
};

// What of an engine was told, in the order of kEngineKeys.
struct Told {
  std::optional<uint64_t> capacity, ns, cycles, total_cycles;
};
struct EngineKey {
  std::string_view prefix;
  std::optional<uint64_t> Told::*value;
};
// The first that fits.
constexpr EngineKey kEngineKeys[] = {
    {"engine-capacity-", &Told::capacity},
    {"engine-", &Told::ns},
    {"cycles-", &Told::cycles},
    {"total-cycles-", &Told::total_cycles},
};

// True if it is of an engine.
bool TakeEngine(std::string_view key, std::string_view value,
                std::map<std::string, Told>& engines) {
  for (const EngineKey& one : kEngineKeys) {
    if (!key.starts_with(one.prefix)) continue;
    uint64_t number = 0;
    if (std::from_chars(value.data(), value.data() + value.size(), number).ec ==
        std::errc())
      engines[std::string(key.substr(one.prefix.size()))].*one.value = number;
    return true;
  }
  return false;
}

void TakeLine(std::string_view key, std::string_view value, DrmClient& client,
              std::map<std::string, Told>& engines, Memory& memory) {
  if (key == "driver") {
    client.driver = value;
  } else if (key == "pdev") {
    client.device = value;
  } else if (key == "client-id") {
    client.id = value;
  } else if (TakeEngine(key, value, engines)) {
  } else if (key.starts_with("resident-")) {
    AddBytes(value, memory.resident);
  } else if (key.starts_with("memory-")) {
    AddBytes(value, memory.memory);
  } else if (key.starts_with("total-")) {
    AddBytes(value, memory.total);
  }
}

}  // namespace

DrmClient ParseDrmClient(std::string_view text) {
  DrmClient client;
  std::map<std::string, Told> engines;
  Memory memory;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || !line.starts_with("drm-")) continue;
    std::string_view value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    if (colon > 4)
      TakeLine(line.substr(4, colon - 4), value, client, engines, memory);
  }
  for (const auto& [name, told] : engines) {
    const uint64_t capacity = std::max<uint64_t>(1, told.capacity.value_or(1));
    if (told.ns)
      client.engines[name] = {*told.ns, 0, capacity};
    else if (told.cycles && told.total_cycles.value_or(0) != 0)
      client.engines[name] = {*told.cycles, *told.total_cycles, capacity};
  }
  for (const auto& sum : {memory.resident, memory.memory, memory.total})
    if (sum && std::isnan(client.memory_bytes)) client.memory_bytes = *sum;
  return client;
}

double DrmBusyShare(const std::map<std::string, DrmEngines>& before,
                    const std::map<std::string, DrmEngines>& now, int64_t ns) {
  std::map<std::string, double> shares;
  for (const auto& [id, engines] : now) {
    const auto client = before.find(id);
    if (client == before.end()) continue;
    for (const auto& [name, engine] : engines) {
      const auto old = client->second.find(name);
      if (old == client->second.end() || engine.busy <= old->second.busy ||
          engine.cycles < old->second.cycles)
        continue;
      const double whole =
          engine.cycles == 0
              ? static_cast<double>(ns)
              : static_cast<double>(engine.cycles - old->second.cycles);
      if (whole > 0)
        shares[name] += static_cast<double>(engine.busy - old->second.busy) /
                        whole / static_cast<double>(engine.capacity);
    }
  }
  double most = 0;
  for (const auto& [name, share] : shares) most = std::max(most, share);
  return std::min(1.0, most);
}

}  // namespace sonde

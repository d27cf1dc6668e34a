#include "collect/proc/machine_files.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/time.h"
#include "collect/proc/text_scanner.h"

namespace sonde {
namespace {

constexpr uint64_t kSectorBytes = 512;
constexpr size_t kMostCores = 8192;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool StandsOnOthers(std::string_view name) {
  for (const std::string_view prefix :
       {"loop", "ram", "zram", "dm-", "md", "sr", "fd"})
    if (name.starts_with(prefix)) return true;
  return false;
}

// The disk a partition's name points to: sda1 to sda, nvme0n1p2 to nvme0n1.
std::string_view ParentDisk(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && IsDigit(name[end - 1])) --end;
  if (end == name.size() || end == 0) return {};
  if (name[end - 1] == 'p' && end > 1 && IsDigit(name[end - 2]))
    return name.substr(0, end - 1);
  return name.substr(0, end);
}

}  // namespace

void ParseMachineStat(std::string_view text, MachineStat& out) {
  out.cores.clear();
  out.context_switches = out.running = out.blocked = std::nullopt;
  TextScanner in(text);
  while (!in.done()) {
    TextScanner line(in.Line());
    const std::string_view key = line.Word();
    uint64_t value = 0;
    if (key.size() > 3 && key.starts_with("cpu")) {
      MachineStat::Core core;
      uint64_t soft = 0;
      TextScanner number(key.substr(3));
      if (!number.Number(&value) || !number.done() || value >= kMostCores ||
          out.cores.size() >= kMostCores || !line.Number(&core.user) ||
          !line.Number(&core.nice) || !line.Number(&core.system) ||
          !line.Number(&core.idle) || !line.Number(&core.iowait) ||
          !line.Number(&core.irq) || !line.Number(&soft) ||
          __builtin_add_overflow(core.irq, soft, &core.irq))
        continue;
      line.Number(&core.steal);
      core.number = static_cast<uint32_t>(value);
      out.cores.push_back(core);
    } else if (key == "ctxt") {
      if (line.Number(&value)) out.context_switches = value;
    } else if (key == "procs_running") {
      if (line.Number(&value)) out.running = value;
    } else if (key == "procs_blocked") {
      if (line.Number(&value)) out.blocked = value;
    }
  }
}

MemInfo ParseMemInfo(std::string_view text) {
  MemInfo out;
  struct Field {
    std::string_view key;
    std::optional<uint64_t>* value;
  };
  const Field fields[] = {
      {"MemTotal:", &out.total},         {"MemFree:", &out.free},
      {"MemAvailable:", &out.available}, {"Cached:", &out.cached},
      {"SwapTotal:", &out.swap_total},   {"SwapFree:", &out.swap_free},
  };
  size_t left = std::size(fields);
  TextScanner in(text);
  while (!in.done() && left > 0) {
    TextScanner line(in.Line());
    const std::string_view key = line.Word();
    for (const Field& field : fields) {
      uint64_t kilobytes = 0;
      if (key != field.key) continue;
      if (line.Number(&kilobytes) && kilobytes < (uint64_t{1} << 53)) {
        *field.value = kilobytes * 1024;
        --left;
      }
      break;
    }
  }
  return out;
}

void ParseDiskStats(std::string_view text, std::vector<DiskStat>& out) {
  out.clear();
  TextScanner in(text);
  while (!in.done()) {
    TextScanner line(in.Line());
    uint64_t skipped = 0, read_sectors = 0, write_sectors = 0, busy_ms = 0;
    DiskStat disk;
    if (!line.Number(&skipped) || !line.Number(&skipped)) continue;
    disk.name = line.Word();
    if (disk.name.empty() || !line.Number(&disk.reads) ||
        !line.Number(&skipped) || !line.Number(&read_sectors) ||
        !line.Number(&skipped) || !line.Number(&disk.writes) ||
        !line.Number(&skipped) || !line.Number(&write_sectors) ||
        !line.Number(&skipped) || !line.Number(&skipped) ||
        !line.Number(&busy_ms))
      continue;
    if (StandsOnOthers(disk.name) ||
        __builtin_mul_overflow(read_sectors, kSectorBytes, &disk.read_bytes) ||
        __builtin_mul_overflow(write_sectors, kSectorBytes,
                               &disk.write_bytes) ||
        __builtin_mul_overflow(busy_ms, static_cast<uint64_t>(kNsPerMs),
                               &disk.busy_ns))
      continue;
    out.push_back(disk);
  }
  // A partition is left out if its disk is there. Some machines have only sda1.
  const std::vector<DiskStat> all = out;
  std::erase_if(out, [&](const DiskStat& one) {
    const std::string_view parent = ParentDisk(one.name);
    return !parent.empty() &&
           std::any_of(all.begin(), all.end(), [&](const DiskStat& other) {
             return other.name == parent;
           });
  });
}

void ParseNetDev(std::string_view text, std::vector<NetStat>& out) {
  out.clear();
  TextScanner in(text);
  while (!in.done()) {
    const std::string_view line = in.Line();
    const size_t colon = line.rfind(':');
    if (colon == std::string_view::npos) continue;
    NetStat net;
    net.name = TextScanner(line.substr(0, colon)).Word();
    TextScanner numbers(line.substr(colon + 1));
    if (net.name.empty() || net.name == "lo" ||
        !numbers.Number(&net.rx_bytes) || !numbers.Number(&net.rx_packets) ||
        !numbers.SkipWords(6) || !numbers.Number(&net.tx_bytes) ||
        !numbers.Number(&net.tx_packets))
      continue;
    out.push_back(net);
  }
}

Pressure ParsePressure(std::string_view text) {
  Pressure out;
  TextScanner in(text);
  while (!in.done()) {
    const std::string_view line = in.Line();
    const size_t total = line.rfind("total=");
    uint64_t value_us = 0, value_ns = 0;
    if (total == std::string_view::npos ||
        !TextScanner(line.substr(total + 6)).Number(&value_us) ||
        __builtin_mul_overflow(value_us, static_cast<uint64_t>(kNsPerUs),
                               &value_ns))
      continue;
    if (line.starts_with("some ")) out.some_ns = value_ns;
    if (line.starts_with("full ")) out.full_ns = value_ns;
  }
  return out;
}

std::optional<double> ParseLoad1(std::string_view text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(
      text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (failure != std::errc() || !std::isfinite(value) || value < 0)
    return std::nullopt;
  return value;
}

std::optional<uint64_t> ParseOomKills(std::string_view text) {
  constexpr std::string_view kKey = "\noom_kill ";
  const size_t at = text.find(kKey);
  uint64_t kills = 0;
  if (at == std::string_view::npos ||
      !TextScanner(text.substr(at + kKey.size())).Number(&kills))
    return std::nullopt;
  return kills;
}

bool ShmIsMemory(std::string_view text) {
  bool memory = false;
  TextScanner in(text);
  while (!in.done()) {
    const std::string_view line = in.Line();
    const size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    TextScanner left(line.substr(0, dash));
    if (!left.SkipWords(4)) continue;
    const std::string_view point = left.Word();
    const std::string_view type = TextScanner(line.substr(dash + 3)).Word();
    if (point != "/" && point != "/dev" && point != "/dev/shm") continue;
    if (type.starts_with("fuse")) return false;
    // The last one covers those before it.
    if (point == "/dev/shm") memory = type == "tmpfs" || type == "ramfs";
  }
  return memory;
}

std::vector<int> ParseCpuList(std::string_view text) {
  std::vector<int> out;
  TextScanner in(text);
  for (;;) {
    uint64_t first = 0, last = 0;
    if (!in.Number(&first)) return {};
    last = first;
    if (in.rest().starts_with('-')) {
      in = TextScanner(in.rest().substr(1));
      if (!in.Number(&last)) return {};
    }
    if (last < first || last >= kMostCores) return {};
    for (uint64_t cpu = first; cpu <= last && out.size() < kMostCores; ++cpu)
      out.push_back(static_cast<int>(cpu));
    if (!in.rest().starts_with(',')) break;
    in = TextScanner(in.rest().substr(1));
  }
  const std::string_view rest = in.rest();
  if (!rest.empty() && rest != "\n") return {};
  return out;
}

}  // namespace sonde

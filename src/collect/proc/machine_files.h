// Files of the whole machine, /proc/*, as values. Pure functions over hostile
// text. Functions called ten times a second fill a struct that is used again.

#ifndef SONDE_COLLECT_PROC_MACHINE_FILES_H_
#define SONDE_COLLECT_PROC_MACHINE_FILES_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sonde {

// /proc/stat. Times in clock ticks.
struct MachineStat {
  struct Core {
    uint32_t number = 0;
    uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0;
    uint64_t irq = 0;  // hard and soft
    uint64_t steal = 0;
  };
  std::vector<Core> cores;
  std::optional<uint64_t> context_switches, running, blocked;
};
void ParseMachineStat(std::string_view text, MachineStat& out);

// /proc/meminfo, in bytes.
struct MemInfo {
  std::optional<uint64_t> total, free, available, cached;
  std::optional<uint64_t> swap_total, swap_free;
};
MemInfo ParseMemInfo(std::string_view text);

// /proc/diskstats: whole disks only. Neither partitions, nor what is made of
// other disks or of memory (loop, ram, dm, md), whose bytes would count twice.
struct DiskStat {
  std::string_view name;
  uint64_t reads = 0, writes = 0;
  uint64_t read_bytes = 0, write_bytes = 0;
  uint64_t busy_ns = 0;
};
void ParseDiskStats(std::string_view text, std::vector<DiskStat>& out);

// /proc/net/dev without loopback.
struct NetStat {
  std::string_view name;
  uint64_t rx_bytes = 0, rx_packets = 0;
  uint64_t tx_bytes = 0, tx_packets = 0;
};
void ParseNetDev(std::string_view text, std::vector<NetStat>& out);

// /proc/pressure/*: time lost since boot.
struct Pressure {
  std::optional<uint64_t> some_ns, full_ns;
};
Pressure ParsePressure(std::string_view text);

// /proc/loadavg: of the last minute.
std::optional<double> ParseLoad1(std::string_view text);

// /proc/vmstat: processes that were killed since boot for want of memory, in a
// cgroup or the whole machine.
std::optional<uint64_t> ParseOomKills(std::string_view text);

// /proc/PID/mountinfo: /dev/shm is a memory file system, and nothing on the way
// to it is a file system that a program serves (FUSE), which may never answer.
bool ShmIsMemory(std::string_view text);

// "0-3,7" as numbers; nothing if it is not such a list. At most 8192.
std::vector<int> ParseCpuList(std::string_view text);

}  // namespace sonde

#endif  // SONDE_COLLECT_PROC_MACHINE_FILES_H_

// Any bytes, given to the readers of /proc and of perf's records. The first
// byte chooses the reader.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "collect/proc/cgroup_counters.h"
#include "collect/proc/cgroup_files.h"
#include "collect/proc/container.h"
#include "collect/proc/machine_files.h"
#include "collect/proc/process_files.h"
#include "collect/tree/task_events.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sonde;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1),
                              size - 1);
  switch (data[0] % 17) {
    case 0:
      if (const auto stat = ParseProcessStat(text))
        CHECK(stat->comm.data() >= text.data() &&
              stat->comm.size() < text.size());
      break;
    case 1: {
      // Whatever the name, the fields behind it are the same.
      const std::string line =
          "7 (" + std::string(text) +
          ") S 1 7 7 0 -1 0 5 0 6 0 8 9 0 0 20 0 3 0 11 0 12 0 0 0 13";
      const auto stat = ParseProcessStat(line);
      CHECK(stat && stat->comm == text && stat->ppid == 1 &&
            stat->start_ticks == 11 && stat->resident_pages == 12);
      break;
    }
    case 2:
      ParseProcessIo(text);
      break;
    case 3:
      ParseSwitches(text);
      ParseRssFileBytes(text);
      break;
    case 4:
      ParseSchedStat(text);
      ParseLoad1(text);
      if (const auto number = ParseSyscall(text))
        CHECK(*number >= -1 && *number <= 1 << 16);
      if (const auto at = ParseBlockedAt(text))
        CHECK(at->call == *ParseSyscall(text));
      break;
    case 5:
      ParsePssBytes(text);
      for (const Mapping& mapping : ParseMaps(text))
        CHECK(mapping.begin < mapping.end);
      if (const auto pid = ParseOwnPid(text)) CHECK(*pid > 0);
      break;
    case 6:
      ParseChildren(text);
      ParseCpuList(text);
      break;
    case 7: {
      const auto argv = ParseCmdline(text);
      ShortCommand(argv);
      WholeCommand(argv);
      break;
    }
    case 8: {
      MachineStat stat;
      ParseMachineStat(text, stat);
      break;
    }
    case 9:
      ParseMemInfo(text);
      break;
    case 10: {
      std::vector<DiskStat> disks;
      ParseDiskStats(text.substr(0, 64 << 10), disks);
      break;
    }
    case 11: {
      std::vector<NetStat> nets;
      ParseNetDev(text, nets);
      break;
    }
    case 12:
      ParsePressure(text);
      ParseOomKills(text);
      ShmIsMemory(text);
      break;
    case 13: {
      const size_t half = text.size() / 2;
      FindCgroupLimits(text.substr(0, half), text.substr(half),
                       [&](const std::string&) -> std::optional<std::string> {
                         return std::string(text.substr(0, 64));
                       });
      break;
    }
    case 14: {
      std::vector<CgroupValue> values;
      for (const CgroupFile& file : CgroupFiles()) file.Parse(text, values);
      break;
    }
    case 15: {
      const size_t half = text.size() / 2;
      const std::string_view cgroup = text.substr(0, half);
      const std::string_view mounts = text.substr(half);
      const auto exists = [](const std::string& folder) {
        return folder.size() % 2 == 0;
      };
      PlaceOf(cgroup, mounts, "memory");
      FolderOf(cgroup, mounts, "x", exists);
      FindNamedCgroup(std::string(text.substr(0, 32)), mounts, exists);
      ContainerId(text);
      break;
    }
    default: {
      TaskRecord record;
      uint64_t lost = 0;
      ParseTaskRecord(text, &record, &lost);
      CHECK(record.comm[sizeof(record.comm) - 1] == '\0');
      break;
    }
  }
  return 0;
}

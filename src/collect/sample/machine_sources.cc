#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "collect/proc/container.h"
#include "collect/sample/machine_sampler.h"

namespace sonde {
namespace {

constexpr char kMountProc[] = "mount -t proc proc /proc";

SourceState CheckCores() {
  MachineStat stat;
  ParseMachineStat(ReadText("/proc/stat"), stat);
  if (stat.cores.empty())
    return SourceState::Fails("/proc/stat cannot be read", kMountProc);
  return SourceState::Works(fmt::format("{} cores", stat.cores.size()));
}

SourceState CheckMemory() {
  const MemInfo memory = ParseMemInfo(ReadText("/proc/meminfo"));
  if (!memory.total)
    return SourceState::Fails("/proc/meminfo cannot be read", kMountProc);
  return SourceState::Works(
      FormatBytes(static_cast<double>(*memory.total)) + ", swap " +
      FormatBytes(static_cast<double>(memory.swap_total.value_or(0))));
}

SourceState CheckPressure() {
  if (ParsePressure(ReadText("/proc/pressure/cpu")).some_ns)
    return SourceState::Works("time lost waiting for CPU, memory and disks");
  return SourceState::Fails("/proc/pressure cannot be read",
                            "boot with psi=1 on the kernel's command line");
}

template <typename Rows>
SourceState NamesOf(const Rows& rows, const char* none, const char* cure) {
  std::string names;
  for (const auto& row : rows) {
    if (!names.empty()) names += ", ";
    names += Printable(row.name, 32);
  }
  if (rows.empty()) return SourceState::Fails(none, cure);
  return SourceState::Works(Printable(names, 60));
}

SourceState CheckDisks() {
  const std::string text = ReadText("/proc/diskstats");
  if (text.empty())
    return SourceState::Fails("/proc/diskstats cannot be read", kMountProc);
  std::vector<DiskStat> disks;
  ParseDiskStats(text, disks);
  return NamesOf(disks, "no disk is shown in /proc/diskstats", kMountProc);
}

SourceState CheckNetwork() {
  const std::string text = ReadText("/proc/net/dev");
  if (text.empty())
    return SourceState::Fails("/proc/net/dev cannot be read", kMountProc);
  std::vector<NetStat> interfaces;
  ParseNetDev(text, interfaces);
  return NamesOf(
      interfaces, "there is no interface but loopback",
      InContainer() ? "docker run --network host ..." : "ip link set eth0 up");
}

constexpr SourceInfo kPressure = {"pressure", "time lost waiting (PSI)",
                                  CheckPressure};
constexpr SourceInfo kDisks = {"disks", "bytes, calls and busy time of disks",
                               CheckDisks};
constexpr SourceInfo kNetwork = {"network", "bytes and packets of interfaces",
                                 CheckNetwork};
constexpr SourceInfo kMachineSources[] = {
    {"cores", "use of each core", CheckCores},
    {"memory", "memory and swap of the machine", CheckMemory},
    kPressure,
    kDisks,
    kNetwork,
};

}  // namespace

std::vector<NotCollected> MachineSampler::not_collected() const {
  std::vector<NotCollected> out;
  if (no_pressure_) out.push_back(MissingNow(kPressure));
  if (no_disks_) out.push_back(MissingNow(kDisks));
  if (no_net_) out.push_back(MissingNow(kNetwork));
  if (more_networks_)
    out.push_back(Missing(
        kNetwork, fmt::format("the processes are in more than {} namespaces",
                              kMostNetworks)));
  return out;
}

extern const GathererInfo kMachineGatherer = {kMachineSources,
                                              Make<MachineSampler>};

}  // namespace sonde

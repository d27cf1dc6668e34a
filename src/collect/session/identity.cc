#include "collect/session/identity.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/version.h"
#include "collect/proc/cgroup_files.h"
#include "collect/proc/machine_files.h"
#include "collect/proc/text_scanner.h"

extern char** environ;

namespace sonde {
namespace {

using Json = nlohmann::json;

// JSON text for what may hold any bytes: those that are not UTF-8 are replaced.
std::string ToText(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Machines with many mounts or cores have files of some megabytes.
std::optional<std::string> ReadIfThere(const std::string& path) {
  auto text = ReadFile(path, 4 << 20);
  if (!text.ok()) return std::nullopt;
  return text.Take();
}

// The name of the CPU, however this architecture spells it.
std::string CpuModel() {
  const std::string text = ReadIfThere("/proc/cpuinfo").value_or("");
  for (const std::string_view key :
       {"model name", "Processor", "cpu model", "Hardware", "CPU part"}) {
    TextScanner in(text);
    while (!in.done()) {
      const std::string_view line = in.Line();
      const size_t colon = line.find(':');
      if (!line.starts_with(key) || colon == std::string_view::npos) continue;
      TextScanner value(line.substr(colon + 1));
      value.SkipSpaces();
      if (key == "CPU part") return "part " + std::string(value.rest());
      return std::string(value.rest());
    }
  }
  return {};
}

int AllowedCores(pid_t pid) {
  // A mask of a fixed size is too small for the largest machines.
  for (int cpus = 1024; cpus <= 1 << 16; cpus *= 4) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<size_t>(cpus));
    const size_t size = CPU_ALLOC_SIZE(static_cast<size_t>(cpus));
    const bool ok = ::sched_getaffinity(pid, size, set) == 0;
    const int count = ok ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (ok) return count;
  }
  return 0;
}

void PutEnvironment(TraceWriter& out, bool values) {
  std::vector<std::string> names;
  Json all = Json::object();
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const size_t equals = entry.find('=');
    const std::string name(entry.substr(0, equals));
    names.push_back(name);
    if (equals != std::string_view::npos)
      all[name] = std::string(entry.substr(equals + 1));
  }
  std::sort(names.begin(), names.end());
  out.PutMeta("environment_names", ToText(names));
  if (values) out.PutMeta("environment", ToText(all));
}

}  // namespace

std::string OwnCgroup() {
  return ReadIfThere("/proc/self/cgroup").value_or("");
}

void WriteIdentity(TraceWriter& out, pid_t pid, const std::string& cgroup,
                   bool environment_values) {
  out.PutMeta("sonde_version", kSondeVersion);
  utsname names = {};
  if (::uname(&names) == 0) {
    out.PutMeta("host", names.nodename);
    out.PutMeta("kernel", fmt::format("{} {} {}", names.sysname, names.release,
                                      names.machine));
  }
  if (const std::string model = CpuModel(); !model.empty())
    out.PutMeta("cpu_model", model);
  if (const long cores = ::sysconf(_SC_NPROCESSORS_ONLN); cores > 0)
    out.PutMeta("cores", std::to_string(cores));
  if (const int allowed = AllowedCores(pid); allowed > 0)
    out.PutMeta("allowed_cores", std::to_string(allowed));
  // On kernels that lack the file there are no autogroups.
  if (const auto text = ReadIfThere("/proc/sys/kernel/sched_autogroup_enabled"))
    out.PutMeta("sched_autogroup", text->substr(0, text->find('\n')));
  const MemInfo memory =
      ParseMemInfo(ReadIfThere("/proc/meminfo").value_or(""));
  if (memory.total) out.PutMeta("memory_bytes", std::to_string(*memory.total));
  const CgroupLimits limits = FindCgroupLimits(
      cgroup, ReadIfThere("/proc/self/mountinfo").value_or(""), ReadIfThere);
  if (!limits.path.empty()) out.PutMeta("cgroup", limits.path);
  if (limits.memory_bytes)
    out.PutMeta("memory_limit_bytes", std::to_string(*limits.memory_bytes));
  if (limits.cpu_cores)
    out.PutMeta("cpu_limit_cores", fmt::format("{:.3g}", *limits.cpu_cores));
  out.PutMeta("uid", std::to_string(::getuid()));
  std::vector<char> cwd(64 << 10);
  if (::getcwd(cwd.data(), cwd.size()) != nullptr)
    out.PutMeta("cwd", cwd.data());
  PutEnvironment(out, environment_values);
}

}  // namespace sonde

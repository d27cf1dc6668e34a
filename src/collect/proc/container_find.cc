// Finds a container by what the kernel shows of it: the paths of cgroups, in
// /proc/PID/cgroup, carry its id. Only a name needs the files, or the command,
// of whoever gave it.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "collect/proc/cgroup_files.h"
#include "collect/proc/container.h"
#include "collect/proc/pids.h"
#include "collect/proc/run_tool.h"

namespace sonde {
namespace {

constexpr size_t kIdDigits = 64;
constexpr size_t kLeastDigits = 4;  // of an id, to be taken for one
constexpr size_t kMaxFile = 64 << 20;
constexpr int64_t kAskNs = 5 * kNsPerSec;

bool IsHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::vector<std::string> PartsOf(const std::string& path) {
  std::vector<std::string> out;
  for (const auto& part : std::filesystem::path(path))
    out.push_back(part.string());
  return out;
}

// Podman: [{"id":"...","names":["..."]}].
std::string IdInPodman(const std::string& root, const std::string& name) {
  auto text = ReadFile(root + "/overlay-containers/containers.json", kMaxFile);
  if (!text.ok()) return "";
  const auto json = nlohmann::json::parse(text.value(), nullptr, false);
  if (!json.is_array()) return "";
  for (const auto& row : json) {
    if (!row.is_object() || !row.contains("id") || !row["id"].is_string() ||
        !row.contains("names") || !row["names"].is_array())
      continue;
    for (const auto& one : row["names"])
      if (one.is_string() && one.get<std::string>() == name)
        return row["id"].get<std::string>();
  }
  return "";
}

// Docker: a folder for each, with {"ID":"...","Name":"/..."}.
std::string IdInDocker(const std::string& name) {
  std::error_code failure;
  std::filesystem::directory_iterator at("/var/lib/docker/containers", failure);
  for (; !failure && at != std::filesystem::end(at); at.increment(failure)) {
    auto text = ReadFile(at->path().string() + "/config.v2.json", kMaxFile);
    if (!text.ok()) continue;
    const auto json = nlohmann::json::parse(text.value(), nullptr, false);
    if (json.is_object() && json.contains("Name") && json["Name"].is_string() &&
        json["Name"].get<std::string>() == "/" + name)
      return at->path().filename().string();
  }
  return "";
}

// The first line that a command prints; empty if it fails or takes too long.
std::string Ask(const char* command, const std::string& name) {
  const auto text = RunTool(
      {command, "inspect", "--type", "container", "--format={{.Id}}", name},
      kAskNs);
  return text ? text->substr(0, text->find('\n')) : "";
}

std::string IdOfName(const std::string& name) {
  if (name.empty() || name[0] == '-') return "";
  const char* const home = ::secure_getenv("HOME");
  for (const std::string& root :
       {std::string("/var/lib/containers/storage"),
        std::string(home ? home : "") + "/.local/share/containers/storage"})
    if (const std::string id = IdInPodman(root, name); !id.empty()) return id;
  if (const std::string id = IdInDocker(name); !id.empty()) return id;
  for (const char* const command : {"podman", "docker"})
    if (const std::string id = Ask(command, name); !id.empty()) return id;
  return "";
}

// Every container that has a process here, by id, with its oldest process.
std::map<std::string, ContainerPlace> Running(const std::string& lxc) {
  std::map<std::string, ContainerPlace> out;
  std::vector<pid_t> pids = NumbersIn("/proc");
  std::sort(pids.begin(), pids.end());
  for (const pid_t pid : pids) {
    auto text = ReadFile(fmt::format("/proc/{}/cgroup", pid));
    if (!text.ok()) continue;
    for (const CgroupLine& line : ParseCgroup(text.value())) {
      for (const std::string& part : PartsOf(line.path)) {
        std::string id(ContainerId(part));
        if (id.empty() && !lxc.empty() &&
            (part == lxc || part == "lxc.payload." + lxc))
          id = lxc;
        if (!id.empty())
          out.try_emplace(id, ContainerPlace{id, text.value(), part, pid});
      }
    }
  }
  return out;
}

}  // namespace

std::string_view ContainerId(std::string_view part) {
  if (part.ends_with(".scope")) part.remove_suffix(6);
  // Who looks after the container, and is older than it.
  if (part.find("-conmon-") != std::string_view::npos) return {};
  if (const size_t dash = part.rfind('-'); dash != std::string_view::npos)
    part.remove_prefix(dash + 1);
  return part.size() == kIdDigits && IsHex(part) ? part : std::string_view();
}

Result<ContainerPlace> FindContainer(const std::string& name) {
  const auto running = Running(name);
  std::vector<const ContainerPlace*> found;
  if (const auto whole = running.find(name); whole != running.end())
    return whole->second;
  if (name.size() >= kLeastDigits && IsHex(name))
    for (const auto& [id, place] : running)
      if (id.starts_with(name)) found.push_back(&place);
  if (found.size() > 1)
    return Error{Error::Kind::kUsage,
                 fmt::format("{} containers have an id that begins with {}",
                             found.size(), Printable(name)),
                 "give more of its digits"};
  if (found.size() == 1) return *found[0];
  const std::string id = IdOfName(name);
  if (const auto at = running.find(id); at != running.end()) return at->second;
  if (!id.empty())
    return Error{Error::Kind::kNotFound,
                 "container " + Printable(name) + " does not run",
                 "start it, then `sonde watch` it again"};
  return Error{Error::Kind::kNotFound,
               "there is no container " + Printable(name),
               "its id does as well: `podman ps` or `docker ps` shows it"};
}

}  // namespace sonde

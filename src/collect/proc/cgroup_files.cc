#include "collect/proc/cgroup_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "collect/proc/text_scanner.h"

namespace sonde {
namespace {

// No tree is deeper; a longer path is a lie.
constexpr int kDeepest = 64;

// Is `word` one of the words of `list`, which are parted by commas?
bool ListHas(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

// mountinfo writes space, tab, newline and backslash as \ooo.
std::string Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '7';
    };
    if (text[i] == '\\' && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 +
                               (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// The folders of `path` inside `mount`, own one first, up to the mount point.
std::vector<std::string> Folders(const CgroupMount& mount,
                                 std::string_view path) {
  // Only what lies below the mounted part can be reached. In a container
  // without a cgroup namespace the path may lie elsewhere: then the mount
  // point itself is ours.
  if (mount.root != "/") {
    if (path.starts_with(mount.root) &&
        (path.size() == mount.root.size() || path[mount.root.size()] == '/'))
      path.remove_prefix(mount.root.size());
    else
      path = "";
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  // "/../.." is what a cgroup outside of the own namespace looks like.
  if (path.find("..") != std::string_view::npos) path = "";
  std::vector<std::string> out;
  for (int i = 0; i < kDeepest && !path.empty(); ++i) {
    out.push_back(mount.point + std::string(path));
    path = path.substr(0, path.rfind('/'));
  }
  out.push_back(mount.point);
  return out;
}

template <typename T>
void Tighten(std::optional<T>& limit, T value) {
  if (!limit || value < *limit) limit = value;
}

}  // namespace

std::vector<CgroupLine> ParseCgroup(std::string_view text) {
  std::vector<CgroupLine> out;
  TextScanner in(text);
  while (!in.done()) {
    const std::string_view line = in.Line();
    const size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    out.push_back({std::string(line.substr(first + 1, second - first - 1)),
                   std::string(line.substr(second + 1))});
  }
  return out;
}

std::vector<CgroupMount> ParseCgroupMounts(std::string_view text) {
  std::vector<CgroupMount> out;
  TextScanner in(text);
  while (!in.done()) {
    const std::string_view line = in.Line();
    const size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    TextScanner left(line.substr(0, dash)), right(line.substr(dash + 3));
    const std::string_view type = right.Word();
    if (type != "cgroup" && type != "cgroup2") continue;
    if (!left.SkipWords(3)) continue;
    CgroupMount mount;
    mount.version2 = type == "cgroup2";
    mount.root = Unescape(left.Word());
    mount.point = Unescape(left.Word());
    right.Word();  // the device
    mount.options = std::string(right.Word());
    if (mount.root.starts_with('/') && mount.point.starts_with('/'))
      out.push_back(std::move(mount));
  }
  return out;
}

std::optional<CgroupPlace> PlaceOf(std::string_view cgroup,
                                   std::string_view mountinfo,
                                   std::string_view controller) {
  const std::vector<CgroupMount> mounts = ParseCgroupMounts(mountinfo);
  std::optional<CgroupPlace> out;
  for (const CgroupLine& line : ParseCgroup(cgroup)) {
    const bool version2 = line.controllers.empty();
    if (!version2 && !ListHas(line.controllers, controller)) continue;
    for (const CgroupMount& mount : mounts) {
      if (mount.version2 != version2 ||
          (!version2 && !ListHas(mount.options, controller)))
        continue;
      if (!out || !version2)
        out = CgroupPlace{version2, line.path, Folders(mount, line.path)};
      break;
    }
  }
  return out;
}

std::optional<std::string> FolderOf(std::string_view cgroup,
                                    std::string_view mountinfo,
                                    std::string_view part,
                                    const PathTest& exists) {
  const std::string end = fmt::format("/{}", part);
  const std::vector<CgroupMount> mounts = ParseCgroupMounts(mountinfo);
  for (const CgroupLine& line : ParseCgroup(cgroup))
    for (const CgroupMount& mount : mounts) {
      if (mount.version2 != line.controllers.empty()) continue;
      for (const std::string& folder : Folders(mount, line.path))
        if (folder.ends_with(end) && exists(folder)) return folder;
    }
  return std::nullopt;
}

std::optional<NamedCgroup> FindNamedCgroup(const std::string& path,
                                           std::string_view mountinfo,
                                           const PathTest& exists) {
  std::string wanted = path;
  while (wanted.size() > 1 && wanted.ends_with('/')) wanted.pop_back();
  if (!wanted.starts_with('/')) wanted = fmt::format("/{}", wanted);
  const std::vector<CgroupMount> mounts = ParseCgroupMounts(mountinfo);
  // Its path below what a mount shows; first as a folder, then as a name.
  for (const bool as_folder : {true, false})
    for (const CgroupMount& mount : mounts) {
      std::string below = wanted;
      if (as_folder) {
        if (wanted != mount.point && !wanted.starts_with(mount.point + "/"))
          continue;
        below = wanted.substr(mount.point.size());
      } else if (mount.root != "/" && wanted.starts_with(mount.root + "/")) {
        below = wanted.substr(mount.root.size());
      }
      const std::string folder = mount.point + below;
      if (!exists(folder)) continue;
      const std::string whole = (mount.root == "/" ? "" : mount.root) + below;
      NamedCgroup out{folder, ""};
      // Trees of version 1 have a cgroup of the same name, or none.
      for (const CgroupMount& one : mounts)
        if (one.version2 == mount.version2)
          out.cgroup += fmt::format("{}:{}:{}\n", one.version2 ? 0 : 1,
                                    one.version2 ? "" : one.options,
                                    whole.empty() ? "/" : whole);
      return out;
    }
  return std::nullopt;
}

CgroupLimits FindCgroupLimits(
    std::string_view cgroup, std::string_view mountinfo,
    const std::function<std::optional<std::string>(const std::string&)>& read) {
  CgroupLimits out;
  const auto number = [&](const std::string& path) -> std::optional<uint64_t> {
    const auto text = read(path);
    uint64_t value = 0;
    if (!text || !TextScanner(*text).Number(&value)) return std::nullopt;
    return value;
  };
  const std::vector<CgroupMount> mounts = ParseCgroupMounts(mountinfo);
  for (const CgroupLine& line : ParseCgroup(cgroup)) {
    const bool version2 = line.controllers.empty();
    const bool memory = version2 || ListHas(line.controllers, "memory");
    const bool cpu = version2 || ListHas(line.controllers, "cpu");
    if (version2 ? out.path.empty() || out.path == "/" : memory)
      out.path = line.path;
    for (const CgroupMount& mount : mounts) {
      if (mount.version2 != version2) continue;
      if (!version2 && !(memory && ListHas(mount.options, "memory")) &&
          !(cpu && ListHas(mount.options, "cpu")))
        continue;
      for (const std::string& folder : Folders(mount, line.path)) {
        if (memory) {
          const auto bytes = number(
              folder + (version2 ? "/memory.max" : "/memory.limit_in_bytes"));
          if (bytes && *bytes < kNoCgroupLimitBytes)
            Tighten(out.memory_bytes, *bytes);
        }
        if (!cpu) continue;
        uint64_t quota = 0, period = 0;
        if (version2) {
          const auto text = read(folder + "/cpu.max");
          if (!text) continue;
          TextScanner words(*text);
          if (!words.Number(&quota) || !words.Number(&period)) continue;
        } else {
          // An unlimited quota is -1, which is not a number here.
          const auto quota_us = number(folder + "/cpu.cfs_quota_us");
          const auto period_us = number(folder + "/cpu.cfs_period_us");
          if (!quota_us || !period_us) continue;
          quota = *quota_us;
          period = *period_us;
        }
        if (quota > 0 && period > 0)
          Tighten(out.cpu_cores,
                  static_cast<double>(quota) / static_cast<double>(period));
      }
    }
  }
  return out;
}

}  // namespace sonde

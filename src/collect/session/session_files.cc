#include "collect/session/session_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

namespace sonde {
namespace {

constexpr size_t kDigits = 16;

// The control socket, the files of ring/layout.h, those of rings_state.cc.
bool IsOurs(std::string_view name) {
  for (const std::string_view one : {"ctl", "control", "state.0", "state.1"})
    if (name == one) return true;
  return name.ends_with(".ring") || name.ends_with(".tails");
}

// Whether the directory at `path` is still the open one.
bool StillAt(int dir, const std::string& path) {
  struct stat open, there;
  return ::fstat(dir, &open) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         open.st_dev == there.st_dev && open.st_ino == there.st_ino;
}

}  // namespace

std::string SessionPrefix() { return fmt::format("sonde-{}-", ::getuid()); }

bool IsSessionName(std::string_view name, std::string_view ending) {
  const std::string prefix = SessionPrefix();
  if (name.size() != prefix.size() + kDigits + ending.size() ||
      !name.starts_with(prefix) || !name.ends_with(ending))
    return false;
  const std::string_view digits = name.substr(prefix.size(), kDigits);
  return digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::vector<std::string> NamesIn(int dir) {
  std::vector<std::string> names;
  ForEachName(dir, ".", [&](const char* name) { names.push_back(name); });
  return names;
}

bool RemoveSession(int dir, const std::string& path) {
  for (const std::string& name : NamesIn(dir)) {
    if (IsOurs(name) && ::unlinkat(dir, name.c_str(), 0) == 0) continue;
    // Fails for a file, and for a directory that is not empty.
    ::unlinkat(dir, name.c_str(), AT_REMOVEDIR);
  }
  ::unlinkat(dir, kSessionLock, 0);
  if (StillAt(dir, path)) ::rmdir(path.c_str());
  return NamesIn(dir).empty();
}

}  // namespace sonde

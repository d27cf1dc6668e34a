#include "cli/newest.h"

#include <dirent.h>
#include <sys/stat.h>

#include <memory>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "cli/output_name.h"

namespace sonde {

Result<std::string> NewestTrace() {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("."),
                                                      &::closedir);
  if (!directory) return ErrnoError(".", errno);
  std::string newest;
  std::pair<int64_t, int64_t> newest_time;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string name = entry->d_name;
    struct stat info;
    if (!name.ends_with(kTraceSuffix) || ::stat(name.c_str(), &info) != 0 ||
        !S_ISREG(info.st_mode))
      continue;
    const std::pair<int64_t, int64_t> time(info.st_mtim.tv_sec,
                                           info.st_mtim.tv_nsec);
    if (newest.empty() || time > newest_time) {
      newest = name;
      newest_time = time;
    }
  }
  if (newest.empty())
    return Error{Error::Kind::kNotFound, "there is no trace here (*.sonde)",
                 "`sonde run -- <command>` makes one"};
  return newest;
}

bool LooksLikeTracePath(const std::string& word) {
  struct stat info;
  return std::string_view(word).ends_with(kTraceSuffix) ||
         ::stat(word.c_str(), &info) == 0;
}

}  // namespace sonde

#include "collect/proc/pids.h"

#include <dirent.h>

#include <cstdint>
#include <memory>

#include "collect/proc/text_scanner.h"

namespace sonde {

std::vector<pid_t> NumbersIn(const std::string& path) {
  std::vector<pid_t> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()),
                                                &::closedir);
  if (!dir) return out;
  while (const dirent* const entry = ::readdir(dir.get())) {
    uint64_t number = 0;
    TextScanner in(entry->d_name);
    if (in.Number(&number) && in.done() && number > 0 && number <= INT32_MAX)
      out.push_back(static_cast<pid_t>(number));
  }
  return out;
}

}  // namespace sonde

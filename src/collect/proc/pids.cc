#include "collect/proc/pids.h"

#include <fcntl.h>

#include <cstdint>

#include "base/fd.h"
#include "collect/proc/text_scanner.h"

namespace sonde {

std::vector<pid_t> NumbersIn(const std::string& path) {
  std::vector<pid_t> out;
  ForEachName(AT_FDCWD, path, [&](const char* name) {
    uint64_t number = 0;
    TextScanner in(name);
    if (in.Number(&number) && in.done() && number > 0 && number <= INT32_MAX)
      out.push_back(static_cast<pid_t>(number));
  });
  return out;
}

}  // namespace sonde

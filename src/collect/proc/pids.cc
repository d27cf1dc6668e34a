#include "collect/proc/pids.h"

#include <fcntl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "base/fd.h"
#include "collect/proc/proc_file.h"
#include "collect/proc/process_files.h"
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

std::vector<pid_t> TreeOf(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : NumbersIn("/proc")) {
    const std::string text = ReadText("/proc/" + std::to_string(pid) + "/stat");
    if (const auto stat = ParseProcessStat(text))
      children.emplace(stat->ppid, pid);
  }
  std::vector<pid_t> out = {root};
  // A pid that is used again while we look may stand there twice.
  std::set<pid_t> known = {root};
  for (size_t i = 0; i < out.size(); ++i) {
    const auto [from, to] = children.equal_range(out[i]);
    for (auto at = from; at != to; ++at)
      if (known.insert(at->second).second) out.push_back(at->second);
  }
  return out;
}

}  // namespace sonde

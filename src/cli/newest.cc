#include "cli/newest.h"

#include <filesystem>
#include <system_error>

namespace sonde {

Result<std::string> NewestTrace() {
  namespace fs = std::filesystem;
  std::string newest;
  fs::file_time_type newest_time;
  std::error_code failure;
  for (fs::directory_iterator it(".", failure), end; !failure && it != end;
       it.increment(failure)) {
    std::error_code ignored;
    const fs::path name = it->path().filename();
    if (name.extension() != ".sonde" || !it->is_regular_file(ignored)) continue;
    const auto time = it->last_write_time(ignored);
    if (ignored || (!newest.empty() && time <= newest_time)) continue;
    newest = name.string();
    newest_time = time;
  }
  if (newest.empty())
    return Error{Error::Kind::kNotFound, "no trace (*.sonde) in this directory",
                 "`sonde run -- <command>` makes one"};
  return newest;
}

}  // namespace sonde

#include "export/chart/files.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/fd.h"
#include "export/chart/svg.h"
#include "export/output.h"

namespace sonde {
namespace {

constexpr size_t kMaxFile = 64 << 20;  // no picture of ours is larger
constexpr char kOurs[] = "class=\"sonde-chart\"";

// Something is there that this did not write.
bool Foreign(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return false;
  if (!S_ISREG(info.st_mode)) return true;
  const auto text = ReadFile(path, kMaxFile);
  return !text.ok() || text.value().find(kOurs) == std::string::npos;
}

}  // namespace

Result<std::vector<std::string>> WriteCharts(const Charts& charts,
                                             const std::string& directory,
                                             bool force) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return ErrnoError(directory, errno);
  std::vector<std::string> written;
  for (const ChartGroup& group : charts.groups) {
    const std::string path = directory + "/" + group.name + ".svg";
    if (!force && Foreign(path))
      return Error{Error::Kind::kUsage, path + ": exists and is not ours",
                   "--force replaces it, or name another directory"};
    ExportOptions options;
    options.force = true;
    TRY(auto out, Output::Create(path, options));
    out->Text(SvgOf(group, charts, /*standalone=*/true));
    TRY_OK(out->Commit());
    written.push_back(path);
  }
  return written;
}

}  // namespace sonde

// Small files of /sys and /proc as numbers, for the makers whose devices are
// files.

#ifndef SONDE_COLLECT_GPU_FILES_H_
#define SONDE_COLLECT_GPU_FILES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// The first line, without its end. Nothing if it cannot be read.
std::optional<std::string> ReadLine(const std::string& path);
// The decimal number that a file begins with, times `scale`; kNotRead if there
// is none.
double ReadNumber(const std::string& path, double scale = 1);
// Names in a directory that begin with `prefix`, sorted; none if it is not
// there.
std::vector<std::string> NamesIn(const std::string& dir,
                                 std::string_view prefix = "");
// The entries of /sys/class/drm that are whole devices ("card0"), of this
// driver, or of any if it is empty.
std::vector<std::string> DrmCards(const std::string& root,
                                  std::string_view driver);
// The name of the kernel's driver of a card; empty if not known.
std::string DriverOf(const std::string& root, const std::string& card);

}  // namespace sonde

#endif  // SONDE_COLLECT_GPU_FILES_H_

#include "collect/gpu/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/fd.h"
#include "collect/gpu/device.h"

namespace sonde {

std::optional<std::string> ReadLine(const std::string& path) {
  auto text = ReadFile(path);
  if (!text.ok()) return std::nullopt;
  std::string line = text.Take();
  if (const size_t end = line.find('\n'); end != std::string::npos)
    line.resize(end);
  return line;
}

double ReadNumber(const std::string& path, double scale) {
  const auto line = ReadLine(path);
  if (!line || line->empty()) return kNotRead;
  char* end = nullptr;
  const double value = std::strtod(line->c_str(), &end);
  return end == line->c_str() ? kNotRead : value * scale;
}

std::vector<std::string> NamesIn(const std::string& dir,
                                 std::string_view prefix) {
  std::vector<std::string> names;
  ForEachName(AT_FDCWD, dir, [&](const char* name) {
    if (name[0] != '.' && std::string_view(name).starts_with(prefix))
      names.push_back(name);
  });
  std::sort(names.begin(), names.end());
  return names;
}

std::string DriverOf(const std::string& root, const std::string& card) {
  char target[512];
  const std::string link = root + "/sys/class/drm/" + card + "/device/driver";
  const ssize_t size = ::readlink(link.c_str(), target, sizeof(target));
  if (size <= 0) return "";
  const std::string_view path(target, static_cast<size_t>(size));
  return std::string(path.substr(path.rfind('/') + 1));
}

std::vector<std::string> DrmCards(const std::string& root,
                                  std::string_view driver) {
  std::vector<std::string> cards = NamesIn(root + "/sys/class/drm", "card");
  std::erase_if(cards, [&](const std::string& card) {
    // Connectors ("card0-HDMI-A-1") are no devices.
    return !std::all_of(card.begin() + 4, card.end(), [](unsigned char c) {
      return std::isdigit(c);
    }) || (!driver.empty() && DriverOf(root, card) != driver);
  });
  return cards;
}

}  // namespace sonde

#include "collect/stacks/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

namespace sonde {

Fd OpenMapped(pid_t pid, const Mapping& mapping) {
  const std::string path = fmt::format("/proc/{}/root{}", pid, mapping.path);
  struct stat st = {};
  if (Fd fd = OpenRegular(AT_FDCWD, path.c_str(), O_RDONLY);
      fd.valid() && ::fstat(fd.get(), &st) == 0 &&
      // The devices may differ: btrfs and overlayfs say one to stat() and
      // another in maps.
      st.st_ino == mapping.inode)
    return fd;
  const std::string exact = fmt::format("/proc/{}/map_files/{:x}-{:x}", pid,
                                        mapping.begin, mapping.end);
  // A link, so that what it leads to is looked at before it is opened.
  const Fd place(::open(exact.c_str(), O_PATH | O_CLOEXEC));
  if (!place.valid() || ::fstat(place.get(), &st) != 0 || !S_ISREG(st.st_mode))
    return Fd();
  const std::string own = fmt::format("/proc/self/fd/{}", place.get());
  return Fd(::open(own.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

}  // namespace sonde

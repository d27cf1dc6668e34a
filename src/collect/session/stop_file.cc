#include "collect/session/stop_file.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"

namespace sonde {
namespace {

constexpr char kHint[] =
    "name a file that may be made and removed: "
    "--stop-file ./stop.flag";

constexpr off_t kMostBytes = 64;

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino &&
         a.st_ctim.tv_sec == b.st_ctim.tv_sec &&
         a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

std::string Called(const std::string& path) {
  return "stop file " + Printable(path);
}

Error Refuse(const std::string& path, const std::string& why) {
  return {Error::Kind::kUsage, Called(path) + ": " + why, kHint};
}

// Where `path` is, whatever links lead to it, also if nothing is there yet.
std::filesystem::path PlaceOf(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the kernel
  std::error_code failure;
  std::filesystem::path end = path;
  // A link to what is not there yet is not followed by weakly_canonical.
  for (int i = 0; i < kMostLinks && is_symlink(end, failure); ++i)
    end = end.parent_path() / read_symlink(end, failure);
  auto place = std::filesystem::weakly_canonical(end, failure);
  return failure ? end : place;
}

}  // namespace

Status StopFile::CheckApart(const std::string& path, const std::string& ours) {
  struct stat a, b;
  const bool same = ::stat(path.c_str(), &a) == 0 &&
                    ::stat(ours.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
                    a.st_ino == b.st_ino;
  if (!same && PlaceOf(path) != PlaceOf(ours)) return Ok();
  return Refuse(path, "is a file of the recording itself");
}

Result<StopFile> StopFile::Prepare(std::string path, bool awaited) {
  struct stat st = {};
  if (::lstat(path.c_str(), &st) != 0) {
    if (errno != ENOENT) return ErrnoError(Called(path), errno);
    const size_t slash = path.rfind('/');
    const std::string dir =
        slash == std::string::npos ? "." : path.substr(0, slash + 1);
    if (::stat(dir.c_str(), &st) != 0 || !S_ISDIR(st.st_mode))
      return Refuse(path, "there is no directory for it");
    return StopFile(std::move(path));
  }
  if (S_ISDIR(st.st_mode)) return Refuse(path, "is a directory");
  if (S_ISLNK(st.st_mode))
    return Refuse(path, "is a link; it would be removed");
  if (!S_ISREG(st.st_mode)) return Refuse(path, "exists and is not a file");
  // Whoever says stop makes an empty file, or one with a word in it.
  if (st.st_size > kMostBytes)
    return Refuse(path, "exists and has something in it; it would be removed");
  StopFile out(std::move(path));
  if (awaited)
    out.old_ = st;
  else if (::unlink(out.path_.c_str()) != 0 && errno != ENOENT)
    return ErrnoError(Called(out.path_) + " is left over and stays", errno);
  return out;
}

bool StopFile::Appeared() const {
  struct stat st;
  if (::lstat(path_.c_str(), &st) != 0) return false;
  return !old_ || !SameFile(*old_, st);
}

}  // namespace sonde

// A session is made under a name that ends in ".new", locked, and only then
// renamed: a directory with a final name and no lock on it is a dead one.
//
// Of one that lies beside its trace a small file with its path, named like it
// with ".at" behind, lies where sessions are looked for.

#include "collect/session/session_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "base/text.h"
#include "collect/session/session_files.h"
#include "ring/layout.h"

namespace sonde {
namespace {

constexpr std::string_view kUnfinished = ".new";
constexpr std::string_view kAt = ".at";
// A container's /dev/shm of 64 MB belongs to the data loaders in it: a ring
// must fit into a twentieth.
constexpr uint64_t kShare = 20;
constexpr time_t kUnfinishedAgeS = 60;
constexpr time_t kKeepS = 24 * 3600;
constexpr size_t kMaxCommandChars = 1000;
constexpr size_t kMaxInfoBytes = 256 << 10;

std::string Hex64() {
  uint64_t bits = 0;
  if (::getrandom(&bits, sizeof(bits), 0) != sizeof(bits))
    bits = static_cast<uint64_t>(::getpid()) << 32 ^
           static_cast<uint64_t>(::time(nullptr));
  return fmt::format("{:016x}", bits);
}

std::string RuntimeDir() {
  const char* dir = ::secure_getenv("XDG_RUNTIME_DIR");
  struct stat st;
  if (!dir || dir[0] != '/' || ::stat(dir, &st) != 0 || !S_ISDIR(st.st_mode) ||
      st.st_uid != ::getuid())
    return "";
  return dir;
}

bool HasRoom(const std::string& dir) {
  struct statvfs st;
  return ::statvfs(dir.c_str(), &st) == 0 &&
         uint64_t{st.f_blocks} * st.f_frsize / kShare >= kRingBytes &&
         uint64_t{st.f_bavail} * st.f_frsize >= 2 * kRingBytes;
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The directory at `path`, if it is one (no link) and this user's own.
Fd OpenOwn(int at, const std::string& path) {
  Fd dir(::openat(at, path.c_str(),
                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat st;
  if (dir.valid() &&
      (::fstat(dir.get(), &st) != 0 || st.st_uid != ::getuid())) {
    dir.Reset();
    errno = EPERM;
  }
  return dir;
}

// Where sessions lie if there is room.
std::vector<std::string> Bases() {
  std::vector<std::string> bases = {"/dev/shm"};
  if (std::string dir = RuntimeDir(); !dir.empty())
    bases.insert(bases.begin(), std::move(dir));
  return bases;
}

// Names in `dir` that are sessions of this user, finished or not, and files
// that say where one is.
std::vector<std::string> SessionNames(const std::string& dir) {
  std::vector<std::string> names;
  ForEachName(AT_FDCWD, dir, [&](const char* name) {
    for (const std::string_view ending : {std::string_view(), kUnfinished, kAt})
      if (IsSessionName(name, ending)) names.push_back(name);
  });
  return names;
}

// The path of the session that `name` of SessionNames(base) means; "" if it is
// none. What the file says is not believed, but for the directory it lies in.
std::string PathOf(const std::string& base, const std::string& name) {
  const std::string path = base + "/" + name;
  if (!name.ends_with(kAt)) return path;
  const Fd file = OpenRegular(AT_FDCWD, path.c_str(), O_RDONLY);
  struct stat st;
  if (!file.valid() || ::fstat(file.get(), &st) != 0 || st.st_uid != ::getuid())
    return "";
  const auto text = ReadFd(file.get(), path, PATH_MAX);
  const std::string last =
      fmt::format("/{}", name.substr(0, name.size() - kAt.size()));
  if (!text.ok() || text.value()[0] != '/' || !text.value().ends_with(last))
    return "";
  return text.value();
}

// The files that may say where the session at `path` is.
std::vector<std::string> FilesAt(const std::string& path) {
  std::vector<std::string> out;
  for (const std::string& base : Bases())
    out.push_back(base + path.substr(path.rfind('/')) + std::string(kAt));
  return out;
}

// In the first place that can be written to.
void WriteAt(const std::string& path) {
  for (const std::string& at : FilesAt(path)) {
    const Fd file(
        ::open(at.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.valid()) continue;
    ::fchmod(file.get(), 0600);
    if (WriteAll(file.get(), path.data(), path.size()) == 0) return;
    ::unlink(at.c_str());
  }
}

void RemoveAt(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1) + std::string(kAt);
  for (const std::string& base : Bases())
    if (PathOf(base, name) == path) ::unlink((base + "/" + name).c_str());
}

Fd OpenLock(int dir) { return OpenRegular(dir, kSessionLock, O_RDWR); }

// Also takes it, if nobody holds it: its maker is dead.
bool TakeLock(const Fd& lock) {
  return ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

// What the maker of the session said of it in its lock, which has just been
// opened. Nothing if this is no lock of ours.
std::optional<SessionInfo> ReadInfo(const Fd& lock, const std::string& path) {
  const auto text = ReadFd(lock.get(), path, kMaxInfoBytes);
  if (!text.ok()) return std::nullopt;
  const auto json = nlohmann::json::parse(text.value(), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto word = [&](const char* key) {
    const auto at = json.find(key);
    return at != json.end() && at->is_string() ? at->get<std::string>() : "";
  };
  SessionInfo info;
  info.dir = path;
  if (const auto at = json.find("pid");
      at != json.end() && at->is_number_integer())
    info.pid = at->get<pid_t>();
  info.command = word("command");
  info.trace = word("trace");
  info.stop_file = word("stop_file");
  if (info.pid <= 0 || !json.contains("command") ||
      !info.trace.starts_with('/'))
    return std::nullopt;
  return info;
}

// Whether it holds what programs recorded and no trace has yet.
bool WorthKeeping(int dir) {
  bool rings = false;
  time_t newest = 0;
  for (const std::string& name : NamesIn(dir)) {
    struct stat st;
    if (::fstatat(dir, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(st.st_mode))
      continue;
    rings |= std::string_view(name).ends_with(".ring");
    newest = std::max(newest, st.st_mtime);
  }
  return rings && ::time(nullptr) - newest <= kKeepS;
}

// Removes a dead session, if it is one of ours beyond doubt. False: it stays,
// because there is something else in it.
bool SweepOne(int dir, const std::string& path) {
  struct stat st;
  if (::fstat(dir, &st) != 0 || (st.st_mode & 0777) != 0700) return true;
  if (path.ends_with(kUnfinished)) {
    // Its age first: to ask for the lock is to hold it for a moment, and a
    // session that is just being made would find it taken.
    if (::time(nullptr) - st.st_mtime < kUnfinishedAgeS) return true;
    // Without a lock there is nothing in it yet; if there is, it is not ours.
    ::rmdir(path.c_str());
  }
  const Fd lock = OpenLock(dir);
  if (!lock.valid() || !TakeLock(lock) || !ReadInfo(lock, path) ||
      WorthKeeping(dir))
    return true;
  const bool gone = RemoveSession(dir, path);
  RemoveAt(path);
  return gone;
}

// Dead sessions that lie in `base` or that a file there tells of. Those that
// stay are added to `left`.
void Sweep(const std::string& base, std::vector<std::string>& left) {
  for (const std::string& name : SessionNames(base)) {
    const std::string path = PathOf(base, name);
    if (path.empty()) continue;
    const Fd dir = OpenOwn(AT_FDCWD, path);
    if (dir.valid()) {
      if (!SweepOne(dir.get(), path)) left.push_back(path);
      continue;
    }
    // It may lie where only another container sees it.
    const std::string at = base + "/" + name;
    struct stat st;
    if (name.ends_with(kAt) && ::lstat(at.c_str(), &st) == 0 &&
        ::time(nullptr) - st.st_mtime > kKeepS)
      ::unlink(at.c_str());
  }
}

}  // namespace

std::string CommandText(const std::vector<std::string>& command) {
  std::string out;
  for (const std::string& word : command) {
    if (!out.empty()) out += ' ';
    out.append(word, 0, kMaxCommandChars);
  }
  return Printable(out, kMaxCommandChars);
}

Result<SessionDir> SessionDir::Create(SessionInfo info) {
  const std::string beside = DirectoryOf(info.trace);
  std::vector<std::string> bases, left;
  for (const std::string& base : Bases()) {
    Sweep(base, left);
    if (HasRoom(base)) bases.push_back(base);
  }
  Sweep(beside, left);
  bases.push_back(beside);

  Error error{Error::Kind::kIo, "no place for the session directory"};
  for (const std::string& base : bases) {
    const std::string path = base + "/" + SessionPrefix() + Hex64();
    const std::string unfinished = path + std::string(kUnfinished);
    if (::mkdir(unfinished.c_str(), 0700) != 0) {
      error = ErrnoError(unfinished, errno);
      continue;
    }
    Fd dir = OpenOwn(AT_FDCWD, unfinished);
    if (!dir.valid()) {
      error = ErrnoError(unfinished, errno);
      ::rmdir(unfinished.c_str());
      continue;
    }
    ::fchmod(dir.get(), 0700);  // whatever the umask, here and below
    Fd lock(::openat(dir.get(), kSessionLock,
                     O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    int failure = lock.valid() ? 0 : errno;
    ::fchmod(lock.get(), 0600);
    const nlohmann::json json = {{"pid", ::getpid()},
                                 {"command", info.command},
                                 {"trace", info.trace},
                                 {"stop_file", info.stop_file}};
    const std::string text =
        json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    if (!failure && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
      failure = errno;
    if (!failure) failure = WriteAll(lock.get(), text.data(), text.size());
    if (!failure && ::rename(unfinished.c_str(), path.c_str()) != 0)
      failure = errno;
    const auto looked_in = Bases();
    if (!failure && std::count(looked_in.begin(), looked_in.end(), base) == 0)
      WriteAt(path);
    if (!failure) {
      SessionDir made(path, std::move(dir), std::move(lock));
      made.left_ = std::move(left);
      return made;
    }
    error = ErrnoError(unfinished, failure);
    RemoveSession(dir.get(), unfinished);
  }
  return error;
}

bool SessionDir::Remove() {
  if (!dir_.valid()) return true;
  const bool gone = RemoveSession(dir_.get(), path_);
  RemoveAt(path_);
  dir_.Reset();
  lock_.Reset();
  return gone;
}

Result<SessionDir> SessionDir::TakeOver(const std::string& path) {
  Fd dir = OpenOwn(AT_FDCWD, path);
  if (!dir.valid()) return ErrnoError(path, errno);
  Fd lock = OpenLock(dir.get());
  if (!lock.valid()) return ErrnoError(path, errno);
  if (!TakeLock(lock))
    return Error{Error::Kind::kUsage, path + ": still being recorded",
                 "`sonde ctl stop` ends it"};
  return SessionDir(path, std::move(dir), std::move(lock));
}

void SessionDir::Keep() {
  dir_.Reset();
  lock_.Reset();
}

namespace {

// Those in the places where sessions are looked for, alive or not.
std::vector<SessionInfo> Sessions(const std::string& beside, bool dead) {
  std::vector<SessionInfo> out;
  std::vector<std::string> bases = Bases();
  bases.push_back(".");
  if (!beside.empty()) bases.push_back(beside);
  std::set<std::pair<dev_t, ino_t>> seen;  // the same may be found twice
  for (const std::string& base : bases) {
    for (const std::string& name : SessionNames(base)) {
      if (name.ends_with(kUnfinished)) continue;
      const std::string path = PathOf(base, name);
      const Fd dir = OpenOwn(AT_FDCWD, path);
      if (!dir.valid()) continue;
      const Fd lock = OpenLock(dir.get());
      struct stat st;
      if (!lock.valid() || ::fstat(dir.get(), &st) != 0 ||
          TakeLock(lock) != dead || !seen.emplace(st.st_dev, st.st_ino).second)
        continue;
      if (auto info = ReadInfo(lock, path)) out.push_back(*info);
    }
  }
  return out;
}

}  // namespace

Result<SessionInfo> FindSession(const std::string& path) {
  const Fd dir = OpenOwn(AT_FDCWD, path);
  const Fd lock = dir.valid() ? OpenLock(dir.get()) : Fd();
  if (lock.valid() && !TakeLock(lock))
    if (auto info = ReadInfo(lock, path)) return *info;
  return Error{Error::Kind::kNotFound, path + ": no recording lives there",
               "`sonde ctl status` lists those that do"};
}

std::vector<SessionInfo> LiveSessions() { return Sessions("", false); }

std::vector<SessionInfo> DeadSessions(const std::string& trace) {
  return Sessions(trace.empty() ? "" : DirectoryOf(trace), true);
}

}  // namespace sonde

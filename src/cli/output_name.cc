#include "cli/output_name.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "base/fd.h"
#include "base/text.h"
#include "trace/journal.h"

namespace sonde {
namespace {

constexpr size_t kMaxCommandChars = 40;

bool Exists(const std::string& path, struct stat& st) {
  return ::lstat(path.c_str(), &st) == 0;
}

Result<std::string> WorkingDirectory() {
  char buffer[PATH_MAX];
  if (::getcwd(buffer, sizeof(buffer))) return std::string(buffer);
  Error error = ErrnoError("the working directory", errno);
  error.hint =
      "choose where the trace goes: sonde run -o /tmp/run.sonde -- ...";
  return error;
}

// Whoever writes a trace holds its lock.
bool IsBeingWritten(const std::string& path) {
  const Fd file = OpenRegular(AT_FDCWD, path.c_str(), O_RDONLY);
  return file.valid() && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 &&
         errno == EWOULDBLOCK;
}

Status CheckWritable(const std::string& dir, const char* hint) {
  if (::access(dir.c_str(), W_OK | X_OK) == 0) return Ok();
  Error error = ErrnoError(Printable(dir), errno);
  error.what = "cannot write the trace to " + error.what;
  error.hint = hint;
  return error;
}

// A journal beside the name of a trace may be all that is left of a recording,
// and a file that is called so may be anything.
Status CheckJournal(const std::string& trace, bool force) {
  const std::string path = trace + ".journal";
  struct stat st;
  if (!Exists(path, st)) return Ok();
  if (!IsJournal(path))
    return Error{
        Error::Kind::kIo,
        Printable(path) + ": exists, and the trace would need the name",
        "choose another name with -o, or move that file"};
  if (!force)
    return Error{
        Error::Kind::kIo,
        Printable(path) +
            ": exists already, the journal of a recording that was "
            "killed",
        "`sonde recover` finishes it if its trace is beside it; choose "
        "another name with -o, or overwrite it with --force"};
  if (IsBeingWritten(path))
    return Error{Error::Kind::kIo, Printable(path) +
                                       ": is still being recorded; choose "
                                       "another name with -o"};
  return Ok();
}

}  // namespace

std::string DefaultTraceName(const std::string& command, const tm& time) {
  std::string name;
  for (char c : command.substr(command.rfind('/') + 1)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       (c >= '0' && c <= '9') || c == '.' || c == '_' ||
                       c == '-' || c == '+';
    name += plain ? c : '_';
  }
  name = name.substr(0, kMaxCommandChars);
  char stamp[32];
  if (std::strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &time) == 0)
    stamp[0] = '\0';
  return "sonde-" + name + "-" + stamp + kTraceSuffix;
}

Result<std::string> ChooseOutput(const std::string& output,
                                 const std::string& command, bool force) {
  struct stat st;
  if (!output.empty()) {
    if (output == "-")
      return Error{Error::Kind::kUsage,
                   "-o -: a trace is a file, it cannot go to standard output",
                   "sonde run -o run.sonde -- COMMAND, then `sonde export "
                   "run.sonde --to text -o -`"};
    std::string path = output;
    if (path[0] != '/') {
      TRY(const std::string cwd, WorkingDirectory());
      path = (cwd == "/" ? "" : cwd) + "/" + path;
    }
    const size_t slash = path.rfind('/');
    TRY_OK(CheckWritable(slash == 0 ? "/" : path.substr(0, slash),
                         "name a directory that exists and is yours: -o FILE"));
    if (!Exists(path, st)) {
      TRY_OK(CheckJournal(path, force));
      return path;
    }
    if (S_ISDIR(st.st_mode))
      return Error{Error::Kind::kIo, Printable(output) + ": is a directory",
                   "name a file in it: -o " + Printable(output) +
                       (output.ends_with('/') ? "" : "/") + "run.sonde"};
    if (!S_ISREG(st.st_mode))
      return Error{Error::Kind::kIo,
                   Printable(output) + ": exists and is not a file",
                   "choose another name with -o"};
    if (!force)
      return Error{Error::Kind::kIo, Printable(output) + ": exists already",
                   "choose another name with -o, or overwrite it with --force"};
    if (IsBeingWritten(path))
      return Error{Error::Kind::kIo, Printable(output) +
                                         ": is still being recorded; choose "
                                         "another name with -o"};
    TRY_OK(CheckJournal(path, force));
    return path;
  }

  TRY(const std::string cwd, WorkingDirectory());
  TRY_OK(CheckWritable(
      cwd, "choose where the trace goes: sonde run -o /tmp/run.sonde -- ..."));
  const time_t now = ::time(nullptr);
  tm local = {};
  ::localtime_r(&now, &local);
  const std::string name = DefaultTraceName(command, local);
  const std::string stem =
      (cwd == "/" ? "" : cwd) + "/" +
      name.substr(0, name.size() - (sizeof(kTraceSuffix) - 1));
  std::string path = stem + kTraceSuffix;
  for (int n = 2;
       (Exists(path, st) || Exists(path + ".journal", st)) && n < 10000; ++n)
    path = stem + "-" + std::to_string(n) + kTraceSuffix;
  return path;
}

}  // namespace sonde
